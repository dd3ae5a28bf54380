from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.shared_params import FunctionDefinition

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import ToolSpec
from dragoman.surfaces.fields import Form, Table
from dragoman.surfaces.openai_tools import FUNCTION_FIELDS, FUNCTIONS, TOOL_FIELDS, TOOLS, check_schemas
from dragoman.surfaces.readers import Place

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather now.", "parameters": CITY, "strict": True}


def read(*tools, at: Place | None = None) -> tuple[ToolSpec, ...]:
    return Form({"tools": list(tools)}, Table(TOOLS), at or Place()).require(TOOLS)


def tool(**fields) -> dict:
    return {"type": "function", "function": {"name": "f", **fields}}


def refusal(*tools) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read(*tools)
    return caught.value


@pytest.mark.seeds("S119")
def test_a_tool_is_a_function_with_a_name_and_what_it_takes():
    expected = ToolSpec(name="get_weather", description="Weather now.", parameters=CITY, strict=True)
    assert read({"type": "function", "function": WEATHER}) == (expected,)
    older = Form({"functions": [WEATHER]}, Table(FUNCTIONS), Place()).require(FUNCTIONS)
    assert older == (expected,)


@pytest.mark.parametrize("nothing", [{}, {"description": None, "parameters": None, "strict": None}])
def test_all_but_the_name_may_be_absent_or_null(nothing):
    assert read(tool(**nothing)) == (ToolSpec(name="f", description="", parameters=None, strict=False),)


@pytest.mark.parametrize(
    "official, table", [(ChatCompletionFunctionToolParam, TOOL_FIELDS), (FunctionDefinition, FUNCTION_FIELDS)]
)
def test_every_field_of_openais_tools_has_a_row(official, table):
    assert set(official.__annotations__) <= {row.name for row in table}


@pytest.mark.parametrize("name", ["f", "get_weather-2", "mcp.server.tool", "x" * 64])
def test_names_that_openai_takes_and_dots_are_taken(name):
    assert read(tool(name=name))[0].name == name


@pytest.mark.parametrize(
    "wrong, param, code",
    [
        ({"type": "function"}, "tools.0.function", Code.MISSING_FIELD),
        ({"type": "function", "name": "f"}, "tools.0.function", Code.MISSING_FIELD),
        ({"type": "function", "function": {}}, "tools.0.function.name", Code.MISSING_FIELD),
        (tool(name=""), "tools.0.function.name", Code.INVALID_VALUE),
        (tool(name="x" * 65), "tools.0.function.name", Code.INVALID_VALUE),
        (tool(name="a b"), "tools.0.function.name", Code.INVALID_VALUE),
        (tool(name="a\n"), "tools.0.function.name", Code.INVALID_VALUE),
        (tool(name="é"), "tools.0.function.name", Code.INVALID_VALUE),
        (tool(description=5), "tools.0.function.description", Code.INVALID_VALUE),
        (tool(description="a\0"), "tools.0.function.description", Code.INVALID_VALUE),
        (tool(parameters=[]), "tools.0.function.parameters", Code.INVALID_VALUE),
        (tool(parameters={"type": "string"}), "tools.0.function.parameters.type", Code.INVALID_VALUE),
        (tool(parameters={"type": ["object", "null"]}), "tools.0.function.parameters.type", Code.INVALID_VALUE),
        (tool(strict="yes"), "tools.0.function.strict", Code.INVALID_VALUE),
        (5, "tools.0", Code.INVALID_VALUE),
        ({"type": 5}, "tools.0.type", Code.INVALID_VALUE),
    ],
)
def test_a_fault_is_named_by_its_path(wrong, param, code):
    error = refusal(wrong)
    assert (error.param, error.code) == (param, code)


@pytest.mark.parametrize(
    "other, param",
    [
        ({"type": "custom", "custom": {"name": "f"}}, "tools.0.custom"),
        ({"type": "web_search_preview"}, "tools.0.type"),
        ({"type": "mcp", "server_url": "https://example.org"}, "tools.0.type"),
    ],
)
def test_tools_that_are_no_functions_are_refused_where_they_stand(other, param):
    error = refusal(other)
    assert isinstance(error, Unsupported)
    assert error.param == param


def test_two_functions_of_one_name_are_refused_at_the_second():
    assert refusal(tool(), tool(name="g"), tool()).param == "tools.2.function.name"
    with pytest.raises(InvalidRequest) as caught:
        Form({"functions": [{"name": "f"}, {"name": "f"}]}, Table(FUNCTIONS), Place()).require(FUNCTIONS)
    assert caught.value.param == "functions.1.name"


def test_there_may_be_128_of_them():
    """OpenAI's bound."""
    many = [tool(name=f"f{index}") for index in range(129)]
    assert len(read(*many[:128])) == 128
    assert refusal(*many).param == "tools"


def test_what_a_tool_has_beside_is_listed_once():
    place = Place()
    read(tool(input_examples=[]) | {"cache_control": {}}, tool(name="g") | {"cache_control": {}}, at=place)
    assert sorted(place.ignored) == ["tools.*.cache_control", "tools.*.function.input_examples"]


class TestSchemas:
    def fault(self, *functions: ToolSpec) -> InvalidRequest | None:
        try:
            check_schemas(functions, Place().child("tools"), "function")
        except InvalidRequest as error:
            return error
        return None

    def test_a_schema_that_is_none_is_refused_where_it_is_wrong(self):
        """peers.md 76."""
        fault = self.fault(
            ToolSpec(name="a", parameters=CITY), ToolSpec(name="b", parameters={"properties": {"foo": "bar"}})
        )
        assert fault is not None
        assert (fault.param, fault.code) == ("tools.1.function.parameters.properties.foo", Code.INVALID_VALUE)

    def test_a_strict_schema_that_cannot_be_enforced_is_refused_by_its_keyword(self):
        schema = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
        fault = self.fault(ToolSpec(name="a", parameters=schema, strict=True))
        assert isinstance(fault, Unsupported)
        assert fault.param == "tools.0.function.parameters.properties.a.not"

    def test_another_one_costs_no_other_tool_its_own(self):
        schema = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
        assert self.fault(ToolSpec(name="a", parameters=schema), ToolSpec(name="b", parameters=CITY)) is None

    @pytest.mark.parametrize("parameters", [None, {}, CITY, {**CITY, "$schema": "x", "$id": "urn:a", "strict": True}])
    @pytest.mark.parametrize("strict", [True, False])
    def test_what_sdks_write_is_taken(self, parameters, strict):
        """peers.md 81."""
        assert self.fault(ToolSpec(name="a", parameters=parameters, strict=strict)) is None


@pytest.mark.parametrize(
    "tools, fits",
    [
        ([tool()], True),
        ([{"type": "function", "function": WEATHER}], True),
        (None, True),
        ([tool(name="a b")], False),
        ([tool(parameters={"type": "string"})], False),
        ([{"type": "custom"}], False),
        ([tool(name=f"f{index}") for index in range(129)], False),
    ],
)
def test_the_schema_says_the_same(tools, fits):
    assert Draft202012Validator(TOOLS.schema).is_valid(tools) is fits
