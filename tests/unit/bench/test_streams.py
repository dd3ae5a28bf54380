"""The chunks are those that OpenAI documents for streamed completions with ``include_usage``."""

from __future__ import annotations

import pytest

from bench.streams import BrokenStream, read_stream

USAGE = (
    b'"usage":{"prompt_tokens":40,"completion_tokens":3,"total_tokens":43,"prompt_tokens_details":{"cached_tokens":32}}'
)
TEXT = [
    (1.0, b'data: {"choices":[{"index":0,"text":"Hel","finish_reason":null}],"usage":null}\n\n'),
    (1.5, b'data: {"choices":[{"index":0,"text":"","finish_reason":null}]}\n\n'),
    (1.75, b'data: {"choices":[{"index":0,"text":"lo","finish_reason":"length"}]}\n\n'),
]
CHAT = [
    (1.0, b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}\n\n'),
    (1.25, b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'),
    (1.5, b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'),
]
END = [(2.0, b'data: {"choices":[],' + USAGE + b"}\n\ndata: [DONE]\n\n")]


def test_a_text_completion_is_timed_by_the_events_that_carry_text():
    stream = read_stream(0.5, TEXT + END)
    assert stream.text == "Hello"
    assert stream.arrivals == (1.0, 1.75)
    assert stream.time_to_first_token == 0.5
    assert stream.gaps == (0.75,)


def test_the_role_of_a_chat_is_not_its_first_token():
    stream = read_stream(1.0, CHAT + END)
    assert (stream.text, stream.time_to_first_token) == ("Hi", 0.25)


def test_tokens_are_counted_by_the_usage_not_by_the_events():
    stream = read_stream(0.0, TEXT + END)
    assert (stream.prompt_tokens, stream.cached_tokens, stream.output_tokens) == (40, 32, 3)


def test_a_usage_without_details_has_nothing_cached():
    bare = (
        b'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}\n\ndata: [DONE]\n\n'
    )
    assert read_stream(0.0, [*TEXT, (2.0, bare)]).cached_tokens == 0


@pytest.mark.parametrize(
    "body",
    [
        TEXT,
        END,
        [*TEXT, (2.0, b"data: [DONE]\n\n")],
        [*TEXT, (2.0, b'data: {"choices":[{"te\n\n'), *END],
        [*TEXT, (2.0, b'data: {"error":{"message":"engine died","code":"engine_crashed"}}\n\n'), *END],
    ],
    ids=["no end", "no text", "no usage", "half an event", "an error event"],
)
def test_a_stream_that_is_not_whole_is_not_counted(body):
    with pytest.raises(BrokenStream):
        read_stream(0.0, body)
