"""Where a reader puts what it has decided, and takes deltas from: with records of the tokens (``ledger``), or without.

Order law: each character of the output is announced with its token, then sorted; if it is text, it is then shown, or dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, Protocol, TypeAlias

from dragoman.core.events import Alternative, ReasoningDelta, TextDelta, ToolCallEvent, Visibility
from dragoman.dialects.base import Channel, Piece
from dragoman.protocol.frames import Data

Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallEvent

_Text: TypeAlias = TextDelta | ReasoningDelta

_REASONING: Final = Channel.REASONING  # a member costs more to look up in its enum than the rest of ``sort``


class Deltas(Protocol):
    """What becomes of one answer's output, as it is decided."""

    def token(
        self, data: Data, alternatives: tuple[Alternative, ...], characters: int, fate: Visibility = Visibility.SHOWN
    ) -> None:
        """A token came and completed so many characters of output. ``fate`` is its visibility where none of them is shown."""
        ...

    def more(self, characters: int) -> None:
        """The newest token has more characters than it was announced with."""
        ...

    def sort(self, piece: Piece) -> None:
        """The oldest unsorted characters are this piece. Reasoning is shown with that."""
        ...

    def show(self, text: str) -> None:
        """The oldest waiting characters of the text are these, and the client may see them."""
        ...

    def drop(self, text: str) -> None:
        """The oldest waiting characters of the text are these, and are never shown."""
        ...

    def call(self, event: ToolCallEvent) -> None:
        """Part of a call stands here, behind all that is sorted so far."""
        ...

    def cut(self) -> None:
        """The answer has ended: nothing that still waits is ever shown."""
        ...

    def take(self, *, generated: int, final: bool) -> Sequence[Delta]:
        """What may be sent now, where ``generated`` tokens were read; all that there is, if this is ``final``."""
        ...


class PlainDeltas:
    """Deltas without records: text goes out as soon as it is shown. No more than a list of what is new."""

    __slots__ = ("_choice", "_new")

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._new: list[tuple[type[_Text], str] | ToolCallEvent] = []

    def token(
        self, data: Data, alternatives: tuple[Alternative, ...], characters: int, fate: Visibility = Visibility.SHOWN
    ) -> None:
        """Nobody asked."""

    def more(self, characters: int) -> None:
        """Nobody asked."""

    def sort(self, piece: Piece) -> None:
        """Reasoning is shown; text waits for ``show``."""
        if piece.channel is _REASONING:
            self._new.append((ReasoningDelta, piece.text))

    def show(self, text: str) -> None:
        """The client may see this now."""
        self._new.append((TextDelta, text))

    def call(self, event: ToolCallEvent) -> None:
        """It goes out in its place."""
        self._new.append(event)

    def drop(self, text: str) -> None:
        """Only what is shown is kept."""

    def cut(self) -> None:
        """Only what is shown is kept."""

    def take(self, *, generated: int, final: bool) -> Sequence[Delta]:  # noqa: ARG002 -- nothing is ever kept back here
        """All that is new, one delta for each change of the channel."""
        new = self._new
        if not new:
            return ()
        self._new = []
        first = new[0]
        if len(new) == 1 and isinstance(first, tuple):
            kind, text = first
            return (kind(text=text, choice=self._choice, generated=generated),)
        deltas: list[Delta] = []
        for what, run in groupby(new, _kind):
            if what is None:
                deltas += (event for event in run if not isinstance(event, tuple))
            else:
                text = "".join(piece[1] for piece in run if isinstance(piece, tuple))
                deltas.append(what(text=text, choice=self._choice, generated=generated))
        return deltas


def _kind(new: tuple[type[_Text], str] | ToolCallEvent) -> type[_Text] | None:
    return new[0] if isinstance(new, tuple) else None
