"""What streams of Chat Completions and of Completions have in common: unnamed chunks of choices, usage where asked for, ``[DONE]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from support.event_order.order import mismatches
from support.event_order.sse import DONE, Event


class Choice(Protocol):
    """How one choice may go on."""

    finished: bool

    def take(self, choice: dict[str, Any]) -> Iterator[str]:
        """What is wrong with its next chunk."""
        ...


C = TypeVar("C", bound=Choice)


class ChunkOrder(Generic[C]):
    """``usage``: it was asked for. ``continuous``: in every chunk. Chunks are of one ``official`` type and its ``kind``."""

    def __init__(
        self, official: TypeAdapter[Any], kind: str, choice: type[C], *, usage: bool, continuous: bool
    ) -> None:
        self._official = official
        self._kind = kind
        self._choice = choice
        self._usage = usage
        self._continuous = continuous
        self._head: dict[str, Any] | None = None
        self._choices: dict[int, C] = {}
        self._counted = False
        self._over = False

    def take(self, event: Event) -> Iterator[str]:
        value = event.value
        if event.name is not None:
            yield f"a name, {event.name}: this contract has none"
        if self._over:
            yield "something follows the end"
        elif value == DONE:
            yield from self._done()
        elif not isinstance(value, dict):
            yield "not an object"
        elif "error" in value:
            self._over = True
            if not (isinstance(value["error"], dict) and value["error"].get("message")):
                yield "an error without a message"
        elif value.get("object") != self._kind:
            yield f"a {value.get('object')} in a stream of {self._kind}"
        elif wrong := mismatches(value, self._official):
            yield from wrong
        else:
            yield from self._chunk(value)

    def end(self) -> Iterator[str]:
        if not self._over:
            yield "neither [DONE] nor an error came"

    def _done(self) -> Iterator[str]:
        self._over = True
        if set(self._choices) != set(range(len(self._choices))):
            yield f"choices have the indexes {sorted(self._choices)}"
        if unfinished := [index for index, choice in self._choices.items() if not choice.finished]:
            yield f"choices {unfinished} have no finish_reason"
        if not self._choices:
            yield "there was no choice"
        if self._usage and not self._counted:
            yield "the usage that was asked for did not come"

    def _chunk(self, chunk: dict[str, Any]) -> Iterator[str]:
        head = {key: chunk.get(key) for key in ("id", "created", "model", "system_fingerprint")}
        if self._head not in (None, head):
            yield f"head {head}, and before {self._head}"
        self._head = head
        yield from self._usage_in(chunk)
        for choice in chunk["choices"]:
            index = choice["index"]
            known = self._choices.setdefault(index, self._choice())
            if known.finished:
                yield f"choice {index} goes on after its finish_reason"
            yield from known.take(choice)
            if "finish_reason" not in choice:
                yield "no finish_reason, which is null until it is known"
            known.finished = known.finished or choice.get("finish_reason") is not None

    def _usage_in(self, chunk: dict[str, Any]) -> Iterator[str]:
        """Null in each chunk, then once in one without choices; or in no chunk at all (S53)."""
        if self._counted:
            yield "a chunk after the usage"
        if not self._usage:
            if "usage" in chunk:
                yield "usage, which nobody asked for"
            if not chunk["choices"]:
                yield "no choices"
        elif "usage" not in chunk:
            yield "no usage, which was asked for"
        elif chunk["choices"]:
            if (chunk["usage"] is not None) != self._continuous:
                yield "usage in the middle" if chunk["usage"] else "no usage so far"
        elif chunk["usage"] is None:
            yield "neither choices nor usage"
        else:
            self._counted = True
            if not all(choice.finished for choice in self._choices.values()):
                yield "usage before the end"
