"""Expectations are the WHATWG HTML standard's, section 9.2.6 (interpreting an event stream)."""

from __future__ import annotations

import pytest

from bench.sse import events

BODY = (
    b': hello\ndata: {"a": 1}\n\nevent: ping\ndata:first\ndata: second\n\nevent: nothing\n\ndata: [DONE]\n\ndata: cut'
)
DATA = [b'{"a": 1}', b"first\nsecond", b"[DONE]"]


def test_events_are_the_data_of_each_block_and_nothing_else():
    assert [data for _, data in events([(0.0, BODY)])] == DATA


def test_crlf_ends_lines_as_well():
    assert [data for _, data in events([(0.0, BODY.replace(b"\n", b"\r\n"))])] == DATA


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_where_the_body_is_cut_changes_nothing(size):
    pieces = [(0.0, BODY[at : at + size]) for at in range(0, len(BODY), size)]
    assert [data for _, data in events(pieces)] == DATA


def test_an_event_has_the_time_of_its_last_byte():
    pieces = [(1.0, b"data: a"), (2.0, b"\n"), (3.0, b"\ndata: b\n\ndata: c\n\n")]
    assert list(events(pieces)) == [(3.0, b"a"), (3.0, b"b"), (3.0, b"c")]


def test_only_one_space_after_the_colon_belongs_to_the_syntax():
    assert list(events([(0.0, b"data:  two\n\n")])) == [(0.0, b" two")]
