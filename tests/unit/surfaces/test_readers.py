from __future__ import annotations

import math

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.surfaces.readers import (
    BOOLEAN,
    OBJECT,
    PROMPT_TEXT,
    TEXT,
    Place,
    array,
    identifier,
    integer,
    is_token_ids,
    number,
    text,
    token_ids,
)

AT = Place().child("field")
HUGE = pytest.param(10**400, id="huge")


def refusal(reader, value, at=AT) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        reader.read(value, at)
    assert caught.value.code is Code.INVALID_VALUE
    return caught.value


@pytest.mark.parametrize("value", [0, 7, 10])
def test_an_integer_within_its_bounds_is_itself(value):
    assert integer(0, 10).read(value, AT) == value


@pytest.mark.parametrize("value", [-1, 11, 1.0, 2.5, True, False, "5", None, [], {}, HUGE])
def test_what_is_no_integer_within_the_bounds_is_refused_by_name(value):
    error = refusal(integer(0, 10), value)
    assert error.param == "field"
    assert error.message.startswith("field must be an integer from 0 to 10; got ")


@pytest.mark.parametrize("value", [0, 0.0, 1.5, 2])
def test_a_number_may_be_written_as_an_integer(value):
    read = number(0, 2).read(value, AT)
    assert (read, type(read)) == (value, float)


@pytest.mark.parametrize("value", [-0.1, 2.0001, math.nan, math.inf, -math.inf, True, "1", None, HUGE])
def test_what_is_no_number_within_the_bounds_is_refused(value):
    refusal(number(0, 2), value)


def test_a_bound_may_be_excluded():
    assert number(0, 1, above=True).read(1, AT) == 1.0
    assert refusal(number(0, 1, above=True), 0).message == "field must be a number above 0 and at most 1; got 0"


@pytest.mark.parametrize("value", ["true", 1, 0, "yes", [], 1.0])
def test_only_true_and_false_are_booleans(value):
    assert refusal(BOOLEAN, value).message.startswith("field must be true or false")


@pytest.mark.parametrize("value", [1, True, None, ["a"], {"a": "b"}])
def test_text_is_a_string(value):
    refusal(TEXT, value)


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb", "é\udc00"])
def test_half_of_a_surrogate_pair_is_not_text(value):
    assert "surrogate" in refusal(TEXT, value).message


def test_whole_characters_of_any_plane_are_text():
    assert TEXT.read("naïve 👩‍🚀", AT) == "naïve 👩‍🚀"


def test_a_nul_is_refused_in_a_prompt_only():
    assert TEXT.read("a\0b", AT) == "a\0b"
    assert "NUL" in refusal(PROMPT_TEXT, "a\0b").message


def test_a_bad_item_of_an_array_is_named_by_its_index():
    assert refusal(array(integer(0, 9), of="digits"), [1, 2, 10]).param == "field.2"


def test_an_array_may_have_to_hold_something():
    assert array(TEXT, of="strings").read([], AT) == ()
    assert refusal(array(TEXT, at_least=1, of="strings"), []).message == (
        "field must be a non-empty array of strings; got an empty array"
    )


def test_an_array_may_hold_so_much_and_no_more():
    assert array(TEXT, at_most=2, of="strings").read(["a", "b"], AT) == ("a", "b")
    assert refusal(array(TEXT, at_most=2, of="strings"), ["a"] * 3).message == (
        "field holds 3 items; at most 2 are taken"
    )


def test_a_string_has_a_length_in_characters():
    assert text(1, 2).read("éé", AT) == "éé"
    assert refusal(text(1, 2), "").message == "field must have 1 to 2 characters; got 0"
    refusal(text(1, 2), "abc")
    refusal(text(1, 2), 5)


@pytest.mark.parametrize("value", [[-1], [True], [1.0], ["1"], [2**31], [[1]], "12", None])
def test_token_ids_are_read_as_they_are_told_from_other_arrays(value):
    assert token_ids().read([0, 2**31 - 1], AT) == (0, 2**31 - 1)
    refusal(token_ids(), value)


def test_a_message_names_what_came_without_repeating_it():
    assert refusal(OBJECT, "my secret").message == "field must be an object; got a string"
    assert refusal(OBJECT, [1]).message == "field must be an object; got an array"
    assert refusal(TEXT, {}).message == "field must be a string; got an object"
    assert refusal(TEXT, 10**30).message == "field must be a string; got a number out of range"


def test_a_body_that_is_no_object_has_no_field_to_name():
    error = refusal(OBJECT, [], Place())
    assert (error.param, error.message) == (None, "the body must be an object; got an empty array")


def test_a_path_is_printable_ascii_whatever_the_client_calls_its_keys():
    assert Place().child("é\ud800\r\nx").path == "\\xe9\\ud800\\r\\nx"
    assert len(Place().child("k" * 1000).path) == 64


def test_items_of_one_array_are_ignored_under_one_name():
    root = Place()
    for index in range(100):
        root.child("messages").child(index).child("id").ignore()
    assert list(root.ignored) == ["messages.*.id"]


def test_the_record_of_ignored_fields_is_bounded():
    root = Place()
    for index in range(1000):
        root.child(f"x{index}").ignore()
    assert len(root.ignored) == 32


@pytest.mark.parametrize("value", [[], [0], [1, 2, 2**31 - 1]])
def test_token_ids_are_what_an_engine_can_hold(value):
    assert is_token_ids(value)


@pytest.mark.parametrize("value", [[-1], [True], [1.0], ["1"], [2**31], [[1]], "12", None, (1, 2)])
def test_anything_else_is_no_token_ids(value):
    assert not is_token_ids(value)


@pytest.mark.parametrize(
    "reader, schema",
    [
        (integer(0, 9), {"type": "integer", "minimum": 0, "maximum": 9}),
        (number(0, 2), {"type": "number", "minimum": 0, "maximum": 2}),
        (number(0, 1, above=True), {"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        (BOOLEAN, {"type": "boolean"}),
        (TEXT, {"type": "string"}),
        (array(TEXT, of="strings"), {"type": "array", "items": {"type": "string"}}),
        (array(BOOLEAN, at_least=1, of="x"), {"type": "array", "items": {"type": "boolean"}, "minItems": 1}),
        (text(1, 9), {"type": "string", "minLength": 1, "maxLength": 9}),
        (
            token_ids(at_most=5),
            {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}, "maxItems": 5},
        ),
    ],
)
def test_a_reader_says_what_it_accepts_as_json_schema(reader, schema):
    assert reader.schema == schema


@pytest.mark.parametrize("value", ["a", "A-1_b.c", "x" * 7])
def test_an_identifier_is_itself(value):
    assert identifier(7).read(value, AT) == value


@pytest.mark.parametrize("value", ["", "x" * 8, "a b", "a\n", "é", "a/b", 5, None, True])
def test_what_is_no_identifier_is_refused_by_name(value):
    assert refusal(identifier(7), value).param == "field"


def test_a_place_leads_to_what_is_deep_inside():
    assert AT.inside(0, "a", 1).path == "field.0.a.1"
    assert AT.inside().path == "field"
    root = Place()
    root.inside("a", 3, "b").ignore()
    assert list(root.ignored) == ["a.*.b"]
