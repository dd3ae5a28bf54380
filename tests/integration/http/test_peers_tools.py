"""Faults that other servers were reported for with tools, formats and thoughts, tried on ours (peers' bug list, groups B, E and F).

The families are real ones, over the simulated engine, which writes one byte as one token, and obeys no grammar: it says what a tape says.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import pytest

from dragoman.engines.simulated import SimulatedRequest, Step, say, tapes
from support.dialect_tapes import speak
from support.house import House, house_of

PATH = "/v1/chat/completions"

ARGUMENTS = '{"city":"Köln 🙂 </tool_call>","days":12}'
CALL = f'<tool_call>\n{{"name": "get_weather", "arguments": {ARGUMENTS}}}\n</tool_call>'
NOW = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]


def asking(words: str = "hello", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": words}], "tools": TOOLS, **fields}


def calls_of(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]


def joined(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a stream's deltas make."""
    message: dict[str, Any] = {"content": "".join(delta.get("content") or "" for delta in deltas), "tool_calls": []}
    for part in (part for delta in deltas for part in delta.get("tool_calls") or ()):
        if part["index"] == len(message["tool_calls"]):
            message["tool_calls"].append({**part, "function": dict(part["function"])})
        else:
            message["tool_calls"][part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return message


async def streamed(house: House, body: dict[str, Any], index: int = 0) -> tuple[list[dict[str, Any]], list[str | None]]:
    """Deltas and reasons of one choice."""
    reply = await house.client.post(PATH, {**body, "stream": True})
    assert reply.data[-1] == "[DONE]"
    choices = [choice for chunk in reply.data[:-1] for choice in chunk["choices"] if choice["index"] == index]
    return [choice["delta"] for choice in choices], [choice["finish_reason"] for choice in choices]


async def said(house: House, **fields: Any) -> tuple[str, list[tuple[str, str]], str]:
    """Text, calls and the reason for the end; those of the stream are the same."""
    (whole,) = (await house.client.post(PATH, asking(**fields))).json()["choices"]
    deltas, reasons = await streamed(house, asking(**fields))
    message = joined(deltas)
    assert (message["content"], calls_of(message)) == (whole["message"]["content"] or "", calls_of(whole["message"]))
    assert (reasons[-1], set(reasons[:-1])) == (whole["finish_reason"], {None})
    return message["content"], calls_of(message), whole["finish_reason"]


def hermes(text: str):
    return house_of(tapes({"hello": say(text)}), dialect=speak("hermes"))


# --- B. calls and ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["It is warm.", "a < b", "The tag <tool_call> opens one.", "x <tool"])
async def test_an_answer_without_a_call_stops(text: str) -> None:
    """Peers' bug list, 28."""
    async with hermes(text) as house:
        assert await said(house) == (text, [], "stop")


@pytest.mark.seeds("S57")
@pytest.mark.parametrize("choice", ["required", "auto"])
async def test_a_call_that_the_budget_cuts_shows_no_syntax_and_no_end_that_it_did_not_have(choice: str) -> None:
    """Peers' bug list, 30: the budget ends behind each byte of two calls."""
    written = f"{CALL}\n{NOW}"
    made = [("get_weather", ARGUMENTS), ("now", "{}")]
    opener = range(len("<tool_call>"))
    async with hermes(written) as house:
        for budget in range(1, len(written.encode())):
            body = asking(tool_choice=choice, max_tokens=budget)
            (cut,) = (await house.client.post(PATH, body)).json()["choices"]
            assert cut["finish_reason"] == "length"
            if choice == "required" or budget not in opener:
                assert not cut["message"]["content"], budget
            for (name, arguments), (true_name, all_arguments) in zip(calls_of(cut["message"]), made, strict=False):
                assert name == true_name
                assert all_arguments.startswith(arguments.rstrip("\ufffd"))
        assert await said(house, tool_choice=choice) == ("", made, "tool_calls")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [("auto", "tool_calls"), ("required", "tool_calls"), ({"type": "function", "function": {"name": "now"}}, "stop")],
)
async def test_a_call_ends_for_openais_reason(choice: Any, reason: str) -> None:
    """Peers' bug list, 31 and 45."""
    async with hermes(NOW) as house:
        assert await said(house, tool_choice=choice) == ("", [("now", "{}")], reason)


async def test_parts_of_calls_have_an_index_and_grow_in_whole_characters() -> None:
    """Peers' bug list, 33, 34, 36 and 43: each byte is a token, also within a character."""
    async with hermes(f"{CALL}\n{NOW}") as house:
        deltas, _ = await streamed(house, asking())
        parts = [part for delta in deltas for part in delta.get("tool_calls", [])]
        heads = [part for part in parts if "id" in part]
        assert [(part["index"], part["type"], part["function"]["name"]) for part in heads] == [
            (0, "function", "get_weather"),
            (1, "function", "now"),
        ]
        assert all(set(part) == {"index", "function"} for part in parts if part not in heads)
        texts = [part["function"]["arguments"] for part in parts if part["index"] == 0]
        assert all(ARGUMENTS.startswith(so_far) for so_far in accumulate(texts))
        assert len(texts) > 20, "they came in one piece"
        assert "role" in deltas[0]
        assert all("role" not in delta for delta in deltas[1:])


async def test_text_before_a_call_is_whole_before_it_begins() -> None:
    """Peers' bug list, 37."""
    async with hermes(f"I look < now.\n{NOW}") as house:
        assert await said(house) == ("I look < now.", [("now", "{}")], "tool_calls")
        deltas, _ = await streamed(house, asking())
        kinds = [
            "call" if delta.get("tool_calls") else "text" for delta in deltas if set(delta) & {"content", "tool_calls"}
        ]
        assert kinds == sorted(kinds, reverse=True)


async def test_each_choice_of_a_stream_has_its_own_calls_and_one_end() -> None:
    """Peers' bug list, 39."""
    async with hermes(NOW) as house:
        ids = []
        for index in (0, 1):
            deltas, reasons = await streamed(house, asking(n=2), index)
            assert (reasons[-1], set(reasons[:-1])) == ("tool_calls", {None})
            ids.append(joined(deltas)["tool_calls"][0]["id"])
        assert len(set(ids)) == 2


async def test_the_id_that_the_server_made_is_taken_back() -> None:
    """Peers' bug list, 46 and 25. The result stands behind its call, whatever the order of the results."""
    heard: list[str] = []

    def script(request: SimulatedRequest) -> list[Step]:
        heard.append(request.text)
        return say("Fine." if "tool_response" in request.text else f"{CALL}\n{NOW}")

    async with house_of(script, dialect=speak("hermes")) as house:
        (first,) = (await house.client.post(PATH, asking())).json()["choices"]
        ids = [call["id"] for call in first["message"]["tool_calls"]]
        assert all(ids)
        assert len(set(ids)) == 2
        results = [{"role": "tool", "tool_call_id": id_, "content": f"of {id_}"} for id_ in reversed(ids)]
        talk = [*asking()["messages"], first["message"], *results]
        reply = await house.client.post(PATH, asking() | {"messages": talk})
        assert reply.json()["choices"][0]["message"]["content"] == "Fine."
        assert heard[-1].index(f"of {ids[0]}") < heard[-1].index(f"of {ids[1]}")


@pytest.mark.parametrize("tools", [TOOLS, None])
async def test_log_probabilities_go_with_tools_in_a_stream(tools: Any) -> None:
    """Peers' bug list, 48."""
    async with hermes("It is warm.") as house:
        body = {**asking(logprobs=True, top_logprobs=2, stream=True), "tools": tools}
        reply = await house.client.post(PATH, body)
        choices = [choice for chunk in reply.data[:-1] for choice in chunk["choices"]]
        rows = [row for choice in choices for row in (choice["logprobs"] or {"content": []})["content"]]
        assert "".join(row["token"] for row in rows) == "It is warm."


# --- E. formats ------------------------------------------------------------------------------------------------------


def schema(value: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}}


IN_SCHEMA = "response_format.json_schema.schema"
DEEP = "(" * 10_000


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"grammar": "root ::= ("}, "grammar", id="73"),
        pytest.param(schema({"type": "string", "pattern": "(?<=x)+"}), f"{IN_SCHEMA}.pattern", id="75-behind"),
        pytest.param(schema({"type": "string", "pattern": DEEP}), f"{IN_SCHEMA}.pattern", id="75-deep"),
        pytest.param(schema({"properties": {"foo": "bar"}}), f"{IN_SCHEMA}.properties.foo", id="76"),
        pytest.param(
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"foo": "bar"}}}}]},
            "tools.0.function.parameters.properties.foo",
            id="76-tool",
        ),
    ],
)
async def test_what_is_no_format_is_refused_and_the_next_one_is_answered(fields: Any, param: str) -> None:
    """Peers' bug list, 73, 75, 76 and 84."""
    good = asking() | schema({"type": "object"}) | {"tools": None}
    async with hermes("{}") as house:
        assert (await house.client.post(PATH, good)).status == 200
        reply = await house.client.post(PATH, asking() | fields)
        assert (reply.status, reply.json()["error"]["param"]) == (400, param)
        assert (await house.client.post(PATH, good)).status == 200
        assert len(house.engine.links.spawned) == 1


def nested(depth: int) -> dict[str, Any]:
    """One of two objects, which exclude each other by a constant, one in the other."""
    value: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        leaf = {"type": "object", "properties": {"is": {"const": "leaf"}}, "required": ["is"]}
        node = {"type": "object", "properties": {"is": {"const": "node"}, "next": value}, "required": ["is", "next"]}
        value = {"oneOf": [node, leaf]}
    return value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"type": "string", "pattern": "^hello there indeed\\!$"}, id="72"),
        pytest.param({"type": "array", "items": {"type": "integer"}, "minItems": 10, "maxItems": 1000}, id="78"),
        pytest.param(nested(12), id="79"),
    ],
)
async def test_what_can_be_enforced_reaches_the_engine(value: Any) -> None:
    """Peers' bug list, 72, 78 and 79; that the engine obeys is shown with a model."""
    grammars: list[str | None] = []

    def script(request: SimulatedRequest) -> list[Step]:
        grammars.append(request.grammar)
        return say("1")

    async with house_of(script, dialect=speak("hermes")) as house:
        assert (await house.client.post(PATH, asking() | schema(value) | {"tools": None})).status == 200
        assert grammars[0] is not None
        assert "%json" in grammars[0]


async def test_a_schemas_own_address_is_no_reason_to_refuse_a_tool() -> None:
    """Peers' bug list, 81."""
    parameters = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/now",
        "type": "object",
        "properties": {},
    }
    for strict in (False, True):
        tool = {"name": "now", "parameters": {**parameters, "additionalProperties": False}, "strict": strict}
        async with hermes(NOW) as house:
            fields = {"tools": [{"type": "function", "function": tool}], "tool_choice": "required"}
            assert (await house.client.post(PATH, asking() | fields)).json()["choices"][0]["message"]["tool_calls"]


async def test_of_a_thinking_model_the_json_is_the_content() -> None:
    """Peers' bug list, 82."""
    async with house_of(tapes({"hello": say('It is one.\n</think>\n\n{"a":1}')}), dialect=speak("qwen3_6")) as house:
        reply = await house.client.post(PATH, asking() | schema({"type": "object"}) | {"tools": None})
        message = reply.json()["choices"][0]["message"]
        assert json.loads(message["content"]) == {"a": 1}
        assert message["reasoning_content"].strip() == "It is one."


# --- F. templates and thoughts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([("user", "one"), ("user", "hello")], id="two of the user"),
        pytest.param([("user", "one"), ("assistant", "two"), ("system", "three"), ("user", "hello")], id="late system"),
        pytest.param([("system", "one"), ("developer", "two"), ("user", "hello")], id="two instructions"),
    ],
)
async def test_turns_that_a_template_refuses_are_mended_and_that_is_told(messages: list[tuple[str, str]]) -> None:
    """Peers' bug list, 85: this family's template wants turns to alternate."""
    heard: list[str] = []

    def script(request: SimulatedRequest) -> list[Step]:
        heard.append(request.text)
        return say("Yes.")

    async with house_of(script, dialect=speak("gemma3")) as house:
        body = {"messages": [{"role": role, "content": text} for role, text in messages]}
        reply = await house.client.post(PATH, body)
        assert reply.json()["choices"][0]["message"]["content"] == "Yes."
        assert reply.headers["x-dragoman-repaired"]
        assert all(text in heard[0] for _, text in messages)


async def test_an_answer_without_thoughts_is_the_content() -> None:
    """Peers' bug list, 87: the template lets the model think, and the model did not."""
    async with hermes("Just this.") as house:
        for tools in (TOOLS, None):
            reply = await house.client.post(PATH, asking() | {"tools": tools})
            message = reply.json()["choices"][0]["message"]
            assert (message["content"], message.get("reasoning_content")) == ("Just this.", None)


async def test_thoughts_that_are_to_stay_in_the_text_are_refused_by_name() -> None:
    """Peers' bug list, 88: llama.cpp took the word and cut the tags all the same."""
    async with hermes("<think>\nHm.\n</think>\n\nYes.") as house:
        reply = await house.client.post(PATH, asking(reasoning_format="none"))
        assert (reply.status, reply.json()["error"]["param"]) == (400, "reasoning_format")
        (choice,) = (await house.client.post(PATH, asking(reasoning_format="auto"))).json()["choices"]
        assert choice["message"]["content"] == "Yes."
        assert choice["message"]["reasoning_content"].strip() == "Hm."
