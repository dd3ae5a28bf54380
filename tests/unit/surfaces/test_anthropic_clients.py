"""Bodies of the shapes that real clients send, in words of our own: what each is read as.

A second turn must begin as the first did, or a prefix cache reads everything again.
"""

from __future__ import annotations

import pytest

from dragoman.core.request import Conversation, Message, Role, SamplingParams, TextPart, Thinking, ToolCall
from dragoman.surfaces.anthropic_call import MessagesCall
from dragoman.surfaces.anthropic_messages import Messages

MARK = {"cache_control": {"type": "ephemeral"}}
SIGNATURE = "c2lnbmF0dXJl"


def text(words: str, **more: object) -> dict:
    return {"type": "text", "text": words, **more}


def tool(name: str, *arguments: str, **more: object) -> dict:
    schema = {"type": "object", "properties": {argument: {"type": "string"} for argument in arguments}}
    return {"name": name, "description": f"Runs {name}.", "input_schema": schema, **more}


def parse(body: dict) -> MessagesCall:
    return Messages().parse({"model": "m", **body})


def conversation(body: dict) -> Conversation:
    prompt = parse(body).operation.prompt
    assert isinstance(prompt, Conversation)
    return prompt


def roles(prompt: Conversation) -> list[str]:
    return [message.role.value for message in prompt.messages]


def goes_on(before: Conversation, after: Conversation) -> bool:
    """Whether a template could write the later prompt as the earlier one and more."""
    texts = [
        [(message.role, message.text, message.tool_calls) for message in turn.messages] for turn in (before, after)
    ]
    return texts[1][: len(texts[0])] == texts[0] and before.tools == after.tools


def claude_code(*turns: dict, build: str = "54f") -> dict:
    return {
        "messages": [{"role": "user", "content": [text("<reminder>a</reminder>\n"), text("List the files.")]}, *turns],
        "system": [
            text(f"x-anthropic-billing-header: cc_version=2.1.332.{build}; cc_entrypoint=sdk-cli;"),
            text("You are an agent.", **MARK),
            text("\nWork with care.", **MARK),
        ],
        "tools": [tool("Bash", "command"), tool("ToolSearch", "query"), tool("Later", defer_loading=True)],
        "metadata": {"user_id": '{"session_id":"s"}'},
        "max_tokens": 32000,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "stream": True,
    }


class TestClaudeCode:
    ENVIRONMENT = "# Environment\nIt is a test."
    FIRST = claude_code({"role": "system", "content": [text(ENVIRONMENT, **MARK)]})
    SECOND = claude_code(
        {"role": "system", "content": ENVIRONMENT},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I look.", "signature": SIGNATURE},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"tool_use_id": "toolu_1", "type": "tool_result", "content": "a.txt", "is_error": False, **MARK}
            ],
        },
    )

    def test_its_first_request(self):
        call = parse(self.FIRST)
        assert roles(conversation(self.FIRST)) == ["system", "user", "system"]
        assert conversation(self.FIRST).messages[0].text == "You are an agent.\nWork with care."
        assert conversation(self.FIRST).thinking == Thinking(effort="high", preserve=True)
        assert [spec.name for spec in conversation(self.FIRST).tools] == ["Bash", "ToolSearch"]
        assert (call.stream, call.thinking_display, call.operation.keep_prefix) == (True, "omitted", True)
        assert call.ignored == ("metadata", "system.x-anthropic-billing-header")

    def test_its_second_begins_as_the_first(self):
        assert goes_on(conversation(self.FIRST), conversation(self.SECOND))
        assert conversation(self.SECOND).messages[3:] == (
            Message(
                role=Role.ASSISTANT,
                reasoning="I look.",
                tool_calls=(ToolCall(id="toolu_1", name="Bash", arguments='{"command":"ls"}'),),
            ),
            Message(role=Role.TOOL, parts=(TextPart(text="a.txt"),), tool_call_id="toolu_1"),
        )

    @pytest.mark.parametrize("build", ["0c4", "18b"])
    def test_another_request_has_the_same_system_prompt(self, build: str):
        assert conversation(claude_code(build=build)) == conversation(claude_code())


@pytest.mark.seeds("S119")
@pytest.mark.parametrize(
    "first, answer, result",
    [
        pytest.param(
            {
                "messages": [{"role": "user", "content": [text("List.", **MARK)]}],
                "max_tokens": 4096,
                "stream": True,
                "system": [text("You are an agent.", **MARK)],
                "tools": [tool("run", "command", eager_input_streaming=True, **MARK)],
                "thinking": {"type": "enabled", "budget_tokens": 3072, "display": "summarized"},
            },
            [{"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE}],
            {"content": "a.txt\n", "is_error": False, **MARK},
            id="pi",
        ),
        pytest.param(
            {
                "max_tokens": 8192,
                "system": [text("You are an agent.", **MARK)],
                "messages": [{"role": "user", "content": [text("List.", **MARK)]}],
                "tools": [tool("run", "command")],
                "tool_choice": {"type": "auto"},
                "stream": True,
            },
            [],
            {"content": "a.txt\n", **MARK},
            id="opencode",
        ),
        pytest.param(
            {
                "max_tokens": 32000,
                "temperature": 1,
                "system": [text("You are an agent.", **MARK), text("\n# Memory", **MARK)],
                "messages": [{"role": "user", "content": [text("<reminder>a</reminder>"), text("List.", **MARK)]}],
                "tools": [tool("run", "command", **MARK)],
                "thinking": {"type": "enabled", "budget_tokens": 32000},
                "stream": True,
            },
            [{"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE}, text("I look.")],
            {"content": [text("a.txt")]},
            id="qwen-code",
        ),
        pytest.param(
            {"max_tokens": 4096, "messages": [{"role": "user", "content": "List."}], "tools": [tool("run", "command")]},
            [{"signature": SIGNATURE, "thinking": "Hm.", "type": "thinking"}],
            {"content": "a.txt", "is_error": False},
            id="langchain",
        ),
        pytest.param(
            {
                "max_tokens": 16384,
                "messages": [{"role": "user", "content": [{"text": "List.", "type": "text"}]}],
                "stream": False,
                "system": [text("Be brief.")],
                "tool_choice": {"type": "auto"},
                "tools": [tool("run", "command")],
            },
            [{"thinking": "Hm.", "signature": SIGNATURE, "type": "thinking"}],
            {"content": [{"text": "a.txt", "type": "text"}], "is_error": False},
            id="pydantic-ai",
        ),
        pytest.param(
            {
                "max_tokens": 128000,
                "temperature": 0.2,
                "messages": [{"role": "user", "content": [text("List.")]}],
                "tools": [tool("run", "command", type="custom")],
                "stream": True,
            },
            [],
            {"content": "a.txt"},
            id="litellm",
        ),
    ],
)
def test_a_second_turn_goes_on_from_the_first(first: dict, answer: list[dict], result: dict):
    called = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"command": "ls"}}
    turns = (
        {"role": "assistant", "content": [*answer, called]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", **result}]},
    )
    before, after = conversation(first), conversation(first | {"messages": [*first["messages"], *turns]})
    assert goes_on(before, after)
    assert roles(after)[len(before.messages) :] == ["assistant", "tool"]
    call, answered = after.messages[-2:]
    assert call.reasoning == ("Hm." if any(block["type"] == "thinking" for block in answer) else None)
    assert call.tool_calls == (ToolCall(id="toolu_1", name="run", arguments='{"command":"ls"}'),)
    assert (answered.text.strip(), answered.tool_call_id) == ("a.txt", "toolu_1")
    asked = parse(first).operation
    assert asked.sampling == SamplingParams(temperature=first.get("temperature", 1.0))
    assert asked.limits.max_tokens == first["max_tokens"]


def test_a_pydantic_model_as_the_sdk_sends_it():
    schema = {
        "type": "object",
        "title": "Answer",
        "properties": {"answer": {"type": "string", "title": "Answer"}, "n": {"type": "integer", "title": "N"}},
        "additionalProperties": False,
        "required": ["answer", "n"],
    }
    body = {
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "hi"}],
        "output_config": {"format": {"schema": schema, "type": "json_schema"}},
    }
    call = parse(body)
    assert (call.operation.output.schema, call.ignored) == (schema, ())


def test_a_tool_as_the_ai_sdk_forces_it_for_structured_output():
    body = {
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [text("hi")]}],
        "tools": [tool("json", "answer")],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    }
    choice = conversation(body).tool_choice
    assert (choice.mode.value, choice.parallel) == ("required", False)
