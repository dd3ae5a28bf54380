"""Where the text of an answer ends: the client's stops, those of the model's family, and what must be there before one counts.

Sees text only: a stop inside reasoning ends nothing.
"""

from __future__ import annotations

from typing import Final

from dragoman.core.request import OutputLimits
from dragoman.core.text import ScanResult, StopScanner
from dragoman.dialects.base import Channel, Piece
from dragoman.serving.deltas import Deltas

_TEXT: Final = Channel.TEXT  # looking a member up in its enum would cost a quarter of ``feed``


class StopGate:
    """Lets text through to the deltas, up to the stop that ends it (S27).

    ``limits.stop`` are the client's; ``markers`` end a turn, too, but are nobody's request (S28). A marker in front of all content is
    thrown away, since it ends the turn before; a client's stop only where ``limits.ignore_leading_stop`` says so (S29). ``ended`` is
    final. ``stop`` is what the client asked for and got.
    """

    def __init__(self, limits: OutputLimits, markers: tuple[str, ...], deltas: Deltas) -> None:
        client = limits.stop
        self.ended = False
        self.stop: str | int | None = None
        self._client = frozenset(client)
        self._include = limits.include_stop
        self._stops = tuple(dict.fromkeys((*client, *markers)))
        self._scanner = StopScanner(self._stops) if self._stops else None
        # Emptied by the first content.
        self._leading = frozenset(
            stop for stop in self._stops if limits.ignore_leading_stop or stop not in self._client
        )
        self._early = 0
        self._deltas = deltas

    def protect(self, characters: int) -> None:
        """So many more characters of the output come too early for a stop to end in them (S36)."""
        self._early += characters

    def feed(self, piece: Piece) -> None:
        """Take the next piece of the output, and show what is certain of the text."""
        early = 0
        if self._early:
            early = min(self._early, len(piece.text))
            self._early -= early
        if piece.channel is _TEXT:
            if self._scanner is None:
                self._show(piece.text)
            else:
                self._scan(self._scanner, piece.text, early)
        elif piece.channel is Channel.REASONING and not piece.text.isspace():
            self._leading = frozenset()

    def stops_at(self, control: str) -> bool:
        """Whether the control token of this text is a stop."""
        return control in self._stops

    def throws_away(self, control: str) -> bool:
        """Whether it is one, but stands in front of all content."""
        return control in self._leading and not (self._scanner and self._scanner.held.strip())

    def end_at(self, stop: str) -> None:
        """This stop is met, and what waits is before it."""
        asked = stop in self._client
        self.end(stop if asked else None, shown=stop if asked and self._include else "")

    def end(self, stop: str | int | None, *, shown: str = "") -> None:
        """The answer ends; the client sees ``shown`` of what ended it."""
        self._show(shown)
        self.ended = True
        self.stop = stop

    def interrupt(self) -> None:
        """A call stands here: what was held back is before it, and no stop spans it. It is content, too."""
        self.finish()
        self._leading = frozenset()

    def finish(self) -> None:
        """The output has ended: show what was held back. A stop may match even here."""
        scanner = self._scanner
        found = scanner is not None
        while scanner is not None and found and not self.ended:
            text = scanner.finish()
            found = scanner.matched is not None
            self._let(scanner, ScanResult(text, scanner.matched))

    def _scan(self, scanner: StopScanner, text: str, early: int) -> None:
        if early:
            self._show(scanner.pass_over(text[:early]))
        if early < len(text):
            self._let(scanner, scanner.feed(text[early:]))

    def _let(self, scanner: StopScanner, result: ScanResult) -> None:
        self._show(result.text)
        while result.matched is not None:
            if result.matched not in self._leading:
                self.end_at(result.matched)
                return
            self._deltas.drop(result.matched)
            result = scanner.resume()
            self._show(result.text)

    def _show(self, text: str) -> None:
        if text:
            if self._leading and not text.isspace():
                self._leading = frozenset()
            self._deltas.show(text)
