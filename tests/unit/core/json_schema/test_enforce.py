from __future__ import annotations

import json
from collections.abc import Iterator
from time import process_time

import pytest

from dragoman.core.grammar import grammar_of, json_value
from dragoman.core.json_schema import SchemaFault, enforceable
from dragoman.core.request import JsonFormat
from support.grammars import accepts


def fault(schema) -> tuple[str, bool]:
    with pytest.raises(SchemaFault) as caught:
        enforceable(schema)
    return ".".join(map(str, caught.value.path)), caught.value.malformed


def allowed(schema, text: str) -> bool:
    return accepts(grammar_of(JsonFormat(schema=schema)), text)


TAGGED = {
    "oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}],
    "$defs": {
        kind: {
            "type": "object",
            "properties": {"kind": {"const": kind}, "n": {"type": "integer"}},
            "required": ["kind"],
        }
        for kind in ("cat", "dog")
    },
}


def nested(depth: int):
    """``oneOf`` within ``oneOf``, each with a branch of its own."""
    if not depth:
        return {"type": "string"}
    inner = {"type": "object", "properties": {"k": {"const": depth}, "v": nested(depth - 1)}, "required": ["k", "v"]}
    return {"oneOf": [inner, {"type": "integer"}]}


@pytest.mark.parametrize(
    "schema, texts, others",
    [
        ({"enum": ["a", 1, None, {"k": [True]}]}, ['"a"', "1", "null", '{"k":[true]}'], ['"b"', "2", "{}"]),
        ({"const": -0.0}, ["0"], ["1"]),
        ({"type": ["string", "null"], "maxLength": 1}, ['"😀"', "null"], ['"ab"', "1"]),
        ({"type": "string", "pattern": "b"}, ['"abc"'], ['"ac"']),
        (
            {"type": "string", "pattern": r"^hello there indeed\!$"},
            ['"hello there indeed!"'],
            ['"hello"'],
        ),  # llama.cpp#19051
        ({"type": "string", "pattern": "^.$"}, ['"a"'], ['"\\r"', '"\\n"']),
        ({"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2024-02-31"', '"today"']),
        ({"type": "string", "format": "date-time"}, ['"2024-02-29T10:00:59.5Z"'], ['"2024-02-29T10:00:60Z"']),
        ({"type": "string", "format": "email"}, ['"a.b@example.org"'], ['"a@b"', f'"{"a" * 65}@example.org"']),
        ({"type": "string", "format": "color"}, ['"x"'], ["1"]),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}, ["0.5", "1.5"], ["0", "1.6"]),
        ({"type": "integer"}, ["0", "-7", str(2**53)], [str(2**53 + 1), "1" * 40, "1.0"]),
        ({"type": ["integer", "null"], "minimum": 3}, ["3", "null"], ["2", "1" * 40]),
        ({"type": "integer", "multipleOf": 5}, ["-10", "0"], ["3"]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, ["[1,2]"], ["[]", "[1,2,3]"]),
        ({"prefixItems": [{"type": "string"}], "items": False, "type": "array"}, ['["a"]', "[]"], ["[1]", '["a",1]']),
        ({"items": [{"type": "string"}], "additionalItems": False, "type": "array"}, ['["a"]'], ["[1]", '["a",1]']),
        (
            {"type": "object", "properties": {"b": {"type": "integer"}, "a": {}}, "required": ["a"]},
            ['{"b":1,"a":2}', '{"a":2}', '{"a":2,"c":3}'],
            ["{}", '{"a":2,"b":1}', '{"b":1}'],
        ),
        ({"type": "object", "additionalProperties": False}, ["{}"], ['{"a":1}']),
        ({"type": "object", "additionalProperties": {"type": "null"}}, ['{"x":null}'], ['{"x":1}']),
        ({"type": "object", "minProperties": 1, "maxProperties": 1}, ['{"x":1}'], ["{}", '{"x":1,"y":2}']),
        ({"type": "object", "required": ["a", "b"], "minProperties": 2}, ['{"a":1,"b":2}'], ["{}"]),
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": False, "maxProperties": 1},
            ["{}", '{"a":1}'],
            ['{"b":1}'],
        ),
        (
            {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
            ['{"ab":1}', "{}"],
            ['{"ab":"x"}', '{"b":1}'],
        ),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}], "maximum": 4}, ["3", "4"], ["2", "5", '"3"']),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ['"a"', "null"], ["1"]),
        (TAGGED, ['{"kind":"cat"}', '{"kind":"dog","n":1}'], ['{"kind":"cow"}', '{"n":1}']),
        (nested(12), ["3", '{"k":12,"v":4}'], ['{"k":11,"v":4}']),
        (
            {
                "$defs": {"n": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}},
                "$ref": "#/$defs/n",
            },
            ["null", "[[null],[]]"],
            ["1"],
        ),
        (
            {"properties": {"x": {"$ref": "#/$defs/a~1b%25"}}, "$defs": {"a/b%": {"type": "null"}}},
            ['{"x":null}'],
            ['{"x":1}'],
        ),
        ({"properties": {"not": {"type": "null"}, "$id": {"type": "null"}}}, ['{"not":null}'], ['{"not":1}']),
    ],
)
def test_keywords_hold_an_answer_to_what_2020_12_says(schema, texts, others):
    assert [text for text in texts if not allowed(schema, text)] == []
    assert [text for text in others if allowed(schema, text)] == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.org/a", "type": "null"},
        {"$schema": "https://nowhere.invalid/schema", "type": "null"},
        {
            "title": "t",
            "description": "d",
            "default": 1,
            "examples": [1],
            "deprecated": True,
            "$comment": "c",
            "type": "null",
        },
        {"x-order": 1, "encrypted": True, "strict": True, "nullable": True, "discriminator": {}, "type": "null"},
        {"readOnly": True, "contentEncoding": "base64", "contentMediaType": "text/plain", "type": "null"},
        {"uniqueItems": False, "propertyNames": {"type": "string"}, "unevaluatedProperties": True, "type": "null"},
        {"if": {"type": "string"}, "minContains": 2, "dependentRequired": {}, "not": False, "type": "null"},
    ],
)
def test_what_asks_for_nothing_is_let_through(schema):
    """litellm#13389: ``$schema`` and ``$id`` come with the schemas of tools."""
    assert enforceable(schema) == {"type": "null"}


@pytest.mark.parametrize(
    "schema, path",
    [
        ({"properties": {"x": {"not": {}}}}, "properties.x.not"),
        ({"items": {"type": "array", "uniqueItems": True}}, "items.uniqueItems"),
        ({"if": {"type": "string"}, "then": {"minLength": 1}}, "if"),
        ({"contains": {}}, "contains"),
        ({"propertyNames": {"pattern": "^a"}}, "propertyNames"),
        ({"dependentRequired": {"a": ["b"]}}, "dependentRequired"),
        ({"dependentSchemas": {"a": {}}}, "dependentSchemas"),
        ({"dependencies": {"a": ["b"]}}, "dependencies"),
        ({"unevaluatedProperties": False}, "unevaluatedProperties"),
        ({"anyOf": [{"type": "string"}, {"pattern": "(?<=x)+"}]}, "anyOf.1.pattern"),
        ({"patternProperties": {r"\bx": {}}}, r"patternProperties.\bx"),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "oneOf"),
        ({"oneOf": [{"minLength": 1}, {"maxLength": 5}]}, "oneOf"),
        ({"$ref": "https://example.org/schema"}, "$ref"),
        ({"$ref": "#anchor"}, "$ref"),
        ({"properties": {"x": {"$id": "https://example.org/b", "items": {"$ref": "#/a"}}}}, "properties.x.items.$ref"),
        ({"minProperties": 2}, "minProperties"),
        ({"properties": {"a": {}}, "minProperties": 1}, "minProperties"),
        ({"properties": {"a": {}}, "maxProperties": 1}, "maxProperties"),
        ({"properties": {"a\nb": {}}}, "properties"),
        ({"const": 2**53 + 1}, "const"),
        ({"enum": [1, [float("inf")]]}, "enum"),
        ({"minimum": 1e40}, "minimum"),
        ({"maxLength": 10**9}, "maxLength"),
        (False, ""),
    ],
)
def test_what_can_not_be_enforced_is_named_by_its_path(schema, path):
    assert fault(schema) == (path, False)


@pytest.mark.parametrize(
    "schema, path",
    [
        ({"properties": {"foo": "bar"}}, "properties.foo"),
        ({"properties": ["a"]}, "properties"),
        ({"items": 3}, "items"),
        ({"type": "strin"}, "type"),
        ({"type": []}, "type"),
        ({"anyOf": []}, "anyOf"),
        ({"anyOf": [{}, None]}, "anyOf.1"),
        ({"enum": []}, "enum"),
        ({"required": "a"}, "required"),
        ({"required": [1]}, "required"),
        ({"minLength": -1}, "minLength"),
        ({"maxItems": 1.5}, "maxItems"),
        ({"maxItems": True}, "maxItems"),
        ({"minimum": "1"}, "minimum"),
        ({"exclusiveMinimum": True}, "exclusiveMinimum"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"pattern": 1}, "pattern"),
        ({"$ref": 1}, "$ref"),
        ({"$ref": "#/$defs/x"}, "$ref"),
        ({"$ref": "#"}, "$ref"),
        (
            {
                "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
                "items": {"$ref": "#/$defs/a"},
            },
            "$defs.a.allOf.0.$ref",
        ),
        ("object", ""),
        (None, ""),
        ([], ""),
    ],
)
@pytest.mark.parametrize("lenient", [False, True])
def test_what_is_no_schema_is_named_by_its_path(schema, path, lenient):
    """vllm#17248: a subschema that is not one took the server down."""
    with pytest.raises(SchemaFault) as caught:
        enforceable(schema, lenient=lenient)
    assert (".".join(map(str, caught.value.path)), caught.value.malformed) == (path, True)


@pytest.mark.parametrize("lenient", [False, True])
def test_size_and_depth_have_bounds(lenient):
    deep: dict = {}
    for _ in range(70):
        deep = {"items": deep}
    wide = {"anyOf": [{"type": "null"}] * 10_001}
    for schema in (deep, wide):
        with pytest.raises(SchemaFault, match="more than"):
            enforceable(schema, lenient=lenient)


@pytest.mark.parametrize(
    "schema, rest",
    [
        ({"type": "array", "uniqueItems": True}, {"type": "array"}),
        ({"properties": {"a": {"not": {}, "type": "null"}, "b": {}}}, {"properties": {"a": {"type": "null"}, "b": {}}}),
        ({"pattern": "(?=a)", "minLength": 2}, {"minLength": 2}),
        ({"$ref": "https://example.org/x"}, {}),
        ({"oneOf": [{}, {"type": "null"}]}, {"oneOf": [{}, {"type": "null"}]}),
        ({"patternProperties": {r"\bx": {}}, "additionalProperties": False}, {}),
    ],
)
def test_leniently_a_schema_loses_what_can_not_be_enforced_and_only_that(schema, rest):
    assert enforceable(schema, lenient=True) == rest


def test_leniently_exactly_one_becomes_at_least_one():
    loose = f"start: {json_value({'oneOf': [{'type': 'number'}, {'type': 'integer'}]}, lenient=True)}"
    assert accepts(loose, "1")
    assert not accepts(loose, '"1"')


def test_references_in_a_circle_of_branches_do_not_hang_the_comparison():
    schema = {
        "$defs": {
            "a": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/b"}}, {"type": "null"}]},
            "b": {"oneOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]},
        },
        "$ref": "#/$defs/b",
    }
    assert allowed(schema, "[null,{}]")


@pytest.mark.parametrize(
    "one, two",
    [
        ({"type": "string"}, {"type": ["integer", "null"]}),
        ({"const": 1}, {"enum": [2, True, "1"]}),
        ({"enum": ["a"]}, {"type": "integer"}),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, {"type": "null"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"oneOf": [{"type": "array"}, {"type": "object"}]}),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "integer"}}},
        ),
        ({"type": "object", "required": ["a"]}, {"type": "object", "properties": {}, "additionalProperties": False}),
        (False, True),
    ],
)
def test_branches_that_exclude_each_other_are_known(one, two):
    assert enforceable({"oneOf": [one, two]})
    assert enforceable({"oneOf": [two, one]})


@pytest.mark.parametrize(
    "one, two",
    [
        ({"const": 1}, {"const": 1.0}),
        ({"type": "integer"}, {"type": "number"}),
        ({"const": 1.0}, {"type": "integer"}),
        ({"type": "object", "properties": {"a": {"const": 1}}}, {"type": "object", "properties": {"a": {"const": 2}}}),
        (
            {"properties": {"a": {"const": 1}}, "required": ["a"]},
            {"properties": {"a": {"const": 2}}, "required": ["a"]},
        ),
        ({"enum": [[1], {"a": 1}]}, {"const": {"a": 1.0}}),
        ({}, {"type": "null"}),
        (True, {}),
    ],
)
def test_branches_that_may_hold_at_once_are_not_taken_for_exclusive(one, two):
    """In the fifth, a string satisfies both: ``required`` says nothing of it."""
    assert fault({"oneOf": [one, two]}) == ("oneOf", False)


def test_values_nested_deeper_than_a_body_are_refused_where_the_schema_came_as_text():
    deep = json.loads("[" * 400 + "]" * 400)
    for keyword in ("const", "default"):
        assert fault({keyword: deep}) == ("", True)
    assert enforceable({"const": json.loads("[" * 60 + "]" * 60)})


class TestTime:
    """Schemas come from strangers, and whoever checks them keeps everybody else waiting: a second is far above what each needs."""

    @pytest.fixture(autouse=True)
    def _limited(self) -> Iterator[None]:
        begun = process_time()
        yield
        assert process_time() - begun < 3

    def test_a_long_chain_of_references(self):
        chain = {f"a{number}": {"$ref": f"#/$defs/a{number + 1}"} for number in range(9000)}
        assert enforceable({"$ref": "#/$defs/a0", "$defs": {**chain, "a9000": {"type": "string"}}})

    def test_a_chain_that_comes_back(self):
        chain = {f"a{number}": {"$ref": f"#/$defs/a{(number + 1) % 9000}"} for number in range(9000)}
        assert fault({"$defs": chain})[1]

    def test_many_alternatives_of_many_values(self):
        branches = [{"enum": [f"{branch}-{value}" for value in range(3000)]} for branch in range(100)]
        assert fault({"oneOf": branches}) == ("oneOf", False)

    def test_many_alternatives_of_many_members(self):
        names = [str(number) for number in range(3000)]
        branches = [{"properties": {"k": {"const": tag}}, "required": ["k", *names]} for tag in range(150)]
        enforceable({"oneOf": [{"type": "object", **branch} for branch in branches]})
