"""Faults that other servers were reported for, tried on ours (peers' bug list, groups A to D).

The simulated engine reads one byte as one token, and writes one where the tape says so: all counts can be done by hand.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import chain, pairwise
from typing import Any

import pytest

from dragoman.engines.simulated import Begin, Emit, Hold, old, say, tapes
from support.asgi import Exchange
from support.engines import plain_info
from support.house import House, house_of

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
PATHS = (CHAT, COMPLETIONS)
SMILE = "🙂"


def asking(path: str, words: str = "hello", **fields: Any) -> dict[str, Any]:
    """A body of the surface at ``path``."""
    return {"messages": [{"role": "user", "content": words}], **fields} if path == CHAT else {"prompt": words, **fields}


def error_of(reply: Exchange) -> dict[str, Any]:
    """The native envelope, whole."""
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return error


def choices_of(reply: Exchange) -> list[dict[str, Any]]:
    """The choice of each chunk of a stream that ended well."""
    assert reply.data[-1] == "[DONE]"
    return [choice for chunk in reply.data[:-1] for choice in chunk["choices"]]


def text_of(choice: dict[str, Any]) -> str:
    """What a chunk's choice, or a whole one, says."""
    if "text" in choice:
        return choice["text"]
    return choice.get("delta", choice.get("message")).get("content") or ""


async def said(house: House, path: str, body: dict[str, Any]) -> tuple[str, str]:
    """Text and finish reason; those of the stream are the same."""
    (whole,) = (await house.client.post(path, body)).json()["choices"]
    pieces = choices_of(await house.client.post(path, {**body, "stream": True}))
    assert "".join(map(text_of, pieces)) == text_of(whole)
    assert pieces[-1]["finish_reason"] == whole["finish_reason"]
    return text_of(whole), whole["finish_reason"]


# --- A. requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", ["true", "false", 1, 0, [], {}])
async def test_a_stream_flag_that_is_no_boolean_is_refused(path: str, value: object) -> None:
    """Peers' bug list, 1."""
    async with house_of() as house:
        reply = await house.client.post(path, asking(path, stream=value))
        assert (reply.status, error_of(reply)["param"]) == (400, "stream")
        assert (await house.client.post(path, asking(path))).status == 200


async def test_null_is_as_if_the_field_were_left_out() -> None:
    """Peers' bug list, 3: LangChain sends most fields as null."""
    nulls = "stop temperature top_p n seed stream stream_options logit_bias logprobs user max_tokens presence_penalty"
    chat = "tools tool_choice functions response_format top_logprobs max_completion_tokens metadata reasoning_effort"
    raw = "suffix echo best_of"
    async with house_of() as house:
        for path, more in ((CHAT, chat), (COMPLETIONS, raw)):
            plain = await house.client.post(path, asking(path))
            nulled = await house.client.post(path, asking(path, **dict.fromkeys(f"{nulls} {more}".split())))
            assert nulled.json()["choices"] == plain.json()["choices"]
            assert "x-dragoman-ignored" not in nulled.headers


@pytest.mark.parametrize(
    "path",
    ["/chat/completions", "/v1/v1/chat/completions", "/v1/chat/completion", "/v1/embeddings", "/v1/chat/completions/"],
)
async def test_a_wrong_path_is_a_404_in_json(path: str) -> None:
    """Peers' bug list, 4."""
    async with house_of() as house:
        reply = await house.client.post(path, asking(CHAT))
        assert (reply.status, error_of(reply)["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("bias", "param"),
    [
        ('{"AI": -100}', "logit_bias.AI"),
        ('{"-1": 1}', "logit_bias.-1"),
        ('{"5.0": 1}', "logit_bias.5.0"),
        ('{"5": "x"}', "logit_bias.5"),
        ('{"5": true}', "logit_bias.5"),
        ('{"99999999": 1}', "logit_bias"),
        ("[]", "logit_bias"),
        ('{"5": 1e999}', None),  # no JSON: it has no such number
        ('{"5": Infinity}', None),
    ],
)
async def test_a_bias_that_means_nothing_is_refused_and_the_engine_lives(path: str, bias: str, param: str) -> None:
    """Peers' bug list, 6 and 7."""
    body = f'{json.dumps(asking(path))[:-1]}, "logit_bias": {bias}}}'.encode()
    async with house_of() as house:
        reply = await house.client.post(path, body)
        assert (reply.status, error_of(reply)["param"]) == (400, param)
        assert (await house.client.post(path, asking(path))).status == 200
        assert len(house.engine.links.spawned) == 1


async def test_two_requests_of_one_request_id_at_a_time_are_both_answered() -> None:
    """Peers' bug list, 9."""
    held = Hold()
    async with house_of(tapes({"one": [Begin(), held, *say("first")], "two": say("second")})) as house:
        one = house.client.open("POST", CHAT, asking(CHAT, "one", request_id="same"))
        two = await house.client.post(CHAT, asking(CHAT, "two", request_id="same"))
        held.event.set()
        for reply, text in ((await one.end(), "first"), (two, "second")):
            assert (reply.json()["id"], text_of(reply.json()["choices"][0])) == ("chatcmpl-same", text)


@pytest.mark.parametrize("stream", [False, True])
async def test_logprobs_without_top_logprobs_are_rows_with_no_alternatives(stream: bool) -> None:
    """Peers' bug list, 10."""
    async with house_of(tapes({"hello": say("ab")})) as house:
        reply = await house.client.post(CHAT, asking(CHAT, logprobs=True, stream=stream))
        choices = choices_of(reply) if stream else reply.json()["choices"]
        rows = [row for choice in choices for row in (choice["logprobs"] or {"content": []})["content"]]
        assert [(row["token"], row["top_logprobs"]) for row in rows] == [("a", []), ("b", [])]


async def test_no_budget_with_an_echo_scores_the_prompt_and_writes_nothing() -> None:
    """Peers' bug list, 12."""
    async with house_of() as house:
        body = asking(COMPLETIONS, "abc", max_tokens=0, echo=True, logprobs=1)
        reply = (await house.client.post(COMPLETIONS, body)).json()
        assert reply["choices"][0]["text"] == "abc"
        assert reply["choices"][0]["logprobs"]["tokens"] == ["a", "b", "c"]
        assert reply["choices"][0]["logprobs"]["token_logprobs"][0] is None
        assert reply["usage"]["completion_tokens"] == 0
        assert await said(house, COMPLETIONS, body) == ("abc", "length")


async def test_a_chat_without_a_budget_may_use_the_rest_of_the_context() -> None:
    """Peers' bug list, 13."""
    async with house_of(tapes({"hello": say("x" * 400)})) as house:
        reply = (await house.client.post(CHAT, asking(CHAT))).json()
        assert (reply["usage"]["completion_tokens"], reply["choices"][0]["finish_reason"]) == (400, "stop")


@pytest.mark.parametrize("path", PATHS)
async def test_fifty_kilobytes_of_text_are_answered_or_too_long(path: str) -> None:
    """Peers' bug list, 19."""
    async with house_of() as house:
        reply = await house.client.post(path, asking(path, "word " * 10_000))
        assert (reply.status, error_of(reply)["code"]) == (400, "context_length_exceeded")
        assert (await house.client.post(path, asking(path))).status == 200


@pytest.mark.parametrize("role", ["ctx", "msg", "", "User", None, 5])
async def test_a_role_that_nobody_has_is_refused_by_name(role: object) -> None:
    """Peers' bug list, 22."""
    async with house_of() as house:
        reply = await house.client.post(CHAT, {"messages": [{"role": role, "content": "x"}]})
        assert (reply.status, error_of(reply)["param"]) == (400, "messages.0.role")


@pytest.mark.parametrize("path", PATHS)
async def test_an_unknown_field_is_listed(path: str) -> None:
    """Peers' bug list, 24."""
    async with house_of() as house:
        reply = await house.client.post(path, asking(path, foo=1))
        assert (reply.status, reply.headers["x-dragoman-ignored"]) == (200, "foo")


# --- B. ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
async def test_of_three_choices_each_ends_once_and_says_so_only_then(path: str) -> None:
    """Peers' bug list, 39 and 40."""
    async with house_of() as house:
        ends: dict[int, list[str | None]] = defaultdict(list)
        for choice in choices_of(await house.client.post(path, asking(path, n=3, stream=True, max_tokens=4))):
            ends[choice["index"]].append(choice["finish_reason"])
        assert sorted(ends) == [0, 1, 2]
        for reasons in ends.values():
            assert (reasons[-1], set(reasons[:-1])) == ("length", {None})


@pytest.mark.parametrize("path", PATHS)
async def test_a_stop_ends_with_stop_and_a_budget_with_length(path: str) -> None:
    """Peers' bug list, 42. A model that ends as the budget does has stopped by itself."""
    async with house_of(tapes({"hello": say("ab.cd")})) as house:
        assert await said(house, path, asking(path, stop=["."], max_tokens=5)) == ("ab", "stop")
        assert await said(house, path, asking(path, stop=["."], max_tokens=3)) == ("ab", "stop")
        assert await said(house, path, asking(path, max_tokens=4)) == ("ab.c", "length")


async def test_only_the_first_delta_has_a_role() -> None:
    """Peers' bug list, 43."""
    async with house_of() as house:
        choices = choices_of(await house.client.post(CHAT, asking(CHAT, n=2, stream=True, max_tokens=4)))
        for index in (0, 1):
            first, *rest = [choice["delta"] for choice in choices if choice["index"] == index]
            assert first["role"] == "assistant"
            assert all("role" not in delta for delta in rest)


# --- C. records, stops and characters --------------------------------------------------------------------------------


async def test_each_row_belongs_to_its_own_token() -> None:
    """Peers' bug list, 49 and 52: also where text is held back for a stop, and comes in one piece."""
    async with house_of(tapes({"hello": say("abSTOxy")})) as house:
        body = asking(CHAT, logprobs=True, top_logprobs=2, stream=True, stop=["STOP"])
        pieces = choices_of(await house.client.post(CHAT, body))
        rows = [(text_of(piece), (piece["logprobs"] or {"content": []})["content"]) for piece in pieces]
        assert all("".join(row["token"] for row in some) == text for text, some in rows)
        assert [row["token"] for _, some in rows for row in some] == list("abSTOxy")
        assert max(len(some) for _, some in rows) > 3, "nothing was held back"
        assert all(row["token"] in {top["token"] for top in row["top_logprobs"]} for _, some in rows for row in some)


async def test_an_echo_leads_the_stream() -> None:
    """Peers' bug list, 51."""
    async with house_of(tapes({"hello": say("xy")})) as house:
        pieces = choices_of(await house.client.post(COMPLETIONS, asking(COMPLETIONS, echo=True, stream=True)))
        assert [text_of(piece) for piece in pieces] == ["hello", "x", "y", ""]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("written", "shown"), [("ABCDEFGHIJK", "ABC"), ("ABCDEFXYZ", "ABCDEFXYZ"), ("ABCDEFG", "ABCDEFG")]
)
async def test_what_may_become_a_stop_waits_and_what_did_not_comes(path: str, written: str, shown: str) -> None:
    """Peers' bug list, 54 and 55."""
    async with house_of(tapes({"hello": say(written)})) as house:
        body = asking(path, stop=["DEFGHIJ"], stream=True)
        so_far, texts = "", []
        for piece in choices_of(await house.client.post(path, body)):
            so_far += text_of(piece)
            texts.append(so_far)
        assert texts[-1] == shown
        assert all(not text.endswith("DEF") for text in texts if shown == "ABC")
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        assert await said(house, path, asking(path, stop=["DEFGHIJ"])) == (shown, "stop")


async def test_the_stops_of_the_model_hold_beside_those_of_the_client() -> None:
    """Peers' bug list, 58: the template's own is `[end]`."""
    async with house_of(tapes({"hello": say("ab[end]cXd"), "bye": say("abXc[end]")})) as house:
        assert await said(house, CHAT, asking(CHAT, stop=["X"])) == ("ab", "stop")
        assert await said(house, CHAT, asking(CHAT, "bye", stop=["X"])) == ("ab", "stop")


@pytest.mark.parametrize("path", PATHS)
async def test_an_answer_that_is_cut_inside_a_character_says_so_in_its_bytes(path: str) -> None:
    """Peers' bug list, 60."""
    async with house_of(tapes({"hello": say(f"a{SMILE}")})) as house:
        text, reason = await said(house, path, asking(path, max_tokens=3, temperature=0))
        assert (text[0], set(text[1:]), reason) == ("a", {"�"}, "length")
        if path == CHAT:
            (choice,) = (await house.client.post(path, asking(path, max_tokens=3, logprobs=True))).json()["choices"]
            rows = choice["logprobs"]["content"]
            assert list(chain.from_iterable(row["bytes"] for row in rows)) == list(f"a{SMILE}".encode()[:3])
            assert "".join(row["token"] for row in rows) == text
        assert (await said(house, path, asking(path)))[0] == f"a{SMILE}"


# --- D. length, usage and tokens -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (CHAT, asking(CHAT, "x" * 5000), "messages"),
        (COMPLETIONS, asking(COMPLETIONS, "x" * 5000), "prompt"),
        (COMPLETIONS, {"prompt": [120] * 5000}, "prompt"),
    ],
)
async def test_too_long_a_prompt_is_refused_before_any_event_with_both_numbers(
    path: str, body: dict[str, Any], param: str, stream: bool
) -> None:
    """Peers' bug list, 61 and 63."""
    async with house_of() as house:
        reply = await house.client.post(path, {**body, "stream": stream})
        error = error_of(reply)
        assert (reply.status, error["code"], error["param"]) == (400, "context_length_exceeded", param)
        assert "maximum context length is 4096 tokens" in error["message"]
        assert "50" in error["message"].partition("4096")[2]
        assert house.metric("scheduler_active") == 0
        assert (await house.client.post(path, asking(path))).status == 200


@pytest.mark.parametrize("path", PATHS)
async def test_an_answer_that_fills_the_context_ends_with_length(path: str) -> None:
    """Peers' bug list, 64."""
    async with house_of() as house:
        body = asking(path, "x" * 4000, ignore_eos=True, max_tokens=1000)
        reply = (await house.client.post(path, body)).json()
        assert reply["choices"][0]["finish_reason"] == "length"
        assert reply["usage"]["total_tokens"] == 4096


@pytest.mark.parametrize("path", PATHS)
async def test_the_second_time_the_prompt_counts_whole_and_as_cached(path: str) -> None:
    """Peers' bug list, 66."""
    async with house_of() as house:
        first, second = [
            (await house.client.post(path, asking(path, "once upon a time there was a word"))).json()["usage"]
            for _ in range(2)
        ]
        assert first["prompt_tokens"] == second["prompt_tokens"] >= 33
        assert first["prompt_tokens_details"]["cached_tokens"] == 0
        assert second["prompt_tokens_details"]["cached_tokens"] == second["prompt_tokens"] - 1


async def test_a_count_is_what_the_chat_then_costs() -> None:
    """Peers' bug list, 67."""
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Grüße 🙂 <|im_end|>"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": [{"type": "text", "text": "Once"}, {"type": "text", "text": " more"}]},
    ]
    async with house_of() as house:
        counted = (await house.client.post("/tokenize", {"messages": talk})).json()
        usage = (await house.client.post(CHAT, {"messages": talk})).json()["usage"]
        assert counted["count"] == len(counted["tokens"]) == usage["prompt_tokens"]


# --- found while these were tried ------------------------------------------------------------------------------------


@pytest.mark.seeds("S143")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("more", [{}, {"n": 2}, {"temperature": 0}, {"logprobs": 1}])
async def test_ids_are_told_whatever_else_is_asked_for(path: str, more: dict[str, Any]) -> None:
    """A request without any other extension went out in the form that tells none."""
    if path == CHAT and "logprobs" in more:
        more = {"logprobs": True}
    async with house_of(tapes({"hello": say("xyz")})) as house:
        for stream in (False, True):
            reply = await house.client.post(path, asking(path, return_token_ids=True, stream=stream, **more))
            ids: dict[int, list[int]] = defaultdict(list)
            for choice in choices_of(reply) if stream else reply.json()["choices"]:
                ids[choice["index"]] += choice.get("token_ids", [])
            assert list(ids.values()) == [list(b"xyz")] * more.get("n", 1)


@pytest.mark.seeds("S39")
@pytest.mark.parametrize("path", PATHS)
async def test_control_tokens_inside_an_answer_are_shown_where_they_are_asked_for(path: str) -> None:
    """The same: it told no control tokens either."""
    inside = [*say("x"), Emit(b"<|endoftext|>", 256), *say("y")]
    async with house_of(tapes({"hello": inside})) as house:
        assert await said(house, path, asking(path)) == ("xy", "stop")
        assert await said(house, path, asking(path, skip_special_tokens=False)) == ("x<|endoftext|>y", "stop")


@pytest.mark.parametrize(("field", "value"), [("return_token_ids", True), ("skip_special_tokens", False)])
async def test_an_engine_of_the_older_form_refuses_by_name_what_it_would_keep_quiet_about(
    field: str, value: bool
) -> None:
    async with house_of(startup=old, info=plain_info()) as house:
        reply = await house.client.post(COMPLETIONS, asking(COMPLETIONS, **{field: value}))
        assert (reply.status, error_of(reply)["param"]) == (400, field)
        assert (await house.client.post(COMPLETIONS, asking(COMPLETIONS))).status == 200
