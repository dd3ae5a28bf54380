"""From an engine's tokens to what a client may see: UTF-8, then the dialect, then stops.

No I/O: one reader is fed one answer's tokens in order, and says when a stop has ended it. The deltas are the same with and without
records of the tokens, but with them no token is torn in two by a delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from dragoman.core.events import Alternative, ToolCallArguments, ToolCallBegun, ToolCallEnded, Visibility
from dragoman.core.request import OutputLimits, Readout
from dragoman.core.text import Utf8Decoder
from dragoman.dialects.base import CallArguments, CallBegun, CallEnded, Channel, OutputParser, Parsed, Piece
from dragoman.protocol.frames import Data
from dragoman.serving.deltas import Delta, Deltas, PlainDeltas
from dragoman.serving.ledger import Ledger
from dragoman.serving.reasoning_count import ReasoningCount
from dragoman.serving.stops import StopGate

NO_READOUT: Final = Readout()


class RawText:
    """The parser of a raw prompt, which has no dialect: control tokens are not text, everything else is."""

    def feed(self, text: str, *, special: bool) -> Sequence[Piece]:
        """The text itself; nothing for a control token."""
        return (Piece(Channel.HIDDEN if special else Channel.TEXT, text),)

    def finish(self) -> Sequence[Piece]:
        """Nothing is ever held back."""
        return ()


class AnswerReader:
    """Reads one answer. ``markers`` are the texts that end a turn of this family, whatever the client's limits are (S28).

    ``tokens`` counts what was read, ``calls`` the calls that began; ``call_open``: the last of them has not ended.

    With records, each of them is in exactly one delta; what waits for a stop to be decided holds back all that follows it, reasoning
    too, since records come in order. A token with both text and reasoning is a record of the text, and its text comes before the calls
    that it completes.
    """

    def __init__(
        self,
        *,
        parser: OutputParser,
        special_tokens: frozenset[int],
        limits: OutputLimits,
        markers: tuple[str, ...] = (),
        readout: Readout = NO_READOUT,
        choice: int = 0,
    ) -> None:
        recorded = readout.logprobs is not None or readout.token_ids
        self.tokens = 0
        self.calls = 0
        self.call_open = False
        self._choice = choice
        self._parser = parser
        self._special = special_tokens
        self._apart = special_tokens | frozenset(limits.stop_token_ids)
        self._limits = limits
        self._shows_special = readout.special_tokens
        self._decoder = Utf8Decoder()
        self._newest_plain = 0  # the number of the last token that the decoder was fed
        self._count = ReasoningCount()
        self._deltas: Deltas = Ledger(choice, self._decoder) if recorded else PlainDeltas(choice)
        self._gate = StopGate(limits, markers, self._deltas)
        self._deferred: tuple[Data, tuple[Alternative, ...]] | None = None

    @property
    def ended(self) -> bool:
        """True from the token on that completed a stop; what was fed until then is out, and nothing follows."""
        return self._gate.ended

    @property
    def stop(self) -> str | int | None:
        """The client's stop string or stop token id that ended the answer."""
        return self._gate.stop

    @property
    def reasoning_tokens(self) -> int:
        """Tokens of reasoning, with the tags around it (S52)."""
        return self._count.tokens

    def feed(self, data: Data, alternatives: tuple[Alternative, ...] = ()) -> Sequence[Delta]:
        """Take one token; return what is certain now, often nothing."""
        if self._deferred is not None:  # it was not the last
            before, self._deferred = self._deferred, None
            self._control(*before, shown=True)
        self.tokens += 1
        if self._gate.ended:
            self._deltas.token(data, alternatives, 0, Visibility.CUT)
        elif data.token in self._apart:
            self._set_apart(data, alternatives)
        else:
            self._plain(data, alternatives)
        return self._take(final=False)

    def finish(self) -> Sequence[Delta]:
        """The engine has ended the answer; return what was held back. A stop may match even here."""
        if self._gate.ended:
            return ()
        if self._deferred is not None:  # what ends an answer is not part of it
            before, self._deferred = self._deferred, None
            self._control(*before, shown=False)
        self._flush()
        return self._take(final=True)

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _plain(self, data: Data, alternatives: tuple[Alternative, ...]) -> None:
        self._newest_plain = self.tokens
        text = self._decoder.feed(data.payload)
        self._deltas.token(data, alternatives, len(text))
        if text:
            self._sort(self._parse(text, self.tokens))

    def _set_apart(self, data: Data, alternatives: tuple[Alternative, ...]) -> None:
        if data.token in self._limits.stop_token_ids:
            self._stop_token(data, alternatives)
            return
        self._break_off()
        if self._shows_special and not self._gate.ended and not self._is_stop(_text(data)):
            self._deferred = (data, alternatives)
        else:
            self._control(data, alternatives, shown=False)

    def _stop_token(self, data: Data, alternatives: tuple[Alternative, ...]) -> None:
        """The engine ended at an id of the client's. Its text is shown where stops are, as other tokens of its kind are (S38)."""
        control = data.token in self._special
        shown = self._limits.include_stop and (self._shows_special or not control)
        text = ""
        if shown and not control:
            self._plain(data, alternatives)  # a stop string may end in it
            self._flush()
        else:
            self._flush()
            text = _text(data) if shown else ""
            self._deltas.token(data, alternatives, len(text), Visibility.CONTROL if control else Visibility.CUT)
        if not self._gate.ended:
            self._deltas.sort(Piece(Channel.TEXT, text))
            self._gate.end(data.token, shown=text)

    def _control(self, data: Data, alternatives: tuple[Alternative, ...], *, shown: bool) -> None:
        text = _text(data)
        self._deltas.token(data, alternatives, len(text), Visibility.CONTROL)
        if not text:
            return
        parsed = self._parse(text, self.tokens, special=True)
        place = max(index for index, piece in enumerate(parsed) if isinstance(piece, Piece))
        own = parsed[place]
        assert isinstance(own, Piece)
        self._sort(parsed[:place])
        if self._gate.ended:
            return
        if self._is_stop(text) and not self._gate.throws_away(text):
            self._gate.finish()
            if not self._gate.ended:
                self._deltas.sort(Piece(Channel.TEXT, text))
                self._gate.end_at(text)
            return
        self._count.note(own.channel, self.tokens)
        if shown and own.channel is Channel.HIDDEN:
            own = Piece(Channel.TEXT, text)
        self._deltas.sort(own)
        self._gate.feed(own)
        self._sort(parsed[place + 1 :])

    def _is_stop(self, control: str) -> bool:
        return self._gate.stops_at(control) and self.tokens > self._limits.min_tokens

    # --- characters --------------------------------------------------------------------------------------------------

    def _parse(self, text: str, token: int, *, special: bool = False) -> Sequence[Parsed]:
        if token <= self._limits.min_tokens:
            self._gate.protect(len(text))
        return self._parser.feed(text, special=special)

    def _sort(self, pieces: Sequence[Parsed]) -> None:
        for piece in pieces:
            if self._gate.ended:
                return  # the rest stays unsorted, to be cut
            if not isinstance(piece, Piece):
                self._call(piece)
                continue
            self._count.note(piece.channel, self.tokens)
            self._deltas.sort(piece)
            self._gate.feed(piece)

    def _call(self, part: CallBegun | CallArguments | CallEnded) -> None:
        match part:
            case CallBegun(name):
                self._gate.interrupt()
                if self._gate.ended:
                    return
                self._deltas.call(
                    ToolCallBegun(index=self.calls, name=name, choice=self._choice, generated=self.tokens)
                )
                self.calls += 1
                self.call_open = True
            case CallArguments(text):
                self._deltas.call(
                    ToolCallArguments(index=self.calls - 1, text=text, choice=self._choice, generated=self.tokens)
                )
            case CallEnded():
                self._deltas.call(ToolCallEnded(index=self.calls - 1, choice=self._choice, generated=self.tokens))
                self.call_open = False
            case _:
                assert_never(part)

    def _break_off(self) -> None:
        """What is left of a character that never became whole is read as its replacement."""
        rest = self._decoder.finish()
        if rest:
            self._deltas.more(len(rest))
            self._sort(self._parse(rest, self._newest_plain))

    def _flush(self) -> None:
        self._break_off()
        if not self._gate.ended:
            self._sort(self._parser.finish())
            self._gate.finish()

    def _take(self, *, final: bool) -> Sequence[Delta]:
        if self._gate.ended:
            self._deltas.cut()
            final = True
        return self._deltas.take(generated=self.tokens, final=final)


def _text(control: Data) -> str:
    return control.payload.decode(errors="replace")
