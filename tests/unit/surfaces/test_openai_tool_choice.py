from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import ToolChoice, ToolMode, ToolSpec
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_tool_choice import FUNCTION_CALL, TOOL_CHOICE, TOOLING, Tooling, tooling
from dragoman.surfaces.readers import Place


def named(name: str) -> dict:
    return {"type": "function", "function": {"name": name}}


def allowed(mode: str, *names: str) -> dict:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [named(name) for name in names]}}


TOOLS = [named("f"), named("g"), named("h")]
SPECS = tuple(ToolSpec(name=name) for name in "fgh")
FUNCTIONS = [{"name": "f"}, {"name": "g"}]


def read(**body) -> Tooling:
    return tooling(Form(body, TOOLING, Place()))


def ignored(**body) -> tuple[str, ...]:
    form = Form(body, TOOLING, Place())
    tooling(form)
    return form.ignored


def refusal(**body) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read(**body)
    return caught.value


@pytest.mark.seeds("S119", "S121", "S122", "S127")
@pytest.mark.parametrize(
    "choice, mode, names, is_named",
    [
        (None, ToolMode.AUTO, (), False),
        ("auto", ToolMode.AUTO, (), False),
        ("required", ToolMode.REQUIRED, (), False),
        (named("g"), ToolMode.REQUIRED, ("g",), True),
        (allowed("auto", "h", "f"), ToolMode.AUTO, ("h", "f"), False),
        (allowed("required", "f", "g", "f"), ToolMode.REQUIRED, ("f", "g"), False),
        # One may be allowed without having been named: how the answer ends differs.
        (allowed("required", "f"), ToolMode.REQUIRED, ("f",), False),
    ],
)
@pytest.mark.parametrize("parallel", [True, False])
def test_each_choice_is_what_openai_means_by_it(choice, mode, names, is_named, parallel):
    offer = read(tools=TOOLS, tool_choice=choice, parallel_tool_calls=parallel)
    assert offer.tools == SPECS  # all of them, so that prompts which differ in the choice begin alike
    assert offer.choice == ToolChoice(mode=mode, names=names, parallel=parallel)
    assert (offer.named, offer.functions) == (is_named, False)


def test_calls_may_be_parallel_where_nothing_is_said():
    assert read(tools=TOOLS).choice.parallel is True


def test_none_offers_nothing_and_lists_what_is_then_pointless():
    """peers.md 15: no call is possible."""
    body = {"tools": TOOLS, "tool_choice": "none", "parallel_tool_calls": False}
    assert read(**body) == Tooling()
    assert set(ignored(**body)) == {"tools", "parallel_tool_calls"}


@pytest.mark.parametrize("body", [{}, {"tools": []}, {"tool_choice": "auto"}, {"tools": [], "tool_choice": "none"}])
def test_without_tools_there_is_nothing_to_say(body):
    assert read(**body) == Tooling()
    assert ignored(**body) == ()


@pytest.mark.parametrize("choice", ["required", named("f"), allowed("auto", "f"), allowed("required", "f")])
@pytest.mark.parametrize("tools", [{}, {"tools": []}, {"tools": None}])
def test_a_call_cannot_be_asked_for_where_there_are_no_tools(tools, choice):
    error = refusal(tool_choice=choice, **tools)
    assert (error.param, error.code) == ("tool_choice", Code.INVALID_VALUE)


@pytest.mark.parametrize("choice", [named("missing"), allowed("auto", "f", "missing")])
def test_a_tool_that_was_not_declared_is_refused_by_its_name(choice):
    """peers.md 16."""
    error = refusal(tools=TOOLS, tool_choice=choice)
    assert (error.param, error.code) == ("tool_choice", Code.INVALID_VALUE)
    assert "missing" in error.message


@pytest.mark.parametrize(
    "choice, param",
    [
        ("always", "tool_choice"),
        (True, "tool_choice"),
        ([], "tool_choice"),
        ({}, "tool_choice.type"),
        ({"type": "web_search"}, "tool_choice.type"),
        ({"type": "function"}, "tool_choice.function"),
        ({"type": "function", "function": {}}, "tool_choice.function.name"),
        ({"type": "function", "function": "f"}, "tool_choice.function"),
        ({"type": "allowed_tools"}, "tool_choice.allowed_tools"),
        ({"type": "allowed_tools", "allowed_tools": {"tools": [named("f")]}}, "tool_choice.allowed_tools.mode"),
        (allowed("none", "f"), "tool_choice.allowed_tools.mode"),
        (allowed("auto"), "tool_choice.allowed_tools.tools"),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": ["f"]}},
            "tool_choice.allowed_tools.tools.0",
        ),
    ],
)
def test_a_malformed_choice_is_named_by_its_path(choice, param):
    assert refusal(tools=TOOLS, tool_choice=choice).param == param
    assert not Draft202012Validator(TOOL_CHOICE.schema).is_valid(choice)


def test_a_choice_of_custom_tools_is_refused_where_it_says_so():
    error = refusal(tools=TOOLS, tool_choice={"type": "custom", "custom": {"name": "f"}})
    assert isinstance(error, Unsupported)
    assert error.param == "tool_choice.type"


@pytest.mark.parametrize("choice", ["none", "auto", "required", named("f"), allowed("required", "f", "g"), None])
def test_the_schema_takes_what_is_taken(choice):
    Draft202012Validator(TOOL_CHOICE.schema).validate(choice)
    read(tools=TOOLS, tool_choice=choice)


class TestTheOlderForm:
    @pytest.mark.parametrize(
        "choice, mode, names, is_named",
        [
            (None, ToolMode.AUTO, (), False),
            ("auto", ToolMode.AUTO, (), False),
            ({"name": "g"}, ToolMode.REQUIRED, ("g",), True),
        ],
    )
    def test_it_means_the_same_with_one_call_at_most(self, choice, mode, names, is_named):
        offer = read(functions=FUNCTIONS, function_call=choice)
        assert offer == Tooling(
            tools=SPECS[:2],
            choice=ToolChoice(mode=mode, names=names, parallel=False),
            named=is_named,
            functions=True,
        )
        assert ignored(functions=FUNCTIONS, parallel_tool_calls=True) == ("parallel_tool_calls",)

    def test_an_error_names_the_field_that_was_sent(self):
        older, newer = read(functions=FUNCTIONS).spelling, read(tools=TOOLS).spelling
        assert older == {"tools": "functions", "tool_choice": "function_call", "grammar": "functions"}
        assert newer == {"tools": "tools", "tool_choice": "tool_choice", "grammar": "tools"}

    @pytest.mark.parametrize(
        "body, param",
        [
            ({"function_call": {"name": "f"}}, "function_call"),
            ({"functions": FUNCTIONS, "function_call": {"name": "missing"}}, "function_call"),
            ({"functions": FUNCTIONS, "function_call": "required"}, "function_call"),
            ({"functions": FUNCTIONS, "function_call": {}}, "function_call.name"),
            ({"functions": [{"name": "f", "parameters": {"properties": 5}}]}, "functions.0.parameters.properties"),
            ({"functions": FUNCTIONS, "tools": TOOLS}, "functions"),
        ],
    )
    def test_a_fault_is_named_by_its_path(self, body, param):
        assert refusal(**body).param == param

    def test_it_may_be_sent_beside_the_newer_one_where_one_of_them_is_forbidden(self):
        """As the tests of OpenAI's own SDK do, with a schema of no known keyword."""
        schema = {"parameters": {"foo": "bar"}}
        tool = {"type": "function", "function": {"name": "f", "strict": True, **schema}}
        body = {"functions": [{"name": "f", **schema}], "function_call": "none", "tools": [tool]}
        assert read(**body, tool_choice="none") == Tooling()
        assert read(functions=FUNCTIONS, tools=TOOLS, tool_choice="none").functions is True

    @pytest.mark.parametrize("choice", ["none", "auto", {"name": "f"}, None])
    def test_the_schema_takes_what_is_taken(self, choice):
        Draft202012Validator(FUNCTION_CALL.schema).validate(choice)
        read(functions=FUNCTIONS, function_call=choice)
