from __future__ import annotations

import pytest

from support.event_order.sse import Event, read


def test_events_are_read_with_their_names_and_comments_are_none():
    stream = b': wait\n\nevent: a\ndata: {"x":1}\n\ndata: [DONE]\n\n'
    assert read(stream) == ([Event("a", {"x": 1}), Event(None, "[DONE]")], [])


def test_lines_of_data_are_one_value():
    assert read(b'data: {"x":\ndata: 1}\n\n') == ([Event(None, {"x": 1})], [])


@pytest.mark.parametrize(
    ("stream", "what"),
    [
        (b'data: {"x":1}\n', "no empty line"),
        (b"data: {x}\n\n", "no JSON"),
        (b'{"x":1}\n\n', "no field"),
        (b"data: \xff\n\n", "not UTF-8"),
    ],
)
def test_what_no_reader_would_get_is_told(stream, what):
    _, wrong = read(stream)
    assert len(wrong) == 1
    assert what in wrong[0]
