"""What a stream of Chat Completions may do: wire.md section 3, S2, S53, S57, and the types of OpenAI's SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter

from support.event_order.choices import ChunkOrder
from support.event_order.order import violations_of


def violations(stream: bytes, *, usage: bool = False, continuous: bool = False) -> list[str]:
    """Everything that is wrong with a whole stream; nothing where it is sound."""
    order = ChunkOrder(_official(), "chat.completion.chunk", _ChatChoice, usage=usage, continuous=continuous)
    return violations_of(stream, order)


@cache
def _official() -> TypeAdapter[Any]:
    return TypeAdapter(ChatCompletionChunk)


class _ChatChoice:
    def __init__(self) -> None:
        self.finished = False
        self._begun = False
        self._calls: list[str] = []
        self._legacy: str | None = None

    def take(self, choice: dict[str, Any]) -> Iterator[str]:
        delta = choice["delta"]
        if self._begun == ("role" in delta):
            yield "the role is said in the first chunk of a choice, and nowhere else"
        self._begun = True
        for call in delta.get("tool_calls") or ():
            yield from self._call(call)
        if delta.get("function_call"):
            yield from self._function(delta["function_call"])
        yield from self._rows(choice)
        if choice.get("finish_reason") is not None:
            yield from self._finish(choice["finish_reason"])

    def _call(self, call: dict[str, Any]) -> Iterator[str]:
        index, function = call["index"], call.get("function") or {}
        if index == len(self._calls):
            if not (call.get("id") and call.get("type") == "function" and function.get("name")):
                yield "the first delta of a call has no id, type or name"
            self._calls.append("")
        elif index != len(self._calls) - 1:
            yield f"call {index} goes on, but there are {len(self._calls)}"
            return
        elif "id" in call or "name" in function:
            yield "a call is named twice"
        self._calls[index] += function.get("arguments") or ""

    def _function(self, call: dict[str, Any]) -> Iterator[str]:
        if (self._legacy is None) != ("name" in call):
            yield "a function is named in its first delta, and nowhere else"
        self._legacy = (self._legacy or "") + (call.get("arguments") or "")

    def _rows(self, choice: dict[str, Any]) -> Iterator[str]:
        """Rows are about the text beside them (S71)."""
        rows = (choice.get("logprobs") or {}).get("content")
        if rows is not None and "".join(row["token"] for row in rows) != (choice["delta"].get("content") or ""):
            yield "the tokens of a delta are not its text"

    def _finish(self, reason: str) -> Iterator[str]:
        calls = self._calls if self._legacy is None else [self._legacy]
        if reason in ("tool_calls", "function_call") and not calls:
            yield f"{reason}, but nothing was called"
        whole = calls[:-1] if reason == "length" else calls
        for arguments in whole:
            if not _is_object(arguments):
                yield f"arguments that are no object: {arguments}"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
