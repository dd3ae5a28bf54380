from __future__ import annotations

import pytest

from support.event_order import messages
from support.event_order.mutation import Events, again, broken, drop, edit, put, remove, swap, written

PROMPT = {"input_tokens": 18, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 32}
PING = {"type": "ping"}
ERROR = {"type": "error", "error": {"type": "api_error", "message": "the engine died"}, "request_id": "req_1"}
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**PROMPT, "output_tokens": 0},
    },
}
STOP = {"type": "message_stop"}


def block(index: int, opening: dict, *deltas: dict) -> Events:
    return [
        {"type": "content_block_start", "index": index, "content_block": opening},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *parts: str) -> Events:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": part} for part in parts))


def thought(index: int, *parts: str) -> Events:
    deltas = [{"type": "thinking_delta", "thinking": part} for part in parts]
    opening = {"type": "thinking", "thinking": "", "signature": ""}
    return block(index, opening, *deltas, {"type": "signature_delta", "signature": "s"})


def call(index: int, *parts: str) -> Events:
    opening = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {}}
    return block(index, opening, *({"type": "input_json_delta", "partial_json": part} for part in parts))


def ending(reason: str | None, sequence: str | None = None) -> dict:
    delta = {"stop_reason": reason, "stop_sequence": sequence}
    return {"type": "message_delta", "delta": delta, "usage": {**PROMPT, "output_tokens": 7}}


PLAIN = [START, *text(0, "Par", "is"), ending("end_turn"), STOP]
"""0 the message, 1 to 4 its block, 5 and 6 its end."""
AGENT = [START, *thought(0, "Hm"), *text(1, "Well"), *call(2, '{"a"', ":1}"), *call(3), ending("tool_use"), STOP]
"""1 to 4 the thought, 5 to 7 the text, 8 to 11 and 12 to 13 the calls, 14 and 15 the end."""
CUT = [START, *call(0, '{"a"'), ending("max_tokens"), STOP]
STOPPED = [START, *text(0, "x"), ending("stop_sequence", "END"), STOP]
NOTHING = [START, ending("end_turn"), STOP]


def violations(events: Events) -> list[str]:
    return messages.violations(written(events, named=True))


@pytest.mark.seeds("S2")
@pytest.mark.parametrize("events", [PLAIN, AGENT, CUT, STOPPED, NOTHING, [START, PING, *PLAIN[1:3], ERROR]])
def test_a_sound_stream_has_no_violation(events):
    assert violations(events) == []


@pytest.mark.seeds("S2")
@pytest.mark.parametrize(
    ("events", "change", "what"),
    [
        (PLAIN, drop(0), "before message_start"),
        (PLAIN, again(0), "a second one"),
        (PLAIN, edit(0, "message.id", "chatcmpl-1"), "no id of a message"),
        (PLAIN, edit(0, "message.stop_reason", "end_turn"), "has begun already"),
        (PLAIN, remove(0, "message.usage"), "official type"),
        (PLAIN, drop(1), "not open"),
        (PLAIN, drop(4), "a block is open"),
        (PLAIN, again(4), "not open"),
        (PLAIN, swap(3), "not open"),
        (PLAIN, edit(1, "index", 1), "index 1 in the place of 0"),
        (PLAIN, edit(2, "index", 1), "not open"),
        (PLAIN, edit(4, "index", 1), "not open"),
        (PLAIN, edit(1, "content_block.text", "P"), "something in it"),
        (PLAIN, edit(2, "delta.type", "future_delta"), "official type"),
        (PLAIN, edit(2, "delta", {"type": "thinking_delta", "thinking": "x"}), "in a block of text"),
        (PLAIN, put(1, *text(0)), "an empty block of text"),
        (PLAIN, drop(5), "without message_delta"),
        (PLAIN, again(5), "after message_delta"),
        (PLAIN, swap(4), "a block is open"),
        (PLAIN, drop(6), "neither message_stop"),
        (PLAIN, again(6), "follows the end"),
        (PLAIN, put(7, PING), "follows the end"),
        (PLAIN, put(7, "[DONE]"), "follows the end"),
        (PLAIN, put(5, "[DONE]"), "not an object"),
        (PLAIN, put(6, ERROR), "follows the end"),
        (PLAIN, put(6, {"type": "error", "error": "died"}), "without type and message"),
        (PLAIN, edit(5, "delta.stop_reason", None), "no stop_reason"),
        (PLAIN, edit(5, "delta.stop_reason", "stop"), "official type"),
        (PLAIN, edit(5, "delta.stop_reason", "tool_use"), "nothing was called"),
        (PLAIN, edit(5, "delta.stop_reason", "stop_sequence"), "with the stop sequence None"),
        (PLAIN, edit(5, "delta.stop_sequence", "END"), "with the stop sequence END"),
        (PLAIN, remove(5, "usage.cache_read_input_tokens"), "no counts of the prompt"),
        (PLAIN, edit(5, "usage.input_tokens", 50), "not as long as at the start"),
        (AGENT, drop(3), "a thought without a signature"),
        (AGENT, swap(2), "after the signature"),
        (AGENT, again(3), "after the signature"),
        (AGENT, drop(4), "another block is open"),
        (AGENT, drop(10), "no object"),
        (AGENT, edit(8, "content_block.id", "call_1"), "no id of a tool_use"),
        (AGENT, edit(8, "content_block.id", "toolu_3"), "something else, too"),
        (AGENT, edit(8, "content_block.input", {"a": 1}), "something in it"),
        (AGENT, edit(14, "delta.stop_reason", "end_turn"), "something was called"),
    ],
)
def test_a_broken_stream_is_found(events, change, what):
    assert any(what in found for found in violations(broken(events, change)))


def test_an_event_that_is_not_called_by_its_type_is_found():
    nameless = written(PLAIN, named=True).replace(b"event: message_stop\n", b"")
    assert any("called None" in found for found in messages.violations(nameless))
