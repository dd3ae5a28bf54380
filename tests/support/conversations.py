"""Conversations from the dictionaries that OpenAI's clients send, for tests that start below the surfaces."""

from __future__ import annotations

import json
from typing import Any

from dragoman.core.request import Conversation, Message, Role, TextPart, Thinking, ToolCall, ToolChoice, ToolSpec


def conversation(
    messages: list[dict[str, Any]],
    *,
    add_generation_prompt: bool = True,
    continue_final: bool = False,
    tools: list[dict[str, Any]] | None = None,
    tool_choice: ToolChoice | None = None,
    thinking: Thinking | None = None,
    template_args: dict[str, Any] | None = None,
) -> Conversation:
    return Conversation(
        messages=tuple(map(_message, messages)),
        add_generation_prompt=add_generation_prompt,
        continue_final=continue_final,
        tools=tuple(map(_tool, tools or ())),
        tool_choice=tool_choice or ToolChoice(),
        thinking=thinking or Thinking(),
        template_args=template_args or {},
    )


def _message(message: dict[str, Any]) -> Message:
    return Message(
        role=Role(message["role"]),
        parts=(TextPart(text=message["content"]),) if message.get("content") else (),
        name=message.get("name"),
        reasoning=message.get("reasoning_content"),
        tool_calls=tuple(map(_tool_call, message.get("tool_calls", ()))),
        tool_call_id=message.get("tool_call_id"),
    )


def _tool_call(call: dict[str, Any]) -> ToolCall:
    arguments = call["function"]["arguments"]
    return ToolCall(
        id=call["id"],
        name=call["function"]["name"],
        arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
    )


def _tool(tool: dict[str, Any]) -> ToolSpec:
    return ToolSpec(**tool["function"])
