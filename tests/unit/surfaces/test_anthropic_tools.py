from __future__ import annotations

import json
from typing import get_args

import pytest
from anthropic.types.beta import BetaToolUnionParam
from jsonschema import Draft202012Validator
from typing_extensions import get_type_hints

from dragoman.core.errors import InvalidRequest, Unsupported
from dragoman.core.request import Role, ToolChoice, ToolMode, ToolSpec
from dragoman.surfaces.anthropic_client_tools import CLIENT_TOOLS
from dragoman.surfaces.anthropic_messages import Messages

HELLO = {"role": "user", "content": "hi"}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"url": {"type": "string", "format": "uri"}},
    "required": ["url"],
    "additionalProperties": False,
}


def tool(name: str, **more: object) -> dict:
    return {"name": name, "description": f"Does {name}.", "input_schema": SCHEMA, **more}


def parse(*tools: object, choice: object = None, turns: tuple[dict, ...] = (HELLO,), strict: bool = False):
    body = {"messages": list(turns), "tools": list(tools), "tool_choice": choice}
    return Messages().parse(body, strict=strict)


def offered(*tools: object, **how: object) -> list[ToolSpec]:
    return list(parse(*tools, **how).operation.prompt.tools)


def refused_at(path: str, *tools: object, match: str | None = None, **how: object) -> InvalidRequest:
    with pytest.raises(InvalidRequest, match=match) as caught:
        parse(*tools, **how)
    assert caught.value.param == path
    return caught.value


@pytest.mark.seeds("S119")
class TestTools:
    @pytest.mark.parametrize("kind", [{}, {"type": "custom"}, {"type": None}])
    def test_a_tool_of_the_clients_is_a_function(self, kind):
        spec = ToolSpec(name="fetch", description="Does fetch.", parameters=SCHEMA)
        assert offered(tool("fetch", **kind)) == [spec]

    def test_a_strict_one_is_enforced_whole(self):
        assert offered(tool("fetch", strict=True))[0].strict is True
        unenforceable = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
        error = refused_at(
            "tools.1.input_schema.properties.a.uniqueItems",
            tool("fetch"),
            {"name": "f", "input_schema": unenforceable, "strict": True},
        )
        assert isinstance(error, Unsupported)
        assert offered({"name": "f", "input_schema": unenforceable})[0].parameters == unenforceable

    def test_hints_are_listed(self):
        hints = {"eager_input_streaming": True, "input_examples": [{"url": "x"}], "allowed_callers": ["direct"]}
        call = parse(tool("fetch", **hints))
        assert call.ignored == tuple(f"tools.*.{hint}" for hint in hints)
        assert call.operation == parse(tool("fetch")).operation

    def test_a_name_may_have_128_characters(self):
        assert offered(tool("x" * 128))[0].name == "x" * 128
        refused_at("tools.0.name", tool("x" * 129))

    @pytest.mark.parametrize(
        "wrong, path",
        [
            ({"input_schema": SCHEMA}, "tools.0.name"),
            ({"name": "f"}, "tools.0.input_schema"),
            ({"name": "a b", "input_schema": SCHEMA}, "tools.0.name"),
            ({"name": "f", "input_schema": {"type": "array"}}, "tools.0.input_schema.type"),
            ({"name": "f", "input_schema": {"type": "object", "properties": 5}}, "tools.0.input_schema.properties"),
            ({"name": "f", "input_schema": SCHEMA, "type": "thing"}, "tools.0.type"),
            ({"name": "f", "input_schema": SCHEMA, "type": 5}, "tools.0.type"),
            ("f", "tools.0"),
        ],
    )
    def test_what_is_no_tool_is_refused_at_its_path(self, wrong, path):
        refused_at(path, wrong)

    def test_two_of_one_name_are_refused(self):
        refused_at("tools.1.name", tool("f"), tool("f"), match="another tool")

    def test_more_than_128_at_a_time_are_refused_and_deferred_ones_wait(self):
        many = [tool(f"f{index}") for index in range(128)]
        assert len(offered(*many, *(tool(f"d{index}", defer_loading=True) for index in range(500)))) == 128
        refused_at("tools", *many, tool("g"))


class TestToolsThatAnthropicDefines:
    @pytest.mark.parametrize(
        "kind, name, arguments",
        [
            ("bash_20241022", "bash", {"command": "ls"}),
            ("bash_20250124", "bash", {"restart": True}),
            (
                "text_editor_20241022",
                "str_replace_editor",
                {"command": "insert", "path": "/a", "insert_line": 0, "new_str": "x"},
            ),
            ("text_editor_20250124", "str_replace_editor", {"command": "undo_edit", "path": "/a"}),
            (
                "text_editor_20250429",
                "str_replace_based_edit_tool",
                {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"},
            ),
            (
                "text_editor_20250728",
                "str_replace_based_edit_tool",
                {"command": "insert", "path": "/a", "insert_line": 2, "insert_text": "x"},
            ),
            ("memory_20250818", "memory", {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}),
            ("memory_20250818", "memory", {"command": "view", "path": "/memories", "view_range": [1, -1]}),
        ],
    )
    def test_the_model_is_told_how_to_call_those_that_the_client_runs(self, kind, name, arguments):
        (spec,) = offered({"type": kind, "name": name})
        assert spec.name == name
        assert spec.description
        assert set(arguments) <= set(spec.parameters["properties"])
        Draft202012Validator(spec.parameters).validate(arguments)

    def test_an_editor_of_claude_4_takes_nothing_back(self):
        (spec,) = offered({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 5})
        assert not Draft202012Validator(spec.parameters).is_valid({"command": "undo_edit", "path": "/a"})

    @pytest.mark.parametrize("kind", CLIENT_TOOLS)
    def test_they_may_be_strict(self, kind):
        assert offered({"type": kind, "name": CLIENT_TOOLS[kind].name, "strict": True})[0].strict is True

    @pytest.mark.parametrize(
        "kind, name",
        [
            ("web_search_20250305", "web_search"),
            ("web_fetch_20260318", "web_fetch"),
            ("code_execution_20250825", "code_execution"),
            ("tool_search_tool_regex_20251119", "tool_search_tool_regex"),
            ("computer_20250124", "computer"),
            ("advisor_20260301", "advisor"),
        ],
    )
    def test_those_that_would_run_here_or_need_a_screen_are_skipped_and_listed(self, kind, name):
        call = parse({"type": kind, "name": name, "max_uses": 5}, tool("fetch"), strict=True)
        assert [spec.name for spec in call.operation.prompt.tools] == ["fetch"]
        assert call.ignored == (f"tools.*.{kind}",)

    def test_a_remote_toolset_is_skipped_and_listed(self):
        call = parse({"type": "mcp_toolset", "mcp_server_name": "s"})
        assert (call.operation.prompt.tools, call.ignored) == ((), ("tools.*.mcp_toolset",))

    def test_every_tool_of_the_sdk_is_offered_or_skipped(self):
        for param in get_args(BetaToolUnionParam):
            for kind in get_args(get_args(get_type_hints(param, include_extras=True)["type"])[0]):
                if isinstance(kind, str) and kind != "custom":
                    call = parse({"type": kind})
                    assert bool(call.operation.prompt.tools) is (kind in CLIENT_TOOLS)
                    assert call.ignored == (() if kind in CLIENT_TOOLS else (f"tools.*.{kind}",))


@pytest.mark.seeds("S119", "S127")
class TestToolChoice:
    @pytest.mark.parametrize(
        "choice, expected",
        [
            (None, ToolChoice()),
            ({"type": "auto"}, ToolChoice()),
            ({"type": "any"}, ToolChoice(mode=ToolMode.REQUIRED)),
            ({"type": "tool", "name": "f"}, ToolChoice(mode=ToolMode.REQUIRED, names=("f",))),
            ({"type": "auto", "disable_parallel_tool_use": True}, ToolChoice(parallel=False)),
            ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice(mode=ToolMode.REQUIRED, parallel=False)),
            (
                {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
                ToolChoice(mode=ToolMode.REQUIRED, names=("f",), parallel=False),
            ),
        ],
    )
    def test_each_says_what_may_be_called(self, choice, expected):
        call = parse(tool("f"), tool("g"), choice=choice)
        assert call.operation.prompt.tool_choice == expected
        assert [spec.name for spec in call.operation.prompt.tools] == ["f", "g"]
        assert call.named_call is bool(expected.names)

    def test_none_leaves_the_tools_out(self):
        call = parse(tool("f"), choice={"type": "none"})
        assert (call.operation.prompt.tools, call.ignored) == ((), ("tools",))

    @pytest.mark.parametrize(
        "choice, path",
        [
            ({"type": "tool"}, "tool_choice.name"),
            ({"type": "function"}, "tool_choice.type"),
            ({}, "tool_choice.type"),
            ("auto", "tool_choice"),
            ({"type": "auto", "disable_parallel_tool_use": 1}, "tool_choice.disable_parallel_tool_use"),
        ],
    )
    def test_what_is_no_choice_is_refused_at_its_path(self, choice, path):
        refused_at(path, tool("f"), choice=choice)

    def test_a_name_that_no_tool_has_is_refused(self):
        refused_at("tool_choice", tool("f"), choice={"type": "tool", "name": "g"}, match="none of the tools")

    def test_a_call_of_no_tools_is_refused(self):
        refused_at("tool_choice", choice={"type": "any"})
        refused_at("tool_choice", {"type": "web_search_20250305", "name": "web_search"}, choice={"type": "any"})

    def test_a_hosted_tool_that_must_be_called_is_refused_by_name(self):
        search = {"type": "web_search_20250305", "name": "web_search"}
        error = refused_at(
            "tool_choice", search, tool("f"), choice={"type": "tool", "name": "web_search"}, match="web_search_20250305"
        )
        assert isinstance(error, Unsupported)


FOUND = (
    HELLO,
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "ToolSearch", "input": {"query": "web"}}],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [
                    {"type": "tool_reference", "tool_name": "WebFetch"},
                    {"type": "tool_reference", "tool_name": "WebSearch"},
                ],
            }
        ],
    },
)
SEARCH = tool("ToolSearch")
DEFERRED = [
    tool("WebFetch", defer_loading=True),
    tool("WebSearch", defer_loading=True),
    tool("Other", defer_loading=True),
]


class TestDeferredTools:
    """Claude Code's way (wire.md, finding 7)."""

    def test_they_are_not_offered_until_they_are_found(self):
        assert [spec.name for spec in offered(SEARCH, *DEFERRED)] == ["ToolSearch"]

    def test_those_that_were_found_can_be_called_and_are_told_where_they_were_found(self):
        prompt = parse(SEARCH, *DEFERRED, turns=FOUND).operation.prompt
        assert [(spec.name, spec.deferred) for spec in prompt.tools] == [
            ("ToolSearch", False),
            ("WebFetch", True),
            ("WebSearch", True),
        ]
        told = [json.loads(line[line.index("{") :]) for line in prompt.messages[-1].text.split("\n")]
        assert told == [
            {"name": name, "description": f"Does {name}.", "parameters": SCHEMA} for name in ("WebFetch", "WebSearch")
        ]
        assert prompt.messages[-1].role is Role.TOOL

    def test_what_was_found_once_stays_told_in_the_same_words(self):
        later = (*FOUND, {"role": "assistant", "content": "Good."}, HELLO)
        first, second = (parse(SEARCH, *DEFERRED, turns=turns).operation.prompt for turns in (FOUND, later))
        assert second.messages[: len(first.messages)] == first.messages
        assert second.tools == first.tools

    def test_a_found_one_may_be_forced_and_one_that_was_not_found_may_not(self):
        assert parse(SEARCH, *DEFERRED, turns=FOUND, choice={"type": "tool", "name": "WebFetch"}).named_call
        refused_at(
            "tool_choice", SEARCH, *DEFERRED, turns=FOUND, choice={"type": "tool", "name": "Other"}, match="deferred"
        )

    def test_a_reference_to_no_tool_is_refused_at_its_path(self):
        refused_at("messages.2.content.0.content.1", SEARCH, DEFERRED[0], turns=FOUND, match="WebSearch")

    def test_without_a_tool_that_could_find_them_they_are_offered_like_others(self):
        assert [(spec.name, spec.deferred) for spec in offered(*DEFERRED)] == [
            ("WebFetch", False),
            ("WebSearch", False),
            ("Other", False),
        ]

    def test_where_the_search_is_a_hosted_one_they_are_offered_like_others(self):
        hosted = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
        assert [(spec.name, spec.deferred) for spec in offered(hosted, tool("f"), DEFERRED[0])] == [
            ("f", False),
            ("WebFetch", False),
        ]

    def test_a_system_turn_may_add_one(self):
        added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "WebFetch"}}
        turns = (HELLO, {"role": "system", "content": [{"type": "text", "text": "There is more."}, added]})
        prompt = parse(SEARCH, *DEFERRED, turns=turns).operation.prompt
        assert [spec.name for spec in prompt.tools] == ["ToolSearch", "WebFetch"]
        assert prompt.messages[1].text.startswith("There is more.\n")
        assert '"WebFetch"' in prompt.messages[1].text

    def test_a_definition_in_the_middle_and_a_removal_are_refused_by_name(self):
        defined = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool("g")}}
        removed = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}
        for block, path in ((defined, "messages.1.content.0.tool"), (removed, "messages.1.content.0")):
            error = refused_at(path, tool("f"), turns=(HELLO, {"role": "system", "content": [block]}))
            assert isinstance(error, Unsupported)
