"""How Chat Completions tells of calls: as ``tool_calls``, or as the ``function_call`` that was before them.

A form makes the deltas of a call and the part of the message that they add up to. It keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from dragoman.core.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call as far as it has come."""

    id: str
    name: str
    parts: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """JSON text; a beginning of it where the budget cut the call (S57)."""
        return "".join(self.parts)


class CallForm(Protocol):
    """One way to tell of calls."""

    @property
    def finish_reason(self) -> str:
        """Why a choice ended that called something of its own accord."""
        ...

    def opening(self, index: int, call: MadeCall) -> JsonObject:
        """The delta that says which function is called."""
        ...

    def growth(self, index: int, text: str) -> JsonObject:
        """The delta that appends to its arguments."""
        ...

    def whole(self, calls: Sequence[MadeCall]) -> dict[str, Json]:
        """What a message has of all of them, of which there is at least one."""
        ...


class ToolCallForm:
    """A list in every delta, in which ``index`` says which call goes on; only its first delta has id, type and name."""

    finish_reason: Final = "tool_calls"

    def opening(self, index: int, call: MadeCall) -> JsonObject:
        """With empty arguments, to which readers append."""
        function = {"name": call.name, "arguments": ""}
        return {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}

    def growth(self, index: int, text: str) -> JsonObject:
        """At its index, and nothing else."""
        return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}

    def whole(self, calls: Sequence[MadeCall]) -> dict[str, Json]:
        """In their order."""
        return {
            "tool_calls": [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        }


class FunctionCallForm:
    """One object, with room for one call: no more were allowed. Deltas of any other are empty."""

    finish_reason: Final = "function_call"

    def opening(self, index: int, call: MadeCall) -> JsonObject:
        """Name and empty arguments."""
        return {} if index else {"function_call": {"name": call.name, "arguments": ""}}

    def growth(self, index: int, text: str) -> JsonObject:
        """The arguments alone."""
        return {} if index else {"function_call": {"arguments": text}}

    def whole(self, calls: Sequence[MadeCall]) -> dict[str, Json]:
        """The first."""
        return {"function_call": {"name": calls[0].name, "arguments": calls[0].arguments}}
