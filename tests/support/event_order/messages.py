"""What a stream of Messages may do: wire.md section 3, peers.md 103 to 105 and 108, and the types of Anthropic's SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from support.event_order.order import mismatches, violations_of
from support.event_order.sse import Event

_PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Of each delta, the block that it belongs to, and the key of what it adds."""

_PREFIXES = {"message": "msg_", "tool_use": "toolu_"}

_CUT = {"max_tokens", "model_context_window_exceeded"}
"""Reasons of answers that end anywhere, and so in the middle of a call."""


def violations(stream: bytes) -> list[str]:
    """Everything that is wrong with a whole stream; nothing where it is sound."""
    return violations_of(stream, _MessagesOrder())


@cache
def _official() -> TypeAdapter[Any]:
    return TypeAdapter(RawMessageStreamEvent)


@dataclass
class _Block:
    """A block, the kinds of its deltas, and their text but for the signature."""

    kind: str
    deltas: list[str] = field(default_factory=list)
    text: str = ""


class _MessagesOrder:
    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: list[_Block] = []
        self._ids: set[str] = set()
        self._open = False
        self._delta: dict[str, Any] | None = None
        self._over = False

    def take(self, event: Event) -> Iterator[str]:
        value = event.value
        if self._over:
            yield "something follows the end"
            return
        if not isinstance(value, dict):
            yield "not an object"
            return
        if event.name != value.get("type"):
            yield f"the event is called {event.name}"
        match value.get("type"):
            case "ping":
                pass  # at any time
            case "error":
                yield from self._error(value)
            case _:
                wrong = mismatches(value, _official())
                yield from wrong or self._official_event(value)

    def _error(self, value: dict[str, Any]) -> Iterator[str]:
        self._over = True
        error = value.get("error")
        if not (isinstance(error, dict) and isinstance(error.get("type"), str) and error.get("message")):
            yield "an error without type and message"

    def _official_event(self, value: dict[str, Any]) -> Iterator[str]:
        if self._message is None and value["type"] != "message_start":
            yield "before message_start"
            return
        if self._delta is not None and value["type"] != "message_stop":
            yield "after message_delta"
        match value["type"]:
            case "message_start":
                yield from self._start(value["message"])
            case "content_block_start":
                yield from self._begin(value["index"], value["content_block"])
            case "content_block_delta":
                yield from self._grow(value["index"], value["delta"])
            case "content_block_stop":
                yield from self._stop(value["index"])
            case "message_delta":
                yield from self._ending(value)
            case "message_stop":
                yield from self._end()

    def end(self) -> Iterator[str]:
        if not self._over:
            yield "neither message_stop nor error came"

    def _end(self) -> Iterator[str]:
        self._over = True
        if self._delta is None:
            yield "without message_delta"

    def _start(self, message: dict[str, Any]) -> Iterator[str]:
        if self._message is not None:
            yield "a second one"
        self._message = message
        yield from self._name("message", message["id"])
        if message["content"] or message["stop_reason"] is not None:
            yield "the message has begun already"

    def _name(self, kind: str, name: str) -> Iterator[str]:
        if not name.startswith(_PREFIXES[kind]):
            yield f"{name} is no id of a {kind}"
        if name in self._ids:
            yield f"{name} is the id of something else, too"
        self._ids.add(name)

    def _begin(self, index: int, block: dict[str, Any]) -> Iterator[str]:
        if self._open:
            yield "another block is open"
        if index != len(self._blocks):
            yield f"index {index} in the place of {len(self._blocks)}"
        self._open = True
        self._blocks.append(_Block(block["type"]))
        if block["type"] == "tool_use":
            yield from self._name("tool_use", block["id"])
        if block.get("text") or block.get("thinking") or block.get("signature") or block.get("input"):
            yield "a block that begins with something in it"

    def _grow(self, index: int, delta: dict[str, Any]) -> Iterator[str]:
        if not self._open or index != len(self._blocks) - 1:
            yield f"block {index} is not open"
            return
        block = self._blocks[-1]
        kind, key = _PIECES.get(delta["type"], ("no block of ours", ""))
        if kind != block.kind:
            yield f"{delta['type']} in a block of {block.kind}"
        if "signature_delta" in block.deltas:
            yield "after the signature, which comes just before the stop"
        block.deltas.append(delta["type"])
        if key != "signature":
            block.text += delta.get(key, "")

    def _stop(self, index: int) -> Iterator[str]:
        if not self._open or index != len(self._blocks) - 1:
            yield f"block {index} is not open"
            return
        self._open = False
        block = self._blocks[-1]
        if block.kind == "text" and not block.text:
            yield "an empty block of text"
        if block.kind == "thinking" and "signature_delta" not in block.deltas:
            yield "a thought without a signature"

    def _ending(self, value: dict[str, Any]) -> Iterator[str]:
        self._delta = value["delta"]
        reason, sequence = self._delta["stop_reason"], self._delta["stop_sequence"]
        if self._open:
            yield "a block is open"
        if reason is None:
            yield "no stop_reason"
        if (reason == "stop_sequence") != (sequence is not None):
            yield f"{reason} with the stop sequence {sequence}"
        calls = [block for block in self._blocks if block.kind == "tool_use"]
        if reason == "tool_use" and not calls:
            yield "tool_use, but nothing was called"
        if reason == "end_turn" and calls:
            yield "end_turn, but something was called"
        whole = calls[:-1] if reason in _CUT and self._blocks and self._blocks[-1] in calls else calls
        for block in whole:
            if not _is_object(block.text or "{}"):
                yield f"the input of a call is no object: {block.text}"
        yield from self._counts(value["usage"])

    def _counts(self, usage: dict[str, Any]) -> Iterator[str]:
        """The prompt was counted at the start, and its counts are said again (wire.md, finding 9)."""
        assert self._message is not None
        if _prompt(usage) is None:
            yield "no counts of the prompt"
        elif _prompt(usage) != _prompt(self._message["usage"]):
            yield "the prompt is not as long as at the start"


def _prompt(usage: dict[str, Any]) -> int | None:
    counts = [usage.get(key) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    return None if None in counts else sum(counts)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
