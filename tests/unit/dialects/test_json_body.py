from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.json_body import CallKeys, JsonArguments, JsonCall

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


def fed(body: JsonArguments | JsonCall, *parts: str) -> str:
    return "".join(body.feed(part) for part in parts if not body.done and not body.failed)


@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]), st.text())
def test_any_object_is_read_to_its_end_and_no_further(value, ascii_only, indent, behind):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    body = JsonArguments()
    assert body.feed(f" \n{text}{behind}") == text
    assert body.done
    assert body.rest == behind


@given(OBJECTS)
def test_letter_by_letter_it_is_the_same(value):
    text = json.dumps(value)
    body = JsonArguments()
    assert fed(body, *text) == text
    assert body.done


@given(st.text(alphabet='{}[]",:\\ \n0123456789.-+eEtruefalsn\x01u', max_size=40))
def test_what_python_takes_for_an_object_is_one_and_nothing_else_is(text):
    body = JsonArguments()
    body.feed(text)
    try:
        value = json.loads(text, strict=False, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        value = None
    whole = body.done and not body.rest.strip(" \t\n\r")
    assert whole == isinstance(value, dict)


@pytest.mark.parametrize(
    "text", ["[1]", '"a"', "{a", "{,", '{"a" 1', '{"a":}', '{"a":1,}', '{"a":01 ', '{"a":tru,', '{"a":"\\x', "{]", "x"]
)
def test_it_fails_at_the_first_character_that_json_does_not_allow(text: str):
    body = JsonArguments()
    fed(body, *text)
    assert body.failed
    assert not body.done


def test_line_breaks_in_strings_are_escaped_since_models_write_them():
    assert JsonArguments().feed('{"a": "b\n\tc"}') == '{"a": "b\\n\\tc"}'


@pytest.mark.parametrize(
    "text, name, arguments",
    [
        ('{"name": "f", "arguments": {"a": "}"}}', "f", '{"a": "}"}'),
        ('{"arguments": {"a": {"name": "g"}}, "name": "f"}', "f", '{"a": {"name": "g"}}'),
        ('{"name": "f", "parameters": {} }', "f", "{}"),
        ('{"id": {"x": [1]}, "type": "function", "name": "f"}', "f", "{}"),
        ('{"name": "f", "arguments": null}', "f", "{}"),
        ('{"name": "f", "arguments": ""}', "f", "{}"),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', "f", '{"a": 1}'),
        ('{"n\\u0061me": "\\u0066"}', "f", "{}"),
        ('{"name": "f", "arguments": {"a": 1}\n}', "f", '{"a": 1}'),
    ],
)
def test_a_call_is_a_name_and_arguments_in_any_order(text: str, name: str, arguments: str):
    for parts in ([text], list(text)):
        body = JsonCall()
        assert fed(body, *parts) == arguments
        assert body.name == name
        assert body.done


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"city": 1',
        '{"arguments": {}}',
        '{"name": 1}',
        '{"name": ""}',
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": "a"}',
        '{"name": "f", "arguments": {}, "parameters"',
        "f",
    ],
)
def test_what_has_other_keys_or_no_name_is_no_call(text: str):
    body = JsonCall()
    fed(body, *text)
    assert body.failed
    assert not body.done


def test_arguments_wait_for_the_name_and_come_as_they_are_written_then():
    body = JsonCall()
    assert body.feed('{"name": "f') == ""
    assert body.name is None
    assert body.feed('", "arguments": {"a":') == '{"a":'
    assert body.name == "f"
    assert body.feed(' "b') == ' "b'
    late = JsonCall()
    assert late.feed('{"arguments": {"a": 1}, "name": ') == ""
    assert late.feed('"f"') == '{"a": 1}'


def test_a_family_may_have_keys_of_its_own():
    body = JsonCall(CallKeys(name="tool", arguments=frozenset({"input"}), others=frozenset()))
    assert body.feed('{"tool": "f", "input": {"a": 1}}') == '{"a": 1}'
    assert body.name == "f"


@pytest.mark.parametrize("cut", [1, 1000])
class TestNames:
    def test_half_of_a_character_is_none(self, cut: int):
        call = JsonCall()
        text = '{"name": "\\ud800", "arguments": {}}'
        fed(call, *(text[at : at + cut] for at in range(0, len(text), cut)))
        assert call.failed
        assert call.name is None

    def test_the_first_one_stays_and_a_second_makes_it_no_call(self, cut: int):
        call = JsonCall()
        text = '{"name": "one", "name": "two", "arguments": {}}'
        fed(call, *(text[at : at + cut] for at in range(0, len(text), cut)))
        assert call.failed
        assert call.name == "one"


def test_arguments_in_a_string_can_be_encoded():
    text = fed(JsonCall(), r'{"name": "f", "arguments": "{\"city\": \"\ud83d\"}"}')
    assert text.encode()
    assert json.loads(text) == {"city": "\ud83d"}
