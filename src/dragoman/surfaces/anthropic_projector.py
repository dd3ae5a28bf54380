"""The shape of Messages' answers: events into the named events of a ``message``, or into one ``message``.

Blocks come as the model makes them: what it thinks, what it says, what it calls, each in a block of its own. One ends where the
next begins, so no two are open at a time.
"""

from __future__ import annotations

from typing import Final, assert_never

from dragoman.core.errors import ServiceError
from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    PromptRead,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
)
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.anthropic_blocks import Block, Content, Text, Thinking, ToolUse, named_event
from dragoman.surfaces.anthropic_call import MessagesCall
from dragoman.surfaces.anthropic_errors import envelope
from dragoman.surfaces.base import ServerEvent, Stamp

_PING: Final = named_event({"type": "ping"}).encode()

_UNFINISHED: Final[JsonObject] = {"stop_reason": None, "stop_sequence": None, "stop_details": None}


class AnthropicProjector:
    """One answer as the events of a ``message``, or as a ``message``."""

    def __init__(self, call: MessagesCall, stamp: Stamp) -> None:
        self._call = call
        self._stamp = stamp
        self._text = Text()
        self._thinking = Thinking(omitted=call.thinking_display == "omitted")
        self._blocks: list[Block] = []
        self._open: Block | None = None
        self._choice: ChoiceFinished | None = None
        self._usage: Usage | None = None

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """``message_start``, the blocks, ``message_delta`` with the reason and the usage of it all, ``message_stop`` (S114)."""
        match event:
            case TextDelta(text=text):
                return self._say(self._text, text)
            case ReasoningDelta(text=text):
                return self._say(self._thinking, text)
            case ToolCallArguments(text=text):
                return self._open.grow(text) if self._open is not None and text else []
            case ToolCallBegun(index=index, name=name):
                return self._begin(ToolUse(f"toolu_{self._stamp.id}_{index}", name))
            case ToolCallEnded():
                return self._end()
            case ChoiceFinished():
                self._choice = event
                return self._end()
            case Accepted(prompt_tokens=prompt, cached_tokens=cached):
                begun = Usage(prompt_tokens=prompt, completion_tokens=0, cached_tokens=cached)
                return [named_event({"type": "message_start", "message": self._message([], _UNFINISHED, begun)})]
            case Finished(usage=usage):
                self._usage = usage
                ended: JsonObject = {"type": "message_delta", "delta": self._ending(), "usage": _counts(usage)}
                return [named_event(ended), named_event({"type": "message_stop"})]
            case PromptRead():
                return []  # no field of this contract asks for it
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """``error``, and no ``message_stop``, which would call it complete (S155)."""
        return [named_event(envelope(error, self._call.spelling, request_id=self._stamp.request_id))]

    def keepalive(self) -> bytes:
        """``ping``, which may come at any time (S157)."""
        return _PING

    def result(self) -> JsonObject:
        """The ``message``. Raises ``RuntimeError`` before the end."""
        if self._usage is None:
            raise RuntimeError("the answer has not finished")
        return self._message([block.whole() for block in self._blocks], self._ending(), self._usage)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _say(self, content: Text | Thinking, text: str) -> list[ServerEvent]:
        """A block begins with the first text that it has, so that none is empty (peers.md 105)."""
        if not text:
            return []
        if self._open is not None and self._open.holds(content):
            return self._open.grow(text)
        begun = self._begin(content)
        return begun + self._blocks[-1].grow(text)

    def _begin(self, content: Content) -> list[ServerEvent]:
        ended = self._end()
        self._open = Block(len(self._blocks), content)
        self._blocks.append(self._open)
        return [*ended, self._open.start()]

    def _end(self) -> list[ServerEvent]:
        block, self._open = self._open, None
        return [] if block is None else block.stop()

    # --- around them -------------------------------------------------------------------------------------------------

    def _message(self, content: list[Json], ending: JsonObject, usage: Usage) -> JsonObject:
        """A ``Message`` with every key that Anthropic's type has."""
        return {
            "id": f"msg_{self._stamp.id}",
            "type": "message",
            "role": "assistant",
            "model": self._stamp.model,
            "content": content,
            **ending,
            "container": None,
            "diagnostics": None,
            "usage": _whole_usage(usage),
        }

    def _ending(self) -> JsonObject:
        """Why the answer ended. Raises ``RuntimeError`` before it did."""
        if self._choice is None:
            raise RuntimeError("the answer has not finished")
        stop = self._choice.stop
        reason = stop_reason(self._choice, self._call.operation.limits.max_tokens)
        return {"stop_reason": reason, "stop_sequence": stop if isinstance(stop, str) else None, "stop_details": None}


def stop_reason(finished: ChoiceFinished, max_tokens: int | None) -> str:
    """Anthropic's word for the end of an answer that may have ``max_tokens`` (peers.md 103)."""
    match finished.reason:
        case FinishReason.STOP:
            return "stop_sequence" if isinstance(finished.stop, str) else "end_turn"
        case FinishReason.TOOL_CALLS:
            return "tool_use"  # also where the client named the tool
        case FinishReason.LENGTH:
            # An answer that is shorter than it might have been, met the end of the context.
            used_up = max_tokens is not None and finished.generated >= max_tokens
            return "max_tokens" if used_up else "model_context_window_exceeded"
        case _:
            assert_never(finished.reason)


def _counts(usage: Usage) -> dict[str, Json]:
    """The counts of the whole answer so far. The three of the input are disjoint, and their sum is the prompt.

    Writing to the cache costs nothing here, so nothing counts as written. All are said again at the end, because some clients
    read them only there.
    """
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    }


def _whole_usage(usage: Usage) -> JsonObject:
    """A ``Usage`` with every key that Anthropic's type has."""
    return {
        **_counts(usage),
        "server_tool_use": None,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
        "inference_geo": None,
        "speed": None,
    }
