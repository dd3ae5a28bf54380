"""What the server can do, on each surface that has it: one wish, asked whole and streamed, over a real family and a scripted engine.

The surfaces that a test is run on are those that its mark names. The engine writes one byte as one token, and obeys no grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dragoman.core.request import SamplingParams
from dragoman.engines.simulated import INFO, SimulatedRequest, Step, say
from dragoman.gateway.options import GatewayOptions
from features import FEATURES
from support.dialect_tapes import speak
from support.house import House, house_of
from support.neutral import COUNTS, PATHS, Wish, ask, body_of, message_of
from support.virtual_time import settle

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city":"Köln"}}\n</tool_call>'
NOW = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
THOUGHT = "<think>\nThey greet.\n</think>\n\n"
ALL = ("chat", "completions", "responses", "messages")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that has a surface is run on each that its marks name."""
    if "surface" in metafunc.fixturenames:
        marks = list(metafunc.definition.iter_markers("feature"))
        metafunc.parametrize("surface", sorted({surface for mark in marks for surface in mark.args[1:]}, key=ALL.index))


class Engine:
    """A script that says one text, and remembers what it was asked."""

    def __init__(self, text: str | Callable[[str], str] = "Hello there.") -> None:
        self.asked: list[SimulatedRequest] = []
        self._text = text

    def __call__(self, request: SimulatedRequest) -> Sequence[Step]:
        self.asked.append(request)
        return say(self._text if isinstance(self._text, str) else self._text(request.text))

    @property
    def prompt(self) -> str:
        """The last one."""
        return self.asked[-1].text


def house(engine: Engine, *, family: str = "hermes"):
    return house_of(engine, dialect=speak(family))


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.feature("answer", "chat", "completions", "responses", "messages")
@pytest.mark.feature("stream", "chat", "completions", "responses", "messages")
async def test_an_answer_is_its_text_whole_and_in_a_stream(surface: str) -> None:
    async with house(Engine("Grüße 🙂.")) as home:
        heard = await ask(home, surface)
    assert (heard.text, heard.calls, heard.reasoning, heard.finish) == ("Grüße 🙂.", (), "", "stop")


@pytest.mark.feature("usage", "chat", "completions", "responses", "messages")
async def test_usage_counts_the_tokens_of_prompt_and_answer(surface: str) -> None:
    engine = Engine("Hi.")
    async with house(engine) as home:
        heard = await ask(home, surface)
    assert (heard.usage.prompt, heard.usage.completion, heard.usage.reasoning) == (len(engine.asked[0].ids), 3, 0)


@pytest.mark.feature("cached", "chat", "completions", "responses", "messages")
async def test_the_second_of_equal_prompts_is_known_but_for_its_last_token(surface: str) -> None:
    async with house(Engine()) as home:
        first, second = await ask(home, surface), await ask(home, surface)
    assert first.usage.cached == 0
    assert second.usage.cached == second.usage.prompt - 1


@pytest.mark.feature("cached", "chat", "responses", "messages")
async def test_surfaces_share_the_prefixes_that_they_have_in_common(surface: str) -> None:
    """The same conversation is the same prompt, whoever sends it."""
    engine = Engine()
    async with house(engine) as home:
        for other in ("chat", "responses", "messages"):
            await ask(home, other, system="Be brief.", words="hello")
        heard = await ask(home, surface, system="Be brief.", words="hello")
        assert heard.usage.cached == heard.usage.prompt - 1
    assert len({request.text for request in engine.asked}) == 1


@pytest.mark.feature("choices", "chat", "completions")
async def test_several_choices_are_as_many_answers(surface: str) -> None:
    async with house(Engine()) as home:
        reply = await home.client.post(PATHS[surface], body_of(surface, Wish()) | {"n": 3})
    assert [choice["index"] for choice in reply.json()["choices"]] == [0, 1, 2]


ROWS = {
    "chat": (
        {"logprobs": True, "top_logprobs": 2},
        lambda body: [(row["token"], len(row["top_logprobs"])) for row in body["choices"][0]["logprobs"]["content"]],
    ),
    "completions": (
        {"logprobs": 2},
        lambda body: [
            (token, len(top))
            for token, top in zip(
                body["choices"][0]["logprobs"]["tokens"], body["choices"][0]["logprobs"]["top_logprobs"], strict=True
            )
        ],
    ),
    "responses": (
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        lambda body: [(row["token"], len(row["top_logprobs"])) for row in body["output"][0]["content"][0]["logprobs"]],
    ),
}
"""How log-probabilities are asked for, and how each token's are found: its text, and the number of its alternatives."""


@pytest.mark.feature("logprobs", "chat", "completions", "responses")
async def test_log_probabilities_describe_each_token(surface: str) -> None:
    asked, rows = ROWS[surface]
    async with house(Engine("Hi.")) as home:
        reply = await home.client.post(PATHS[surface], body_of(surface, Wish()) | asked)
    found = rows(reply.json())
    assert [token for token, _ in found] == ["H", "i", "."]
    assert {count for _, count in found} <= {2, 3}, "the token itself may stand beside its alternatives"


@pytest.mark.feature("count", "chat", "completions", "responses", "messages")
async def test_a_count_is_what_the_answer_then_reports(surface: str) -> None:
    body = body_of(surface, Wish(words="Grüße"))
    path, name = COUNTS[surface]
    async with house(Engine()) as home:
        counted = await home.client.post(path, {key: value for key, value in body.items() if key != "store"})
        heard = await ask(home, surface, words="Grüße")
    assert counted.json()[name] == heard.usage.prompt


# --- conversations ---------------------------------------------------------------------------------------------------


@pytest.mark.feature("system", "chat", "responses", "messages")
@pytest.mark.feature("turns", "chat", "responses", "messages")
async def test_instructions_and_turns_are_read_in_their_order(surface: str) -> None:
    engine = Engine()
    async with house(engine) as home:
        await ask(home, surface, system="Be brief.", before=(("user", "one"), ("assistant", "two")), words="three")
    turns = [("system", "Be brief."), ("user", "one"), ("assistant", "two"), ("user", "three")]
    told = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    assert engine.prompt == told + "<|im_start|>assistant\n"


@pytest.mark.feature("prefill", "chat", "messages")
async def test_an_answer_goes_on_from_the_beginning_that_it_was_given(surface: str) -> None:
    engine = Engine(" there.")
    async with house(engine) as home:
        heard = await ask(home, surface, prefill="Hello")
    assert engine.prompt.endswith("<|im_start|>assistant\nHello")
    assert heard.text == " there."


@pytest.mark.feature("prefill", "completions")
async def test_a_raw_prompt_is_gone_on_from_as_it_is(surface: str) -> None:
    engine = Engine()
    async with house(engine) as home:
        await ask(home, surface, words="Once upon")
    assert engine.prompt == "Once upon"


# --- tools -----------------------------------------------------------------------------------------------------------

TOOLS = ("get_weather", "now")


@pytest.mark.feature("tools", "chat", "responses", "messages")
async def test_a_model_may_call_and_its_calls_are_told_apart_from_its_text(surface: str) -> None:
    async with house(Engine(f"Let me see.\n{CALL}\n{NOW}")) as home:
        heard = await ask(home, surface, tools=TOOLS)
    assert (heard.text, heard.calls, heard.finish) == (
        "Let me see.",
        (("get_weather", '{"city":"Köln"}'), ("now", "{}")),
        "calls",
    )


@pytest.mark.feature("tools_required", "chat", "responses", "messages")
@pytest.mark.parametrize("choice", ["auto", "required"])
async def test_a_call_that_is_required_is_the_only_thing_that_the_engine_may_write(surface: str, choice: str) -> None:
    engine = Engine(NOW)
    async with house(engine) as home:
        assert (await ask(home, surface, tools=TOOLS, choice=choice)).calls == (("now", "{}"),)
    free = "free" in (engine.asked[0].grammar or "free")
    assert free is (choice == "auto")


@pytest.mark.feature("tools_named", "chat", "responses", "messages")
async def test_a_tool_that_is_named_is_the_only_one_that_can_be_called(surface: str) -> None:
    engine = Engine(NOW)
    async with house(engine) as home:
        heard = await ask(home, surface, tools=TOOLS, choice="now")
    assert heard.calls == (("now", "{}"),)
    grammar = engine.asked[0].grammar or ""
    assert "now" in grammar
    assert "get_weather" not in grammar


@pytest.mark.feature("tools_none", "chat", "responses", "messages")
async def test_tools_that_may_not_be_called_are_not_shown(surface: str) -> None:
    engine = Engine()
    async with house(engine) as home:
        await ask(home, surface, tools=TOOLS, choice="none")
        with_none = engine.prompt
        await ask(home, surface)
    assert with_none == engine.prompt


@pytest.mark.feature("tools_one", "chat", "responses", "messages")
async def test_one_call_at_most_is_what_the_engine_is_held_to(surface: str) -> None:
    engine = Engine(NOW)
    async with house(engine) as home:
        await ask(home, surface, tools=TOOLS, choice="required")
        many = engine.asked[-1].grammar
        await ask(home, surface, tools=TOOLS, choice="required", parallel=False)
        one = engine.asked[-1].grammar
    assert many is not None
    assert one is not None
    assert many != one


@pytest.mark.feature("tools_strict", "chat", "responses", "messages")
async def test_a_strict_tool_is_held_to_its_schema_even_where_the_model_may_choose(surface: str) -> None:
    engine = Engine(CALL)
    async with house(engine) as home:
        await ask(home, surface, tools=("get_weather",), strict=True)
    grammar = engine.asked[-1].grammar or ""
    assert '"required"' in grammar.replace("\\", "")


@pytest.mark.feature("tools_results", "chat", "responses", "messages")
async def test_calls_and_their_results_go_back_as_they_came_and_are_read_from_the_cache(surface: str) -> None:
    def model(prompt: str) -> str:
        return "It rains." if "<tool_response>" in prompt else f"{CALL}\n{NOW}"

    engine = Engine(model)
    async with house(engine) as home:
        called = await ask(home, surface, tools=TOOLS)
        first = engine.prompt
        answered = await ask(home, surface, tools=TOOLS, heard=called, results=("rain", "noon"))
    assert (answered.text, answered.finish) == ("It rains.", "stop")
    assert engine.prompt.startswith(first + CALL.partition("{")[0])
    assert engine.prompt.index("rain") < engine.prompt.index("noon")
    assert answered.usage.cached >= len(first.encode()) - 2 * len("<|im_end|>")


LATER = {"type": "object", "properties": {}}
FOUND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "messages": (
        {
            "tools": [
                {"name": "search", "input_schema": LATER},
                {"name": "later", "input_schema": LATER, "defer_loading": True},
            ],
            "messages": [{"role": "user", "content": "hello"}],
        },
        {
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "search", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [{"type": "tool_reference", "tool_name": "later"}],
                        }
                    ],
                },
            ]
        },
    ),
    "responses": (
        {"tools": [{"type": "function", "name": "search"}], "input": [{"role": "user", "content": "hello"}]},
        {
            "input": [
                {"role": "user", "content": "hello"},
                {"type": "tool_search_output", "call_id": "a", "tools": [{"type": "function", "name": "later"}]},
            ]
        },
    ),
}
"""A first request, and what is other in one that has found a tool."""


@pytest.mark.feature("tools_deferred", "responses", "messages")
async def test_a_tool_that_was_found_later_can_be_called_from_then_on(surface: str) -> None:
    engine = Engine('<tool_call>\n{"name": "later", "arguments": {}}\n</tool_call>')
    before, found = FOUND[surface]
    async with house(engine) as home:
        await home.client.post(PATHS[surface], before)
        reply = await home.client.post(PATHS[surface], before | found)
    assert "later" not in engine.asked[0].text
    assert "later" in engine.asked[1].text
    called = [item["name"] for item in reply.json()["content" if surface == "messages" else "output"]]
    assert called == ["later"]


# --- reasoning -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("reasoning", "chat", "responses", "messages")
async def test_what_a_model_thinks_is_told_apart_and_counted(surface: str) -> None:
    async with house(Engine(f"{THOUGHT}Hello.")) as home:
        heard = await ask(home, surface)
    assert (heard.text, heard.reasoning.strip()) == ("Hello.", "They greet.")
    assert heard.usage.reasoning >= len("They greet.")
    assert heard.usage.completion == len(f"{THOUGHT}Hello.")


@pytest.mark.feature("reasoning_off", "chat", "responses", "messages")
@pytest.mark.parametrize("think", [True, False])
async def test_reasoning_can_be_switched_off(surface: str, think: bool) -> None:
    engine = Engine()
    async with house(engine) as home:
        await ask(home, surface, think=think)
    assert engine.prompt.endswith("assistant\n" + ("" if think else "<think>\n\n</think>\n\n"))


@pytest.mark.feature("reasoning_effort", "chat", "responses", "messages")
@pytest.mark.parametrize("effort", ["low", "high"])
async def test_effort_reaches_the_model(surface: str, effort: str) -> None:
    engine = Engine()
    async with house(engine, family="gpt_oss") as home:
        await ask(home, surface, effort=effort)
    assert f"Reasoning: {effort}" in engine.prompt


@pytest.mark.feature("reasoning_replayed", "chat", "responses", "messages")
async def test_a_thought_that_is_given_back_is_shown_where_the_template_has_a_place(surface: str) -> None:
    engine = Engine()
    async with house(engine, family="qwen3_8") as home:
        await ask(home, surface, thought="I was here.", same=KEEP_THOUGHTS[surface])
    assert "I was here." in engine.prompt


KEEP_THOUGHTS: dict[str, dict[str, Any]] = {
    "chat": {"preserve_thinking": True},
    "responses": {"preserve_thinking": True},
    "messages": {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
}
"""How the thoughts of earlier turns are kept in the prompt."""

BUDGETS: dict[str, dict[str, Any]] = {
    "chat": {"thinking_token_budget": 7},
    "responses": {"thinking_token_budget": 7},
    "messages": {"thinking": {"type": "enabled", "budget_tokens": 7}},
}


@pytest.mark.feature("reasoning_budget", "chat", "responses", "messages")
async def test_a_budget_for_reasoning_is_what_the_engine_is_held_to(surface: str) -> None:
    engine = Engine()
    async with house_of(engine, dialect=speak("qwen3_8", more=("<think>", "</think>"))) as home:
        heard = await ask(home, surface, same=BUDGETS[surface])
    assert "x-dragoman-ignored" not in heard.headers
    assert "max_tokens=7" in (engine.asked[-1].grammar or "")


SEEN_BY_NOBODY: dict[str, dict[str, Any]] = {
    "responses": {"include": ["reasoning.encrypted_content"]},
    "messages": {"thinking": {"type": "enabled", "display": "omitted"}},
}


def carried(surface: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The conversation with this answer in it, of whose thought the client keeps the sealed form alone."""
    if surface == "messages":
        assert [block["thinking"] for block in answer["content"] if block["type"] == "thinking"] == [""]
        turns = [body_of(surface, Wish())["messages"][0], {"role": "assistant", "content": answer["content"]}]
        return {"messages": [*turns, {"role": "user", "content": "And?"}]}
    thought, *said = answer["output"]
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": thought["encrypted_content"]}
    return {"input": [{"role": "user", "content": "hello"}, sealed, *said, {"role": "user", "content": "And?"}]}


@pytest.mark.feature("reasoning_sealed", "responses", "messages")
async def test_a_thought_that_the_client_cannot_read_comes_back_to_the_model(surface: str) -> None:
    engine = Engine("They greet.\n</think>\n\nHello.")
    async with house(engine, family="qwen3_8") as home:
        first = await home.client.post(PATHS[surface], body_of(surface, Wish(same=SEEN_BY_NOBODY[surface])))
        again = {**carried(surface, first.json()), **KEEP_THOUGHTS[surface]}
        assert (await home.client.post(PATHS[surface], again)).status == 200
    assert "They greet." not in engine.asked[0].text
    assert "They greet." in engine.asked[1].text


# --- formats and ends ------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.feature("schema", "chat", "completions", "responses", "messages")
async def test_a_schema_is_what_the_engine_is_held_to(surface: str) -> None:
    engine = Engine('{"age":7}')
    async with house(engine) as home:
        heard = await ask(home, surface, schema=SCHEMA)
    assert heard.text == '{"age":7}'
    assert "age" in (engine.asked[-1].grammar or "")


@pytest.mark.feature("object", "chat", "completions", "responses", "messages")
async def test_any_object_is_what_the_engine_is_held_to(surface: str) -> None:
    engine = Engine("{}")
    async with house(engine) as home:
        await ask(home, surface, any_object=True)
    assert "object" in (engine.asked[-1].grammar or "")


EXPRESSIONS: dict[str, dict[str, Any]] = {
    "chat": {"structured_outputs": {"regex": "[ab]{7}"}},
    "completions": {"structured_outputs": {"regex": "[ab]{7}"}},
    "responses": {"text": {"format": {"type": "regex", "regex": "[ab]{7}"}}},
    "messages": {"output_config": {"format": {"type": "regex", "regex": "[ab]{7}"}}},
}


@pytest.mark.feature("grammar", "chat", "completions", "responses", "messages")
async def test_an_expression_is_what_the_engine_is_held_to(surface: str) -> None:
    engine = Engine("aabbabb")
    async with house(engine) as home:
        await ask(home, surface, same=EXPRESSIONS[surface])
    assert "[ab]{7}" in (engine.asked[-1].grammar or "")


@pytest.mark.feature("stop", "chat", "completions", "responses", "messages")
async def test_a_stop_string_ends_the_answer_and_is_no_part_of_it(surface: str) -> None:
    async with house(Engine("one, two, three")) as home:
        heard = await ask(home, surface, stop=(", th", "nowhere"))
    assert (heard.text, heard.finish) == ("one, two", "stop")
    if surface == "messages":
        assert (heard.native["stop_reason"], heard.native["stop_sequence"]) == ("stop_sequence", ", th")


@pytest.mark.feature("budget", "chat", "completions", "responses", "messages")
async def test_a_budget_is_a_ceiling_and_is_said_to_have_ended_the_answer(surface: str) -> None:
    async with house(Engine("Hello there.")) as home:
        heard = await ask(home, surface, budget=5)
    assert (heard.text, heard.finish, heard.usage.completion) == ("Hello", "length", 5)


@pytest.mark.feature("budget_zero", "chat", "completions", "responses", "messages")
async def test_without_a_budget_the_prompt_is_read_and_nothing_is_written(surface: str) -> None:
    async with house(Engine()) as home:
        heard = await ask(home, surface, budget=0)
        again = await ask(home, surface)
    assert (heard.text, heard.finish, heard.usage.completion) == ("", "length", 0)
    assert again.usage.cached == again.usage.prompt - 1


@pytest.mark.feature("budget_clamped", "chat", "completions", "responses", "messages")
async def test_a_budget_above_the_context_is_the_rest_of_it(surface: str) -> None:
    engine = Engine("x" * INFO.context_length)
    async with house(engine) as home:
        heard = await ask(home, surface, budget=10**6)
    assert heard.finish == "length"
    assert heard.usage.prompt + heard.usage.completion == INFO.context_length


# --- sampling --------------------------------------------------------------------------------------------------------

DRAWN = [
    pytest.param("sampling", {"temperature": 0.5, "top_p": 0.25}, {"temperature": 0.5, "top_p": 0.25}, id="sampling"),
    pytest.param("sampling_more", {"top_k": 40, "min_p": 0.125}, {"top_k": 40, "min_p": 0.125}, id="more"),
    pytest.param("seed", {"seed": 7}, {"seed": 7}, id="seed"),
    pytest.param(
        "penalties",
        {"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.25},
        {"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.25},
        id="penalties",
    ),
    pytest.param("logit_bias", {"logit_bias": {"65": -100}}, {"logit_bias": ((65, -100.0),)}, id="bias"),
]


@pytest.mark.feature("sampling", "chat", "completions", "responses", "messages")
@pytest.mark.feature("sampling_more", "chat", "completions", "responses", "messages")
@pytest.mark.feature("seed", "chat", "completions", "responses", "messages")
@pytest.mark.feature("penalties", "chat", "completions", "responses", "messages")
@pytest.mark.feature("logit_bias", "chat", "completions", "responses", "messages")
@pytest.mark.parametrize("feature, fields, drawn", DRAWN)
async def test_how_tokens_are_drawn_is_what_the_engine_is_told(surface, feature, fields, drawn) -> None:
    assert feature in FEATURES
    engine = Engine()
    async with house(engine) as home:
        heard = await ask(home, surface, same=fields)
    assert "x-dragoman-ignored" not in heard.headers
    told = replace(engine.asked[0].sampling, seed=drawn.get("seed"))
    assert told == SamplingParams(**drawn)


# --- transport -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("ignored", "chat", "completions", "responses", "messages")
async def test_what_had_no_effect_is_listed(surface: str) -> None:
    async with house(Engine()) as home:
        heard = await ask(home, surface, same={"frobnicate": 1})
    assert heard.headers["x-dragoman-ignored"] == "frobnicate"


@pytest.mark.feature("strict_fields", "chat", "completions", "responses", "messages")
@pytest.mark.feature("errors", "chat", "completions", "responses", "messages")
async def test_a_strict_server_refuses_what_it_does_not_know_in_the_contracts_envelope(surface: str) -> None:
    home = House(options=GatewayOptions(strict_fields=True))
    reply = await home.client.post(PATHS[surface], body_of(surface, Wish()) | {"frobnicate": 1})
    assert reply.status == 400
    assert "frobnicate" in message_of(surface, reply.json())


@pytest.mark.feature("hang_up", "chat", "completions", "responses", "messages")
@pytest.mark.parametrize("stream", [False, True])
async def test_who_hangs_up_cancels(surface: str, stream: bool) -> None:
    home = House()
    exchange = home.client.open("POST", PATHS[surface], body_of(surface, Wish()) | {"stream": stream})
    running = await home.engine.next_stream()
    running.accept()
    running.say("Hello")
    await settle()
    exchange.hang_up()
    await exchange.end()
    await settle()
    assert running.cancelled
    assert home.metric("cancellations_total", phase="decode") == 1
