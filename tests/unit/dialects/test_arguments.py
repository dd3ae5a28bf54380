from __future__ import annotations

import json

import pytest

from dragoman.dialects.arguments import Arguments, as_json, schema_of, types_of
from dragoman.dialects.table import Holds

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "share": {"type": "number"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"type": ["boolean", "null"]},
        "kind": {"enum": ["a", "b"]},
        "one": {"const": "x"},
        "point": {"$ref": "#/$defs/point"},
        "named": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/point"}]},
    },
    "$defs": {"point": {"type": "object"}},
}


def written(key: str, *parts: str, holds: Holds = Holds.TYPED) -> str:
    arguments = Arguments(schema=SCHEMA)
    out = arguments.key(key)
    arguments.begin_value(holds)
    out += "".join(arguments.value(part) for part in parts)
    return out + arguments.end_value() + arguments.end()


@pytest.mark.parametrize(
    "key, raw, value",
    [
        ("city", "12", "12"),
        ("city", ' "a"\n', ' "a"\n'),
        ("city", "", ""),
        ("days", "12", 12),
        ("days", " 12\n", 12),
        ("days", "twelve", "twelve"),
        ("share", "1.50", 1.5),
        ("either", "12", 12),
        ("either", "12.5", "12.5"),
        ("either", "true", "true"),
        ("maybe", "null", None),
        ("maybe", "None", None),
        ("maybe", "True", True),
        ("kind", "1", "1"),
        ("one", "1", "1"),
        ("point", '{"x": [1, 2]}', {"x": [1, 2]}),
        ("named", '{"x": 1}', {"x": 1}),
        ("named", "here", "here"),
        ("unknown", "[1]", [1]),
        ("unknown", "some text", "some text"),
        ("unknown", "NaN", "NaN"),
        ("share", "1e999", "1e999"),
        ("unknown", '["\\ud83d", "\\ud83d\\ude00"]', ["\ud83d", "😀"]),
    ],
)
def test_a_value_is_what_the_schema_makes_of_it(key: str, raw: str, value: object):
    assert json.loads(written(key, raw)) == {key: value}
    assert written(key, *raw) == written(key, raw)
    assert written(key, raw).encode()


def test_a_family_may_say_what_a_value_is():
    assert written("days", "12", holds=Holds.STRING) == '{"days":"12"}'
    assert written("city", "12", holds=Holds.JSON) == '{"city":12}'
    assert written("city", "a b", holds=Holds.JSON) == '{"city":"a b"}'


def test_several_are_one_object():
    arguments = Arguments()
    out = ""
    for key in ("a", 'b"'):
        out += arguments.key(key)
        arguments.begin_value(Holds.STRING)
        out += arguments.value("é\n") + arguments.end_value()
    assert out + arguments.end() == '{"a":"é\\n","b\\"":"é\\n"}'


def test_none_are_an_empty_object_and_a_whole_one_closes_itself():
    assert Arguments().end() == "{}"
    arguments = Arguments()
    assert arguments.whole('{"a":1}') + arguments.end() == '{"a":1}'


def test_what_nobody_knows_has_no_types():
    assert types_of(schema_of(None, "x")) == set()
    assert types_of(schema_of({"properties": {"x": True}}, "x")) == set()
    assert types_of({"oneOf": [{"type": "string"}, {"const": "y"}]}) == {"string"}


def test_deep_values_are_strings_rather_than_a_crash():
    deep = "[" * 100_000
    assert json.loads(as_json(deep)) == deep
