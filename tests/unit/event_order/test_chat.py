from __future__ import annotations

from typing import Any

import pytest

from support.event_order import chat
from support.event_order.mutation import Events, again, broken, drop, edit, put, remove, swap, written

HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def chunk(delta: dict, finish: str | None = None, index: int = 0, **fields: Any) -> dict:
    return {**HEAD, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}], **fields}


def call(index: int, arguments: str, **fields: Any) -> dict:
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return chunk({"tool_calls": [{"index": index, "function": {**name, "arguments": arguments}, **fields}]})


def row(token: str) -> dict:
    return {"token": token, "logprob": -1.0, "bytes": None, "top_logprobs": []}


ROLE = {"role": "assistant", "content": ""}
PLAIN = [chunk(ROLE), chunk({"content": "Par"}), chunk({"content": "is"}), chunk({}, "stop"), "[DONE]"]
COUNTED = [*[{**one, "usage": None} for one in PLAIN[:-1]], {**HEAD, "choices": [], "usage": USAGE}, "[DONE]"]
RUNNING = [*[{**one, "usage": USAGE} for one in PLAIN[:-1]], {**HEAD, "choices": [], "usage": USAGE}, "[DONE]"]
CALLS = [
    chunk(ROLE),
    call(0, "", id="call_1", type="function", name="f"),
    call(0, '{"a":'),
    call(0, "1}"),
    call(1, "", id="call_2", type="function", name="g"),
    call(1, "{}"),
    chunk({}, "tool_calls"),
    "[DONE]",
]
FUNCTION = [
    chunk(ROLE),
    chunk({"function_call": {"name": "f", "arguments": ""}}),
    chunk({"function_call": {"arguments": "{}"}}),
    chunk({}, "function_call"),
    "[DONE]",
]
CUT = [*CALLS[:3], chunk({}, "length"), "[DONE]"]
TWO = [
    chunk(ROLE),
    chunk(ROLE, index=1),
    chunk({"content": "b"}, index=1),
    chunk({}, "stop", 1),
    chunk({}, "stop"),
    "[DONE]",
]
ERROR = {"error": {"message": "the engine died", "type": "server_error", "param": None, "code": "engine_crashed"}}
ROWS = broken(PLAIN, edit(1, "choices.0.logprobs", {"content": [row("P"), row("ar")], "refusal": None}))


def violations(events: Events, **asked: bool) -> list[str]:
    return chat.violations(written(events, named=False), **asked)


@pytest.mark.seeds("S2")
@pytest.mark.parametrize("events", [PLAIN, CALLS, FUNCTION, CUT, TWO, ROWS, [*PLAIN[:2], ERROR]])
def test_a_sound_stream_has_no_violation(events):
    assert violations(events) == []


def test_usage_may_come_once_or_all_the_time_if_it_was_asked_for():
    assert violations(COUNTED, usage=True) == []
    assert violations(RUNNING, usage=True, continuous=True) == []


@pytest.mark.seeds("S2")
@pytest.mark.parametrize(
    ("events", "change", "what"),
    [
        (PLAIN, drop(0), "role"),
        (PLAIN, again(0), "role"),
        (PLAIN, swap(0), "role"),
        (PLAIN, drop(-1), "neither [DONE]"),
        (PLAIN, again(-1), "follows the end"),
        (PLAIN, swap(3), "have no finish_reason"),
        (PLAIN, swap(2), "after its finish_reason"),
        (PLAIN, again(3), "after its finish_reason"),
        (PLAIN, drop(3), "have no finish_reason"),
        (PLAIN, edit(1, "object", "text_completion"), "in a stream of"),
        (PLAIN, edit(1, "id", "chatcmpl-2"), "head"),
        (PLAIN, edit(1, "model", "n"), "head"),
        (PLAIN, edit(1, "created", 2), "head"),
        (PLAIN, remove(1, "created"), "official type"),
        (PLAIN, edit(1, "choices.0.delta.content", 5), "official type"),
        (PLAIN, edit(3, "choices.0.finish_reason", "eos"), "official type"),
        (PLAIN, edit(3, "choices.0.finish_reason", "tool_calls"), "nothing was called"),
        (PLAIN, remove(1, "choices.0.finish_reason"), "no finish_reason"),
        (PLAIN, edit(1, "usage", None), "nobody asked for"),
        (PLAIN, edit(1, "choices", []), "no choices"),
        (PLAIN, put(1, ERROR), "follows the end"),
        (PLAIN, put(1, 5), "not an object"),
        (PLAIN, put(1, {"error": "died"}), "without a message"),
        (["[DONE]"], put(1), "no choice"),
        (TWO, drop(3), "choices [1] have no finish_reason"),
        (CALLS, edit(1, "choices.0.delta.tool_calls.0.id", None), "no id, type or name"),
        (CALLS, drop(1), "no id, type or name"),
        (CALLS, again(1), "named twice"),
        (CALLS, drop(3), "no object"),
        (CALLS, drop(4), "no id, type or name"),
        (CALLS, put(5, CALLS[3]), "goes on"),
        (CALLS, edit(4, "choices.0.delta.tool_calls.0.index", 2), "goes on"),
        (FUNCTION, again(1), "named in its first delta"),
        (ROWS, edit(1, "choices.0.delta.content", "Pa"), "not its text"),
    ],
)
def test_a_broken_stream_is_found(events, change, what):
    assert any(what in found for found in violations(broken(events, change)))


@pytest.mark.seeds("S53")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (drop(-2), "did not come"),
        (again(-2), "after the usage"),
        (swap(3), "before the end"),
        (remove(1, "usage"), "which was asked for"),
        (edit(1, "usage", USAGE), "in the middle"),
        (edit(-2, "usage", None), "neither choices nor usage"),
    ],
)
def test_usage_in_the_wrong_place_is_found(change, what):
    assert any(what in found for found in violations(broken(COUNTED, change), usage=True))


def test_usage_that_does_not_run_along_is_found():
    assert any("no usage so far" in found for found in violations(COUNTED, usage=True, continuous=True))


def test_a_named_event_is_found():
    assert any("a name" in found for found in chat.violations(b"event: x\n" + written(PLAIN, named=False)))
