"""Bodies of the shapes that real clients send (clients.md), each read whole, with all of what it lists as ignored."""

from __future__ import annotations

import pytest

from dragoman.core.request import JsonFormat, Message, Role, TextPart, Thinking, ToolCall
from dragoman.surfaces.responses_call import CallableTool
from dragoman.surfaces.sealed import seal
from support.responses import call_of, request_of

ARGUMENTS = {
    "type": "object",
    "properties": {"cmd": {"type": "string"}},
    "required": ["cmd"],
    "additionalProperties": False,
}


def codex(**more: object) -> dict:
    """A turn of Codex, whose own tools and conversation are longer."""
    return {
        "model": "local",
        "stream": True,
        "input": [
            {"type": "message", "id": "msg_a", "role": "developer", "content": [{"type": "input_text", "text": "You code."}]},
            {"type": "message", "id": "msg_b", "role": "user", "content": [{"type": "input_text", "text": "list files"}]},
        ],
        "tools": [
            {"type": "function", "name": "exec_command", "description": "Runs.", "strict": False, "parameters": ARGUMENTS},
            {
                "type": "namespace",
                "name": "multi_agent_v1",
                "description": "Sub-agents.",
                "tools": [{"type": "function", "name": "close_agent", "description": "", "strict": False, "parameters": ARGUMENTS}],
            },
            {"type": "web_search", "external_web_access": True},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "key",
        "client_metadata": {"session_id": "s"},
    } | more  # fmt: skip


def test_codex_gets_its_tools_sealed_thoughts_and_summaries():
    request = request_of(**codex())
    asked = request.resolve()
    assert (request.stream, request.store) == (True, False)
    assert (asked.summaries, asked.encrypted) == (True, True)
    assert asked.tools == {
        "exec_command": CallableTool(name="exec_command"),
        "close_agent": CallableTool(name="close_agent", namespace="multi_agent_v1"),
    }
    assert [message.role for message in asked.operation.prompt.messages] == [Role.DEVELOPER, Role.USER]
    assert set(asked.ignored) == {"client_metadata", "tools.*.description", "tools.*.web_search"}


def test_codex_plays_its_calls_back_with_their_namespace():
    turn = codex()
    turn["input"] = [
        *turn["input"],
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": seal("Hm.")},
        {"type": "function_call", "status": "completed", "id": "fc_1", "name": "close_agent", "namespace": "multi_agent_v1", "arguments": "{}", "call_id": "call_1"},
        {"type": "function_call_output", "id": "fco_1", "call_id": "call_1", "output": "closed"},
    ]  # fmt: skip
    messages = call_of(**turn).operation.prompt.messages
    assert messages[2] == Message(
        role=Role.ASSISTANT,
        reasoning="Hm.",
        tool_calls=(ToolCall(id="call_1", name="close_agent", arguments="{}"),),
    )
    assert (messages[3].role, messages[3].text) == (Role.TOOL, "closed")


def test_codex_warms_up_over_a_socket_and_goes_on_with_new_items_alone():
    warm = request_of(**codex(type="response.create", generate=False, input=codex()["input"][:1]))
    assert (warm.generate, warm.previous) == (False, None)
    turn = request_of(**codex(type="response.create", previous_response_id="resp_1", input=codex()["input"][1:]))
    assert (turn.generate, turn.previous) == (True, "resp_1")
    alone = request_of(**codex()).resolve().operation.prompt
    assert turn.resolve(warm.input).operation.prompt == alone


def test_codex_asks_for_a_schema():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    asked = call_of(**codex(text={"format": {"type": "json_schema", "strict": True, "schema": schema, "name": "out"}}))
    assert asked.operation.output == JsonFormat(schema=schema)


def test_codex_may_send_its_tools_as_an_item_with_a_grammar_of_lark():
    definition = "\nstart: pragma_source | plain_source\npragma_source: PRAGMA_LINE NEWLINE SOURCE\nplain_source: SOURCE\n\nPRAGMA_LINE: /[ \\t]*\\/\\/ @exec:[^\\r\\n]*/\nNEWLINE: /\\r?\\n/\nSOURCE: /[\\s\\S]+/\n"
    tool = {
        "type": "custom",
        "name": "exec",
        "description": "Runs.",
        "format": {"type": "grammar", "syntax": "lark", "definition": definition},
    }
    item = {
        "type": "additional_tools",
        "id": "at_1",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "functions", "description": "", "tools": [tool]}],
    }
    turn = codex(
        parallel_tool_calls=False, reasoning={"effort": "low", "context": "all_turns"}, text={"verbosity": "high"}
    )
    del turn["tools"]
    asked = call_of(**(turn | {"input": [item, *turn["input"]]}))
    assert asked.tools == {"exec": CallableTool(name="exec", kind="custom", namespace="functions")}
    assert asked.operation.prompt.tools[0].strict is True
    assert asked.operation.prompt.tool_choice.parallel is False
    assert asked.operation.prompt.thinking == Thinking(effort="low")
    assert set(asked.ignored) == {
        "client_metadata",
        "input.*.tools.*.description",
        "reasoning.context",
        "text.verbosity",
    }


def test_pi_and_pydantic_ai_play_reasoning_back_with_nulls():
    items = [
        {"role": "developer", "content": "You help."},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}], "encrypted_content": None, "status": "completed"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "a.txt"},
    ]  # fmt: skip
    asked = call_of(
        input=items,
        store=False,
        include=["reasoning.encrypted_content"],
        reasoning={"effort": "medium", "summary": "auto"},
    )
    assert asked.operation.prompt.messages[2].reasoning == "Hm."
    assert asked.ignored == ()


@pytest.mark.seeds("S144")
def test_the_ai_sdk_speaks_of_items_by_their_ids():
    request = request_of(
        input=[
            {"role": "user", "content": "hi"},
            {"type": "item_reference", "id": "msg_1"},
            {"role": "user", "content": "go on"},
        ]
    )
    said = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Yes?", "annotations": []}],
    }
    messages = request.resolve(referred={"msg_1": said}).operation.prompt.messages
    assert [message.parts for message in messages] == [(TextPart(text=text),) for text in ("hi", "Yes?", "go on")]


def test_guidellm_and_openai_agents_ask_for_nothing_that_is_not_there():
    assert call_of(ignore_eos=True, max_output_tokens=8).operation.limits.ignore_eos is True
    assert call_of(include=[], tools=[], instructions="Help.").ignored == ()
