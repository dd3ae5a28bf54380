from __future__ import annotations

import re

import pytest

from dragoman.core.errors import InvalidRequest, Unsupported
from dragoman.core.limits import MAX_TOOL_NAME_CHARS, MAX_TOOLS
from dragoman.core.request import ToolChoice, ToolMode, ToolSpec
from dragoman.surfaces.responses_call import CallableTool
from support.responses import call_of, messages_of, refusal

SCHEMA = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
LOOKBEHIND = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?<=x)y"}}}


def function(name: str = "f", **rest: object) -> dict:
    return {"type": "function", "name": name, **rest}


def custom(name: str = "c", **rest: object) -> dict:
    return {"type": "custom", "name": name, **rest}


def grammar(syntax: str, definition: str) -> dict:
    return {"type": "grammar", "syntax": syntax, "definition": definition}


def namespace(name: str, *tools: dict) -> dict:
    return {"type": "namespace", "name": name, "description": "", "tools": list(tools)}


def offered(*tools: dict, **body) -> tuple[ToolSpec, ...]:
    return call_of(tools=list(tools), **body).operation.prompt.tools


def names(*tools: dict) -> dict[str, CallableTool]:
    return dict(call_of(tools=list(tools)).tools)


@pytest.mark.seeds("S119")
def test_a_function_is_flat_and_is_offered_as_it_is():
    asked = call_of(tools=[function("run", description="Runs.", parameters=SCHEMA, strict=True)])
    assert asked.operation.prompt.tools == (ToolSpec(name="run", description="Runs.", parameters=SCHEMA, strict=True),)
    assert asked.tools == {"run": CallableTool(name="run")}
    assert asked.ignored == ()


def test_strict_that_is_left_out_turns_no_request_away():
    # OpenAI falls back where a schema cannot be enforced (its SDK's NamespaceToolParam says so).
    for said in ({}, {"strict": None}, {"strict": False}):
        assert offered(function(parameters=LOOKBEHIND, **said))[0].strict is False
    caught = refusal(tools=[function(parameters=LOOKBEHIND, strict=True)])
    assert (type(caught), caught.param) == (Unsupported, "tools.0.parameters.properties.a.pattern")


def test_a_custom_tool_is_a_function_of_one_text():
    asked = call_of(tools=[custom("note", description="Notes.")])
    assert asked.operation.prompt.tools == (
        ToolSpec(
            name="note",
            description="Notes.",
            parameters={
                "type": "object",
                "properties": {"input": {"type": "string"}},
                "required": ["input"],
                "additionalProperties": False,
            },
        ),
    )
    assert asked.tools == {"note": CallableTool(name="note", kind="custom")}
    assert offered(custom(format={"type": "text"}), input="hi")[0].strict is False


@pytest.mark.parametrize(
    "format, taken, others",
    [
        (grammar("regex", "[a-z]+!"), ["hey!"], ["hey", "x hey!"]),
        (grammar("lark", 'start: "do " WORD\nWORD: /[a-z]+/'), ["do it"], ["do", "do it now"]),
        (grammar("lark", r'start: A | A "\n" B' + "\nA: /[^\\n]+/\nB: /[\\s\\S]+/"), ["one", "one\n\ntwo"], [""]),
    ],
)
def test_the_grammar_of_a_custom_tool_is_a_pattern_that_must_hold(format, taken, others):
    (tool,) = offered(custom(format=format))
    assert tool.strict is True
    pattern = tool.parameters["properties"]["input"]["pattern"]
    judge = re.compile(pattern.removesuffix("$") + r"\Z")
    assert [text for text in taken if not judge.search(text)] == []
    assert [text for text in others if judge.search(text)] == []


@pytest.mark.parametrize(
    "format, param",
    [
        (grammar("lark", 'start: "(" start ")" | "x"'), "tools.0.format.definition"),
        (grammar("lark", "start: ("), "tools.0.format.definition"),
        (grammar("regex", "(?<=a)b"), "tools.0.format.definition"),
        (grammar("bnf", "x"), "tools.0.format.syntax"),
        ({"type": "grammar", "syntax": "lark"}, "tools.0.format.definition"),
        ({"type": "json"}, "tools.0.format.type"),
        ("text", "tools.0.format"),
    ],
)
def test_a_grammar_that_cannot_be_enforced_is_refused_by_name(format, param):
    assert refusal(tools=[custom(format=format)]).param == param


def test_a_tool_in_a_namespace_keeps_its_name_where_no_other_has_it():
    assert names(function("run"), namespace("agents", function("spawn"), custom("patch"))) == {
        "run": CallableTool(name="run"),
        "spawn": CallableTool(name="spawn", namespace="agents"),
        "patch": CallableTool(name="patch", namespace="agents", kind="custom"),
    }


def test_tools_of_one_name_are_told_apart_by_their_namespaces():
    tools = [function("run"), namespace("a", function("run"), function("x")), namespace("b", function("x"))]
    assert names(*tools) == {
        "run": CallableTool(name="run"),
        "a__run": CallableTool(name="run", namespace="a"),
        "a__x": CallableTool(name="x", namespace="a"),
        "b__x": CallableTool(name="x", namespace="b"),
    }
    assert [tool.name for tool in offered(*tools)] == ["run", "a__run", "a__x", "b__x"]


def test_joined_names_are_short_and_all_different():
    long = "n" * MAX_TOOL_NAME_CHARS
    tools = [
        function(long),
        namespace("a", function(long)),
        namespace("b", function(long)),
        function("c__x"),
        namespace("c", function("x")),
        function("x"),
    ]
    shown = names(*tools)
    assert len(shown) == len(tools)
    assert {len(name) <= MAX_TOOL_NAME_CHARS for name in shown} == {True}
    assert {(tool.namespace, tool.name) for tool in shown.values()} == {
        (None, long),
        ("a", long),
        ("b", long),
        (None, "c__x"),
        ("c", "x"),
        (None, "x"),
    }


def test_a_call_of_a_namespaced_tool_comes_back_under_the_name_that_the_model_used():
    tools = [function("x"), namespace("a", function("x"))]
    calls = [
        {"type": "function_call", "call_id": "1", "name": "x", "namespace": "a", "arguments": "{}"},
        {"type": "function_call", "call_id": "2", "name": "x", "arguments": "{}"},
        {"type": "function_call", "call_id": "3", "name": "gone", "namespace": "a", "arguments": "{}"},
    ]
    (answer,) = messages_of(*calls, tools=tools)
    assert [call.name for call in answer.tool_calls] == ["a__x", "x", "gone"]


@pytest.mark.parametrize(
    "tool, listed",
    [
        ({"type": "web_search", "external_web_access": True}, "tools.*.web_search"),
        ({"type": "web_search_preview"}, "tools.*.web_search_preview"),
        ({"type": "code_interpreter", "container": {"type": "auto"}}, "tools.*.code_interpreter"),
        ({"type": "mcp", "server_label": "s", "server_url": "https://example.com"}, "tools.*.mcp"),
        ({"type": "image_generation"}, "tools.*.image_generation"),
        ({"type": "file_search", "vector_store_ids": ["v"]}, "tools.*.file_search"),
        ({"type": "computer"}, "tools.*.computer"),
        ({"type": "tool_search"}, "tools.*.tool_search"),
        ({"type": "never seen\r\n"}, "tools.*.never seen\\r\\n"),
    ],
)
def test_tools_that_only_a_platform_can_run_are_left_out_and_listed(tool, listed):
    asked = call_of(tools=[function("f"), tool])
    assert [tool.name for tool in asked.operation.prompt.tools] == ["f"]
    assert asked.ignored == (listed,)
    assert [tool["type"] for tool in asked.echo["tools"]] == ["function"]


def test_tools_may_come_in_an_item():
    item = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [namespace("n", custom("exec"), function("wait"))],
    }
    asked = call_of(input=[item, {"role": "user", "content": "x"}], tool_choice={"type": "custom", "name": "exec"})
    assert [tool.name for tool in asked.operation.prompt.tools] == ["exec", "wait"]
    assert asked.tools["exec"] == CallableTool(name="exec", kind="custom", namespace="n")
    assert [message.text for message in asked.operation.prompt.messages] == ["x"]
    assert (asked.echo["tools"], asked.ignored) == ([], ("input.*.tools.*.description",))
    # They are on offer in the turns that follow, too, and the newest definition holds.
    later = call_of(history=[item | {"id": "at_1"}], tools=[function("f")])
    assert set(later.tools) == {"exec", "wait", "f"}
    newer = {"type": "additional_tools", "tools": [namespace("n", function("wait", description="new"))]}
    again = call_of(history=[item | {"id": "at_1"}], input=[newer, {"role": "user", "content": "x"}])
    assert [tool.description for tool in again.operation.prompt.tools if tool.name == "wait"] == ["new"]


def test_tools_that_a_search_found_are_on_offer():
    items = [
        {"role": "user", "content": "x"},
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "status": "completed", "tools": [function("found")]},
    ]  # fmt: skip
    assert set(call_of(input=items).tools) == {"found"}


def test_a_deferred_tool_is_offered_at_once_and_that_is_listed():
    asked = call_of(tools=[function("f", defer_loading=True)])
    assert [(tool.name, tool.deferred) for tool in asked.operation.prompt.tools] == [("f", False)]
    assert asked.ignored == ("tools.*.defer_loading",)


@pytest.mark.parametrize(
    "tools, param",
    [
        ([{"name": "f"}], "tools.0.type"),
        ([{"type": 5}], "tools.0.type"),
        (["f"], "tools.0"),
        ("f", "tools"),
        ([{"type": "function"}], "tools.0.name"),
        ([{"type": "function", "function": {"name": "f"}}], "tools.0.name"),
        ([function("a b")], "tools.0.name"),
        ([function("x" * 65)], "tools.0.name"),
        ([function(parameters={"type": "array"})], "tools.0.parameters.type"),
        ([function(parameters={"properties": {"a": "b"}})], "tools.0.parameters.properties.a"),
        ([function("f"), function("f")], "tools.1.name"),
        ([function("f"), custom("f")], "tools.1.name"),
        ([namespace("n", function("f"), function("f"))], "tools.0.tools.1.name"),
        ([{"type": "namespace", "name": "n"}], "tools.0.tools"),
        ([{"type": "namespace", "tools": []}], "tools.0.name"),
        ([namespace("n", {"type": "web_search"})], "tools.0.tools.0.type"),
        ([function(f"f{n}") for n in range(MAX_TOOLS + 1)], "tools"),
    ],
)
def test_a_malformed_tool_is_refused_at_its_path(tools, param):
    assert refusal(tools=tools).param == param


def test_namespaces_do_not_get_around_the_bound():
    half = MAX_TOOLS // 2 + 1
    tools = [namespace(name, *(function(f"f{n}") for n in range(half))) for name in "ab"]
    assert "128" in refusal(tools=tools).message


@pytest.mark.seeds("S119", "S127")
@pytest.mark.parametrize(
    "choice, mode, chosen, named",
    [
        (None, ToolMode.AUTO, (), False),
        ("auto", ToolMode.AUTO, (), False),
        ("required", ToolMode.REQUIRED, (), False),
        ({"type": "function", "name": "f"}, ToolMode.REQUIRED, ("f",), True),
        ({"type": "custom", "name": "c"}, ToolMode.REQUIRED, ("c",), True),
        ({"type": "function", "name": "y"}, ToolMode.REQUIRED, ("y",), True),
        ({"type": "function", "name": "f", "namespace": "n"}, ToolMode.REQUIRED, ("n__f",), True),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "c"}, {"type": "function", "name": "f"}]},
            ToolMode.AUTO,
            ("c", "f"),
            False,
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
            ToolMode.REQUIRED,
            ("f",),
            False,
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("parallel", [True, False])
def test_each_choice_is_what_openai_means_by_it(choice, mode, chosen, named, parallel):
    tools = [function("f"), custom("c"), namespace("n", function("f"), function("y"))]
    asked = call_of(tools=tools, tool_choice=choice, parallel_tool_calls=parallel)
    assert asked.operation.prompt.tool_choice == ToolChoice(mode=mode, names=chosen, parallel=parallel)
    assert asked.named_call is named
    assert asked.echo["tool_choice"] == (choice or "auto")
    assert asked.echo["parallel_tool_calls"] is parallel


def test_with_none_the_tools_are_left_out():
    asked = call_of(tools=[function()], tool_choice="none", parallel_tool_calls=False, strict_tool_calls=True)
    assert (asked.operation.prompt.tools, asked.operation.prompt.tool_choice) == ((), ToolChoice())
    assert asked.operation.strict_tool_calls is False
    assert set(asked.ignored) == {"tools", "parallel_tool_calls", "strict_tool_calls"}
    assert [tool["name"] for tool in asked.echo["tools"]] == ["f"]


def test_without_tools_what_is_said_of_calls_is_listed():
    assert call_of(parallel_tool_calls=True, tool_choice="auto").ignored == ("parallel_tool_calls",)
    assert call_of(tools=[], tool_choice="none").ignored == ()
    assert call_of(tools=[function()], strict_tool_calls=True).operation.strict_tool_calls is True


@pytest.mark.seeds("S127")
@pytest.mark.parametrize(
    "choice, param",
    [
        ("any", "tool_choice"),
        (5, "tool_choice"),
        ({"type": "web_search_preview"}, "tool_choice.type"),
        ({"type": "mcp", "server_label": "s"}, "tool_choice.type"),
        ({"type": "apply_patch"}, "tool_choice.type"),
        ({}, "tool_choice.type"),
        ({"type": "function"}, "tool_choice.name"),
        ({"type": "function", "name": "missing"}, "tool_choice"),
        ({"type": "function", "name": "f", "namespace": "missing"}, "tool_choice"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "tool_choice.tools"),
        ({"type": "allowed_tools", "mode": "none", "tools": [{"type": "function", "name": "f"}]}, "tool_choice.mode"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]}, "tool_choice.tools.0.type"),
    ],
)
def test_a_choice_that_cannot_be_kept_is_refused_by_name(choice, param):
    assert refusal(tools=[function("f"), {"type": "web_search_preview"}], tool_choice=choice).param == param


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "f"}])
@pytest.mark.parametrize("tools", [None, [], [{"type": "web_search"}]])
def test_a_call_cannot_be_asked_for_where_nothing_can_be_called(tools, choice):
    assert refusal(tools=tools, tool_choice=choice).param == "tool_choice"


def test_a_name_that_several_namespaces_have_must_be_told_apart():
    tools = [namespace("a", function("x")), namespace("b", function("x"))]
    caught = refusal(tools=tools, tool_choice={"type": "function", "name": "x"})
    assert isinstance(caught, InvalidRequest)
    assert "namespace" in caught.message
    asked = call_of(tools=tools, tool_choice={"type": "function", "name": "x", "namespace": "b"})
    assert asked.operation.prompt.tool_choice.names == ("b__x",)


def test_namespaces_are_repeated_as_they_were_sent():
    tools = [namespace("a", function("x"), custom("y")) | {"description": "Of a."}, function("f")]
    assert call_of(tools=tools).echo["tools"] == [
        {
            "type": "namespace",
            "name": "a",
            "description": "Of a.",
            "tools": [
                {"type": "function", "name": "x", "description": None, "parameters": None, "strict": False},
                {"type": "custom", "name": "y", "format": {"type": "text"}},
            ],
        },
        {"type": "function", "name": "f", "description": None, "parameters": None, "strict": False},
    ]
