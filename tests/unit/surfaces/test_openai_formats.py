from __future__ import annotations

import json

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import ChoiceFormat, GrammarFormat, JsonFormat, OutputFormat, RegexFormat
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions
from dragoman.surfaces.openai_formats import FORMATS, Format, output_format
from dragoman.surfaces.readers import Place

SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["b"]}
GBNF = 'root ::= "a" | "b"'
LARK = 'start: "a" | "b"'
SURFACES = [
    (ChatCompletions(), {"messages": [{"role": "user", "content": "hi"}]}),
    (Completions(), {"prompt": "hi"}),
]


def read(**body) -> Format:
    return output_format(Form(body, FORMATS, Place()))


def refusal(**body) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read(**body)
    return caught.value


def response_format(kind: str, **more):
    return {"response_format": {"type": kind, **more}}


@pytest.mark.parametrize(
    "body, output",
    [
        (response_format("json_object"), JsonFormat()),
        (response_format("json_object", schema=SCHEMA), JsonFormat(schema=SCHEMA)),
        (response_format("json_schema", json_schema={"name": "n", "schema": SCHEMA}), JsonFormat(schema=SCHEMA)),
        (
            response_format("json_schema", json_schema={"name": "n", "schema": {}, "strict": True, "description": "d"}),
            JsonFormat(schema={}),
        ),
        (response_format("json_schema", schema=SCHEMA), JsonFormat(schema=SCHEMA)),
        (response_format("regex", regex="a+"), RegexFormat(pattern="a+")),
        (response_format("grammar", grammar=GBNF), GrammarFormat(source=GBNF, syntax="gbnf")),
        ({"structured_outputs": {"json": SCHEMA}}, JsonFormat(schema=SCHEMA)),
        ({"structured_outputs": {"json": json.dumps(SCHEMA)}}, JsonFormat(schema=SCHEMA)),
        ({"structured_outputs": {"regex": "a+"}}, RegexFormat(pattern="a+")),
        ({"structured_outputs": {"choice": ["a", "b"]}}, ChoiceFormat(options=("a", "b"))),
        ({"structured_outputs": {"grammar": LARK}}, GrammarFormat(source=LARK, syntax="lark")),
        ({"structured_outputs": {"json_object": True}}, JsonFormat()),
        ({"structured_outputs": {"regex": "a", "json_object": False}}, RegexFormat(pattern="a")),
        ({"guided_json": SCHEMA}, JsonFormat(schema=SCHEMA)),
        ({"guided_json": "true"}, JsonFormat(schema=True)),
        ({"guided_regex": "a+"}, RegexFormat(pattern="a+")),
        ({"guided_choice": ["a"]}, ChoiceFormat(options=("a",))),
        ({"guided_grammar": GBNF}, GrammarFormat(source=GBNF, syntax="gbnf")),
        ({"json_schema": SCHEMA}, JsonFormat(schema=SCHEMA)),
        ({"json_schema": json.dumps(SCHEMA)}, JsonFormat(schema=SCHEMA)),
        ({"grammar": GBNF}, GrammarFormat(source=GBNF, syntax="gbnf")),
        (
            {"grammar": '%llguidance {}\nstart: "::="'},
            GrammarFormat(source='%llguidance {}\nstart: "::="', syntax="lark"),
        ),
        ({"regex": "a+"}, RegexFormat(pattern="a+")),
        ({"ebnf": GBNF}, GrammarFormat(source=GBNF, syntax="gbnf")),
    ],
)
@pytest.mark.seeds("S58", "S60")
def test_every_client_s_spelling_is_one_format(body, output: OutputFormat):
    (field,) = body
    assert read(**body) == Format(output=output, spelling={"output": field, "grammar": field})
    for surface, rest in SURFACES:
        call = surface.parse(rest | body)
        assert call.operation.output == output
        assert (call.spelling["output"], call.spelling["grammar"]) == (field, field)


@pytest.mark.seeds("S58")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"response_format": None},
        {"response_format": {}},
        {"response_format": {"type": None}},
        response_format("text"),
        {"structured_outputs": {}},
        {"structured_outputs": {"json": None, "json_object": False}},
        {"structured_outputs": None, "guided_json": None, "grammar": None},
        {"grammar": ""},
    ],
)
def test_what_asks_for_nothing_is_no_format(body):
    assert read(**body).output is None


def test_a_schema_keeps_the_order_of_its_properties():
    output = read(guided_json=json.dumps(SCHEMA)).output
    assert isinstance(output, JsonFormat)
    assert list(output.schema["properties"]) == ["b", "a"]


@pytest.mark.parametrize(
    "body, names",
    [
        ({**response_format("json_object"), "guided_regex": "a"}, ("response_format", "guided_regex")),
        ({"regex": "a", "ebnf": GBNF}, ("regex", "ebnf")),
        ({"json_schema": {}, "grammar": GBNF}, ("json_schema", "grammar")),
        (
            {"structured_outputs": {"regex": "a", "choice": ["a"]}},
            ("structured_outputs.regex", "structured_outputs.choice"),
        ),
        (
            {"structured_outputs": {"json": {}, "json_object": True}},
            ("structured_outputs.json", "structured_outputs.json_object"),
        ),
    ],
)
def test_two_formats_are_refused_and_both_named(body, names):
    error = refusal(**body)
    assert error.code is Code.INVALID_VALUE
    assert error.param == names[1]
    assert all(name in error.message for name in names)


@pytest.mark.parametrize(
    "body, param",
    [
        ({"response_format": "json_object"}, "response_format"),
        (response_format("xml"), "response_format.type"),
        ({"response_format": {"type": 1}}, "response_format.type"),
        (response_format("regex", regex=""), "response_format.regex"),
        (response_format("json_schema", json_schema={"schema": 3}), "response_format.json_schema.schema"),
        (
            response_format("json_schema", json_schema={"schema": {"properties": {"foo": "bar"}}}),
            "response_format.json_schema.schema.properties.foo",
        ),
        (
            response_format("json_schema", json_schema={"schema": {}, "strict": "yes"}),
            "response_format.json_schema.strict",
        ),
        ({"guided_json": "{"}, "guided_json"),
        ({"guided_json": "[" * 100_000}, "guided_json"),
        ({"guided_json": "[1]"}, "guided_json"),
        ({"guided_choice": []}, "guided_choice"),
        ({"guided_choice": "ab"}, "guided_choice"),
        ({"guided_choice": ["a", 1]}, "guided_choice.1"),
        ({"structured_outputs": {"choice": ["a"] * 4097}}, "structured_outputs.choice"),
        ({"grammar": "root ::= ("}, "grammar"),
        ({"ebnf": "root ::= x"}, "ebnf"),
        ({"grammar": "x" * (512 * 1024 + 1)}, "grammar"),
        ({"guided_choice": ["x" * 600_000]}, "guided_choice"),
    ],
)
def test_what_is_no_format_is_refused_at_its_path(body, param):
    """llama.cpp#24144: an invalid grammar was ignored. vllm#17248: so was a schema that is none, until it hurt."""
    error = refusal(**body)
    assert (error.param, error.code) == (param, Code.INVALID_VALUE)
    assert param in error.message


@pytest.mark.parametrize(
    "body, param",
    [
        (response_format("json_schema"), "response_format.json_schema"),
        (response_format("json_schema", json_schema={"name": "n"}), "response_format.json_schema.schema"),
        (response_format("regex"), "response_format.regex"),
        (response_format("grammar"), "response_format.grammar"),
    ],
)
def test_what_a_kind_needs_must_be_there(body, param):
    error = refusal(**body)
    assert (error.param, error.code) == (param, Code.MISSING_FIELD)


@pytest.mark.seeds("S58", "S60")
@pytest.mark.parametrize(
    "body, param",
    [
        (response_format("structural_tag"), "response_format.type"),
        ({"structured_outputs": {"structural_tag": "{}"}}, "structured_outputs.structural_tag"),
        (
            response_format("json_schema", json_schema={"schema": {"properties": {"x": {"not": {}}}}}),
            "response_format.json_schema.schema.properties.x.not",
        ),
        ({"guided_json": {"items": {"pattern": "(?<=x)+"}}}, "guided_json.items.pattern"),
        ({"json_schema": {"pattern": "(" * 10_000}}, "json_schema.pattern"),
        ({"structured_outputs": {"json": {"uniqueItems": True}}}, "structured_outputs.json.uniqueItems"),
        ({"guided_json": False}, "guided_json"),
        ({"regex": r"\bfoo"}, "regex"),
        ({"guided_regex": "(?!a)b"}, "guided_regex"),
    ],
)
def test_what_can_not_be_enforced_is_refused_by_its_path(body, param):
    """llama.cpp#19051 answered such schemas with 200 and free text."""
    error = refusal(**body)
    assert isinstance(error, Unsupported)
    assert error.param == param
    assert param in error.message


def test_what_steers_another_server_s_engine_is_listed():
    form = Form(
        {"structured_outputs": {"json": {}, "whitespace_pattern": " ?"}, "grammar_lazy": True}, FORMATS, Place()
    )
    assert output_format(form).output == JsonFormat(schema={})
    assert set(form.ignored) == {"structured_outputs.whitespace_pattern", "grammar_lazy"}
