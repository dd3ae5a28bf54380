"""Turns of Claude Code, Codex, opencode and pi in the shapes that they send, shortened, with a model that plays a scene.

``make clients`` plays the programs themselves; these are what was seen of them there. The engine counts a token for each byte.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clients.scripted_model import TEMPLATE, read_scenes, script_of
from dragoman.dialects import chatml
from dragoman.dialects.base import ModelTraits
from dragoman.engines.simulated import SEEING
from support.house import House, house_of
from support.socket import Socket

THOUGHT = "I should look."
RESULT = "quince"
ANSWER = f"It says {RESULT}; thoughts: 1"
LONG = "You are an agent that works with its user. " * 200


def scene(name: str, **arguments: object) -> str:
    calls = [{"name": name, "arguments": arguments}]
    answer = "It says {result}; thoughts: {thoughts}"
    more = {
        "overflow": {"trouble": "overflows"},
        "search": {"calls": [{"name": "ToolSearch", "arguments": {"query": "select:CronList"}}, {"name": "CronList", "arguments": {}}]},
        "picture": {"answer": "Pictures: {images}"},
    }  # fmt: skip
    return json.dumps({"look": {"thought": THOUGHT, "calls": calls, "answer": answer}, **more})


@asynccontextmanager
async def playing(scenes: str):
    traits = ModelTraits(
        template=TEMPLATE,
        specials=("<|im_start|>", "<|im_end|>"),
        bos_token="",
        eos_token="<|im_end|>",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    script = script_of(read_scenes(scenes), Path("unused"))
    info = replace(SEEING, context_length=100_000)
    async with house_of(script, dialect=chatml.build(traits), info=info) as house:
        yield house


# --- Claude Code --------------------------------------------------------------------------------------------------

MESSAGES = "/v1/messages?beta=true"
CLAUDE_CODE = {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27",
    "x-api-key": "unused",
    "content-type": "application/json",
}
PLACEHOLDER = {
    "name": "DeferredToolPlaceholder",
    "description": "Keeps tools that are found later possible; not to be called.",
    "input_schema": {"type": "object", "properties": {}},
    "defer_loading": True,
}


def anthropic_tool(name: str, *arguments: str, **more: object) -> dict:
    properties = {argument: {"description": f"The {argument}", "type": "string"} for argument in arguments}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": properties}
    return {"name": name, "description": name, "input_schema": {**schema, "additionalProperties": False}, **more}


def claude_code(*turns: dict, build: str = "2.1.332.54f", tools: tuple[dict, ...] = ()) -> dict:
    """A request of the agent. The last three characters of its build are others with each conversation."""
    marked = {"cache_control": {"type": "ephemeral"}}
    return {
        "model": "small",
        "system": [
            {"type": "text", "text": f"x-anthropic-billing-header: cc_version={build}; cc_entrypoint=sdk-cli;"},
            {"type": "text", "text": "You are an agent.", **marked},
            {"type": "text", "text": LONG, **marked},
        ],
        "messages": [*turns],
        "tools": [
            anthropic_tool("Bash", "command", "description"),
            anthropic_tool("ToolSearch", "query"),
            PLACEHOLDER,
            *tools,
        ],
        "metadata": {"user_id": json.dumps({"device_id": "0f", "account_uuid": "", "session_id": "1"})},
        "max_tokens": 32_000,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "stream": True,
    }


def asked(cue: str) -> list[dict]:
    """The first turn: reminders before the words, and the system's own turn behind them."""
    reminder = {"type": "text", "text": "<system-reminder>\nMind the style.\n</system-reminder>\n"}
    environment = {"type": "text", "text": "# Environment\nA folder.", "cache_control": {"type": "ephemeral"}}
    return [
        {"role": "user", "content": [reminder, {"type": "text", "text": f"Please. [scene: {cue}]"}]},
        {"role": "system", "content": [environment]},
    ]


def result(use: dict, content: object) -> dict:
    block = {"tool_use_id": use["id"], "type": "tool_result", "content": content, "is_error": False}
    return {"role": "user", "content": [{**block, "cache_control": {"type": "ephemeral"}}]}


def blocks(reply) -> list[dict]:
    """The blocks of a stream, put together as the agent does."""
    found: list[dict] = []
    for event in reply.data:
        match event:
            case {"type": "content_block_start", "content_block": block}:
                found.append({**block, "json": ""})
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                found[-1]["text"] += text
            case {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": signature}}:
                found[-1]["signature"] += signature
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": part}}:
                found[-1]["json"] += part
            case _:
                pass
    read = [{**block, "input": json.loads(block["json"])} if block["type"] == "tool_use" else block for block in found]
    return [{name: value for name, value in block.items() if name != "json"} for block in read]


async def said(house: House, body: dict) -> tuple[list[dict], dict]:
    reply = await house.client.post(MESSAGES, body, headers=CLAUDE_CODE)
    assert reply.status == 200, reply.body
    return blocks(reply), reply.data[-2]["usage"]


@pytest.mark.seeds("S141")
async def test_claude_code_calls_a_tool_and_its_omitted_thought_comes_back_by_the_signature() -> None:
    async with playing(scene("Bash", command="cat word.txt", description="Read")) as house:
        first = asked("look")
        (thought, use), _ = await said(house, claude_code(*first))
        assert (thought["type"], thought["thinking"], bool(thought["signature"])) == ("thinking", "", True)
        assert (use["name"], use["input"]) == ("Bash", {"command": "cat word.txt", "description": "Read"})
        # What was a block becomes a string in the next request, and the text is the same.
        first[1] = {"role": "system", "content": "# Environment\nA folder."}
        turns = [*first, {"role": "assistant", "content": [thought, use]}, result(use, RESULT)]
        (_, answer), usage = await said(house, claude_code(*turns))
        assert answer["text"] == ANSWER
        assert usage["cache_read_input_tokens"] > len(LONG)
        assert usage["input_tokens"] < 200, "the call's result and the marks of its turn"


async def test_another_conversation_of_claude_code_finds_the_tools_and_instructions_of_the_first() -> None:
    async with playing(scene("Bash")) as house:
        await said(house, claude_code(*asked("look")))
        _, usage = await said(house, claude_code(*asked("other"), build="2.1.332.0c4"))
        assert usage["cache_read_input_tokens"] > len(LONG), "in spite of another build"


async def test_claude_code_finds_a_deferred_tool_and_calls_it_without_reading_the_beginning_again() -> None:
    async with playing(scene("Bash")) as house:
        turns = asked("search")
        (use,), _ = await said(house, claude_code(*turns))
        assert use["name"] == "ToolSearch"
        found = result(use, [{"type": "tool_reference", "tool_name": "CronList"}])
        turns += [{"role": "assistant", "content": [use]}, found]
        cron = anthropic_tool("CronList", defer_loading=True)
        (use,), usage = await said(house, claude_code(*turns, tools=(cron,)))
        assert (use["name"], use["input"]) == ("CronList", {})
        assert usage["cache_read_input_tokens"] > len(LONG)


async def test_claude_code_counts_its_context_with_no_tools_and_no_system() -> None:
    async with playing(scene("Bash")) as house:
        body = {"model": "small", "messages": [{"role": "user", "content": "foo"}], "tools": []}
        reply = await house.client.post("/v1/messages/count_tokens?beta=true", body, headers=CLAUDE_CODE)
        assert reply.json() == {"input_tokens": len("|user\nfoo|\n|assistant\n")}, "three control tokens are one each"


async def test_claude_code_is_told_in_its_own_words_that_a_prompt_is_too_long() -> None:
    async with playing(scene("Bash")) as house:
        reply = await house.client.post(MESSAGES, claude_code(*asked("overflow")), headers=CLAUDE_CODE)
        error = reply.json()["error"]
        assert (reply.status, error["type"]) == (400, "invalid_request_error")
        assert error["message"].startswith("prompt is too long: ")


# --- Codex --------------------------------------------------------------------------------------------------------

RESPONSES = "/v1/responses"


def item(role: str, *texts: str) -> dict:
    return {
        "type": "message",
        "id": f"msg_{role}",
        "role": role,
        "content": [{"type": "input_text", "text": text} for text in texts],
    }


def codex(*items: dict, **more: object) -> dict:
    tool = {"strict": False, "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}}
    return {
        "model": "small",
        "stream": True,
        "input": [item("developer", LONG), item("user", "<environment_context/>"), *items],
        "tools": [
            {"type": "function", "name": "exec_command", "description": "Runs a command.", **tool},
            {
                "type": "namespace",
                "name": "multi_agent_v1",
                "description": "Tools for other agents.",
                "tools": [{"type": "function", "name": "spawn_agent", "description": "Starts one.", **tool}],
            },
            {"type": "web_search", "external_web_access": True},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01",
        "client_metadata": {"session_id": "01"},
        **more,
    }


def output_of(events: list) -> list[dict]:
    ended = [event for event in events if isinstance(event, dict) and event["type"] == "response.completed"]
    return ended[0]["response"]["output"]


def replayed(items: list[dict]) -> list[dict]:
    """Items as they come back: of a thought no content, and of a call all that it had."""
    return [{**kept, "content": None} if kept["type"] == "reasoning" else kept for kept in items]


async def test_codex_calls_its_shell_and_its_thought_comes_back_sealed() -> None:
    async with playing(scene("exec_command", cmd="cat word.txt")) as house:
        ask = item("user", "Please. [scene: look]")
        thought, call = output_of((await house.client.post(RESPONSES, codex(ask))).data)
        assert thought["summary"] == [{"type": "summary_text", "text": THOUGHT}]
        assert (call["name"], call["arguments"], "namespace" in call) == (
            "exec_command",
            '{"cmd": "cat word.txt"}',
            False,
        )
        told = {"type": "function_call_output", "id": "fco_1", "call_id": call["call_id"], "output": RESULT}
        reply = await house.client.post(RESPONSES, codex(ask, *replayed([thought, call]), told))
        assert output_of(reply.data)[-1]["content"][0]["text"] == ANSWER


async def test_codex_gets_a_call_of_a_tool_in_a_namespace_back_with_it() -> None:
    async with playing(scene("spawn_agent", cmd="look")) as house:
        reply = await house.client.post(RESPONSES, codex(item("user", "Please. [scene: look]")))
        call = output_of(reply.data)[-1]
        assert (call["name"], call["namespace"]) == ("spawn_agent", "multi_agent_v1")


async def test_codex_goes_on_over_a_socket_with_what_is_new_after_a_prewarm() -> None:
    async with playing(scene("exec_command", cmd="cat word.txt")) as house:
        socket = Socket(house.app, RESPONSES)
        warm = (await socket.turn({"type": "response.create", "generate": False, **codex()}))[-1]["response"]
        assert warm["output"] == []

        async def goes_on(before: dict, *items: dict) -> dict:
            new = codex() | {"input": [*items], "previous_response_id": before["id"]}
            return (await socket.turn({"type": "response.create", **new}))[-1]["response"]

        first = await goes_on(warm, item("user", "Please. [scene: look]"))
        assert first["usage"]["input_tokens_details"]["cached_tokens"] > len(LONG)
        call = first["output"][-1]
        told = {"type": "function_call_output", "call_id": call["call_id"], "output": RESULT}
        second = await goes_on(first, told)
        assert second["output"][-1]["content"][0]["text"] == ANSWER
        await socket.leave()


async def test_codex_tells_a_goal_as_the_output_of_a_tool_that_nobody_called() -> None:
    async with playing(scene("exec_command", cmd="x")) as house:
        ask = item("user", "Please. [scene: picture]")
        goal = {"type": "function_call_output", "name": "goal_objective", "namespace": "agent", "output": "A goal."}
        reply = await house.client.post(RESPONSES, codex(ask, {**goal, "id": "fco_1"}))
        assert output_of(reply.data)[-1]["content"][0]["text"] == "Pictures: 0"


async def test_codex_is_told_by_a_code_that_its_window_is_full() -> None:
    async with playing(scene("exec_command", cmd="x")) as house:
        reply = await house.client.post(RESPONSES, codex(item("user", "Please. [scene: overflow]")))
        assert (reply.status, reply.json()["error"]["code"]) == (400, "context_length_exceeded")


# --- opencode and pi ----------------------------------------------------------------------------------------------


def chat_tool(name: str) -> dict:
    schema = {"type": "object", "required": ["command"], "properties": {"command": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


OPENCODE = {
    "model": "small",
    "max_tokens": 8192,
    "tools": [chat_tool("bash")],
    "tool_choice": "auto",
    "stream_options": {"include_usage": True},
}
PI = {
    "model": "small",
    "max_completion_tokens": 4096,
    "tools": [chat_tool("bash")],
    "store": False,
    "reasoning_effort": "medium",
    "stream_options": {"include_usage": True},
}


def chat_message(reply) -> dict:
    """What a stream of one choice adds up to."""
    message: dict = {"role": "assistant", "content": None, "reasoning_content": "", "tool_calls": []}
    for chunk in reply.data[:-1]:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            message["content"] = (message["content"] or "") + (delta.get("content") or "") or None
            message["reasoning_content"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", ()):
                if "id" in call:
                    message["tool_calls"].append(
                        {"id": call["id"], "type": "function", "function": {**call["function"]}}
                    )
                else:
                    message["tool_calls"][-1]["function"]["arguments"] += call["function"]["arguments"]
    return message


@pytest.mark.parametrize(
    ("agent", "spoken", "silence"),
    [
        (OPENCODE, "Please. [scene: look]", ""),
        (PI, [{"type": "text", "text": "Please. [scene: look]"}], None),
    ],
)
async def test_opencode_and_pi_call_a_tool_over_chat_and_their_thought_comes_back(agent, spoken, silence) -> None:
    async with playing(scene("bash", command="cat word.txt")) as house:
        turns = [{"role": "system", "content": LONG}, {"role": "user", "content": spoken}]

        async def answered(*more: dict) -> dict:
            body = {**agent, "stream": True, "messages": [*turns, *more]}
            return chat_message(await house.client.post("/v1/chat/completions", body))

        called = await answered()
        assert called["reasoning_content"] == THOUGHT
        (call,) = called["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"command": "cat word.txt"}
        back = {"role": "tool", "tool_call_id": call["id"], "content": RESULT}
        assert (await answered({**called, "content": silence}, back))["content"] == ANSWER


async def test_pi_sends_a_picture_and_a_budget_for_thoughts_over_messages() -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    text = {"type": "text", "text": "Please. [scene: picture]"}
    body = {
        "model": "small",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [text, picture]}],
        "tools": [anthropic_tool("bash", "command", eager_input_streaming=True)],
        "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"},
        "stream": True,
    }
    async with playing(scene("bash", command="x")) as house:
        (answer,), _ = await said(house, body)
        assert answer["text"] == "Pictures: 1"
