"""From an engine's tokens to the text that a client may see: UTF-8, then the dialect, then stop strings.

No I/O and no events: one reader is fed one answer's tokens in order, and says when a stop string has ended it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.events import ReasoningDelta, TextDelta
from dragoman.core.text import StopScanner, Utf8Decoder
from dragoman.dialects.base import Channel, OutputParser, Piece
from dragoman.protocol.frames import Data


class RawText:
    """The parser of a raw prompt, which has no dialect: control tokens are not text, everything else is."""

    def feed(self, text: str, *, special: bool) -> Sequence[Piece]:
        """The text itself; nothing for a control token."""
        return (Piece(Channel.HIDDEN if special else Channel.TEXT, text),)

    def finish(self) -> Sequence[Piece]:
        """Nothing is ever held back."""
        return ()


class AnswerReader:
    """Reads one answer. ``stops`` are the client's; ``markers`` end a turn, too, but are nobody's request (S27, S28).

    ``ended`` turns true with the token that completes a stop; ``stop_sequence`` then names it if it was the client's.
    ``tokens`` counts what was read.
    """

    def __init__(
        self,
        *,
        parser: OutputParser,
        special_tokens: frozenset[int],
        stops: tuple[str, ...] = (),
        markers: tuple[str, ...] = (),
    ) -> None:
        self.tokens = 0
        self.ended = False
        self.stop_sequence: str | None = None
        self._parser = parser
        self._special_tokens = special_tokens
        self._client_stops = stops
        self._stops = tuple(dict.fromkeys((*stops, *markers)))
        self._decoder = Utf8Decoder()
        self._scanner = StopScanner(self._stops) if self._stops else None

    def feed(self, data: Data) -> Sequence[TextDelta | ReasoningDelta]:
        """Take one token; return the text that is certain now, often none."""
        return _deltas(self._feed(data))

    def finish(self) -> Sequence[TextDelta | ReasoningDelta]:
        """The engine has ended the answer; return what was held back. A stop may match even here."""
        return _deltas(self._flush(self._broken_off()))

    def _feed(self, data: Data) -> str:
        self.tokens += 1
        if data.token in self._special_tokens:
            return self._control(data.payload.decode(errors="replace"))
        text = self._decoder.feed(data.payload)
        if not text:
            return ""
        return self._show(_text(self._parser.feed(text, special=False)))

    def _control(self, text: str) -> str:
        before = self._broken_off()
        if text in self._stops:
            shown = self._flush(before)
            if not self.ended:
                self._note(text)
            return shown
        return self._show(before + _text(self._parser.feed(text, special=True)))

    def _broken_off(self) -> str:
        """The dialect's reading of bytes that never became a character."""
        rest = self._decoder.finish()
        return _text(self._parser.feed(rest, special=False)) if rest else ""

    def _flush(self, before: str) -> str:
        shown = self._show(before + _text(self._parser.finish()))
        if self._scanner is not None and not self.ended:
            shown += self._scanner.finish()
            self._note(self._scanner.matched)
        return shown

    def _show(self, text: str) -> str:
        if self._scanner is None or not text:
            return text
        result = self._scanner.feed(text)
        self._note(result.matched)
        return result.text

    def _note(self, matched: str | None) -> None:
        if matched is not None:
            self.ended = True
            self.stop_sequence = matched if matched in self._client_stops else None


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if piece.channel is Channel.TEXT)


def _deltas(text: str) -> Sequence[TextDelta]:
    return (TextDelta(text=text),) if text else ()
