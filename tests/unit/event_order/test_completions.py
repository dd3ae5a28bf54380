from __future__ import annotations

import pytest

from support.event_order import completions
from support.event_order.mutation import Events, again, broken, drop, edit, put, swap, written

HEAD = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
CHAT_CHUNK = {
    **HEAD,
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}],
}


def chunk(text: str, finish: str | None = None, index: int = 0, logprobs: dict | None = None) -> dict:
    return {**HEAD, "choices": [{"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}]}


ARRAYS = {
    "tokens": ["On", "ce"],
    "token_logprobs": [None, -1.0],
    "top_logprobs": [None, {"ce": -1.0}],
    "text_offset": [0, 2],
}
PLAIN = [chunk("Once"), chunk(" upon"), chunk("", "length"), "[DONE]"]
SCORED = [chunk("Once", logprobs=ARRAYS), *PLAIN[1:]]
TWO = [chunk("a", index=1), chunk("b"), chunk("", "stop"), chunk("", "stop", 1), "[DONE]"]
COUNTED = [*[{**one, "usage": None} for one in PLAIN[:-1]], {**HEAD, "choices": [], "usage": USAGE}, "[DONE]"]


def violations(events: Events, **asked: bool) -> list[str]:
    return completions.violations(written(events, named=False), **asked)


@pytest.mark.seeds("S2")
@pytest.mark.parametrize("events", [PLAIN, SCORED, TWO])
def test_a_sound_stream_has_no_violation(events):
    assert violations(events) == []


def test_usage_may_come_if_it_was_asked_for():
    assert violations(COUNTED, usage=True) == []


@pytest.mark.seeds("S2")
@pytest.mark.parametrize(
    ("events", "change", "what"),
    [
        (PLAIN, put(1, CHAT_CHUNK), "a chat.completion.chunk in a stream of text_completion"),
        (PLAIN, edit(1, "choices.0.delta", {}), "a chat's delta"),
        (PLAIN, edit(1, "choices.0.text", None), "official type"),
        (PLAIN, edit(2, "choices.0.finish_reason", "tool_calls"), "official type"),
        (PLAIN, drop(2), "have no finish_reason"),
        (PLAIN, swap(1), "after its finish_reason"),
        (PLAIN, drop(-1), "neither [DONE]"),
        (PLAIN, again(-1), "follows the end"),
        (PLAIN, edit(1, "id", "cmpl-2"), "head"),
        (PLAIN, edit(1, "usage", USAGE), "nobody asked for"),
        (SCORED, edit(0, "choices.0.logprobs.text_offset", [0]), "different lengths"),
        (SCORED, edit(0, "choices.0.text", "On"), "not its text"),
    ],
)
def test_a_broken_stream_is_found(events, change, what):
    assert any(what in found for found in violations(broken(events, change)))


def test_choices_without_the_first_are_found():
    alone = [chunk("a", "stop", index=1), "[DONE]"]
    assert any("indexes [1]" in found for found in violations(alone))


def test_a_stream_without_the_usage_that_was_asked_for_is_found():
    assert any("did not come" in found for found in violations(broken(COUNTED, drop(-2)), usage=True))
