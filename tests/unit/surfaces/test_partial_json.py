from __future__ import annotations

import json

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.surfaces.partial_json import closed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.seeds("S57")
@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"city": "Par', "{}"),
        ('{"city": "Paris"', '{"city": "Paris"}'),
        ('{"city": "Paris", "da', '{"city": "Paris"}'),
        ('{"city": "Paris", "days":', '{"city": "Paris"}'),
        ('{"days": [1, tru', '{"days": [1]}'),
        ('{"days": [1, {"a": "\\"}', '{"days": [1, {}]}'),
        ('{"n": -', "{}"),
        ('{"n": 1', '{"n": 1}'),
        ('{"n": 1.', "{}"),
        ("{", "{}"),
        ("", "{}"),
        ("[1", "{}"),
    ],
)
def test_what_is_certain_stays_and_what_is_open_is_closed(text, whole):
    assert closed(text) == whole


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.booleans(), st.data())
def test_every_beginning_reads_as_the_reader_of_the_official_sdk_reads_it(value, ascii_, data):
    text = json.dumps(value, ensure_ascii=ascii_, indent=data.draw(st.sampled_from([None, 1])))
    cut = data.draw(st.integers(1, len(text)))
    assert json.loads(closed(text[:cut])) == jiter.from_json(text[:cut].encode(), partial_mode=True)


def test_a_whole_object_stays_as_it_was_written():
    text = '{"big": 123456789012345678901234567890, "half": "\\ud83d", "far": 1e999, "a": 1, "a": 2}'
    assert closed(text) == text


def test_depth_costs_no_recursion():
    assert closed('{"a":' + "[" * 100_000) == '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
