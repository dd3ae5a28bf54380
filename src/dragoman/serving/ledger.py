"""Which token each character of an answer came from, so that every delta can say what it is made of (S82, S83).

Characters move in the order in which they came: from *unsorted*, when the dialect decides, to *waiting*, where they are text, and out
of there when they are shown or dropped. Each queue holds shares, a token with a number of its characters. A token that has no share
in a queue is settled, and leaves as a record once all before it have. So text goes out by whole tokens.

A token that ends inside a character has an empty share for that, which moves with the next character: what becomes of that becomes of
it, and if there is none, the replacement for the broken one is its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from dragoman.core.events import Alternative, ReasoningDelta, TextDelta, TokenRecord, ToolCallEvent, Visibility
from dragoman.core.text import Utf8Decoder
from dragoman.dialects.base import Channel, Piece
from dragoman.protocol.frames import Data
from dragoman.serving.deltas import Delta


class Ledger:
    """Deltas with a record for each token, exactly once and in order; those that never had text come with, or after, what follows.

    ``decoder`` has read a token's bytes before the token is entered.
    """

    def __init__(self, choice: int, decoder: Utf8Decoder) -> None:
        self._choice = choice
        self._decoder = decoder
        self._entries: deque[_Entry | ToolCallEvent] = deque()
        self._newest: _Entry | None = None
        self._unsorted: deque[_Share] = deque()
        self._waiting: deque[_Share] = deque()
        self._loose: list[TokenRecord] = []  # records without text, until there is a delta to carry them

    def token(
        self, data: Data, alternatives: tuple[Alternative, ...], characters: int, fate: Visibility = Visibility.SHOWN
    ) -> None:
        """Enter a token. ``fate`` is its visibility where none of its characters is shown."""
        entry = _Entry(data=data, alternatives=alternatives, fate=fate)
        self._entries.append(entry)
        self._newest = entry
        if characters:
            _share(self._unsorted, entry, characters)
        if self._decoder.inside:
            _share(self._unsorted, entry, 0)

    def more(self, characters: int) -> None:
        """The newest token ended inside a character, and there is to be a replacement for it."""
        assert self._newest is not None  # or nothing could have been broken off
        _share(self._unsorted, self._newest, characters)

    def sort(self, piece: Piece) -> None:
        """The oldest unsorted characters are this piece."""
        for entry, text in _spread(self._unsorted, piece.text):
            match piece.channel:
                case Channel.TEXT:
                    _share(self._waiting, entry, len(text))
                case Channel.REASONING:
                    entry.thought += text
                case Channel.HIDDEN:
                    entry.hide()
                case _:
                    assert_never(piece.channel)

    def show(self, text: str) -> None:
        """The oldest waiting characters are these, and the client may see them."""
        for entry, share in _spread(self._waiting, text):
            entry.text += share

    def drop(self, text: str) -> None:
        """The oldest waiting characters are these, and are never shown."""
        for entry, _ in _spread(self._waiting, text):
            entry.hide()

    def call(self, event: ToolCallEvent) -> None:
        """It leaves in its turn, once all tokens before it have."""
        self._entries.append(event)

    def cut(self) -> None:
        """Nothing that still waits is ever shown."""
        for queue in (self._unsorted, self._waiting):
            for share in queue:
                share.entry.cut = True
            queue.clear()

    def take(self, *, generated: int, final: bool) -> Sequence[Delta]:
        """The settled tokens, as one delta for each change of the channel."""
        runs: list[_Run | ToolCallEvent] = []
        while self._entries and (final or not _waits(self._entries[0])):
            entry = self._entries.popleft()
            if not isinstance(entry, _Entry):
                runs.append(entry)
                continue
            self._loose.append(entry.record())
            if entry.text and entry.thought:  # its record goes with the text, so this part goes without
                runs.append(_Run(channel=Channel.REASONING, text=entry.thought))
            if entry.channel is Channel.HIDDEN:
                continue
            run = runs[-1] if runs else None
            if not isinstance(run, _Run) or run.channel is not entry.channel:
                run = _Run(channel=entry.channel)
                runs.append(run)
            run.text += entry.shown
            run.records += self._loose
            self._loose = []
        if final and self._loose:
            runs.append(_Run(channel=Channel.TEXT, records=self._loose))
            self._loose = []
        return [run.delta(self._choice, generated) if isinstance(run, _Run) else run for run in runs]


@dataclass(slots=True, kw_only=True)
class _Entry:
    """A token and what has become of its characters so far. ``shares`` counts those that are not decided."""

    data: Data
    alternatives: tuple[Alternative, ...]
    fate: Visibility
    text: str = ""
    thought: str = ""
    shares: int = 0
    cut: bool = False

    @property
    def shown(self) -> str:
        """What a client gets of it in the delta that carries its record."""
        return self.text or self.thought

    @property
    def channel(self) -> Channel:
        """The channel of that delta; ``HIDDEN`` where it does not matter."""
        if self.text:
            return Channel.TEXT
        return Channel.REASONING if self.thought else Channel.HIDDEN

    def hide(self) -> None:
        """Some of its characters are never shown."""
        if self.fate is Visibility.SHOWN:
            self.fate = Visibility.HIDDEN

    def record(self) -> TokenRecord:
        """The settled token. One that was cut says so in its bytes, and in those of the alternative that it is itself (S82)."""
        shown, data, alternatives = self.shown, self.data.payload, self.alternatives
        if self.cut and shown:
            data = shown.encode()
            alternatives = tuple(
                replace(other, data=data) if other.id == self.data.token else other for other in alternatives
            )
        numeric = self.data.numeric
        return TokenRecord(
            id=self.data.token,
            text=shown,
            data=data,
            logprob=None if numeric is None else numeric.logprob,
            alternatives=alternatives,
            visibility=self._visibility(),
        )

    def _visibility(self) -> Visibility:
        if self.shown:
            return Visibility.SHOWN
        return Visibility.CUT if self.cut and self.fate is not Visibility.CONTROL else self.fate


@dataclass(slots=True)
class _Share:
    """Characters of a token that stand together in a queue."""

    entry: _Entry
    length: int


@dataclass(slots=True, kw_only=True)
class _Run:
    """A delta in the making."""

    channel: Channel
    text: str = ""
    records: list[TokenRecord] = field(default_factory=list)

    def delta(self, choice: int, generated: int) -> Delta:
        kind = TextDelta if self.channel is Channel.TEXT else ReasoningDelta
        return kind(text=self.text, choice=choice, tokens=tuple(self.records), generated=generated)


def _waits(entry: _Entry | ToolCallEvent) -> bool:
    return isinstance(entry, _Entry) and entry.shares > 0


def _share(queue: deque[_Share], entry: _Entry, length: int) -> None:
    queue.append(_Share(entry, length))
    entry.shares += 1


def _spread(queue: deque[_Share], text: str) -> Iterator[tuple[_Entry, str]]:
    """Take ``text`` off the front of the queue: each token that has a share in it, with its part."""
    start = 0
    while start < len(text):
        share = queue[0]
        end = min(start + share.length, len(text))
        share.length -= end - start
        if not share.length:
            queue.popleft()
            share.entry.shares -= 1
        yield share.entry, text[start:end]
        start = end
