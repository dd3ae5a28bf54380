"""Text that arrives in pieces: what is certain goes on at once, what is not yet decided is held back.

Law: the result depends on the whole input only, never on where it was cut. Nothing here knows tokens or wire formats.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass


class Utf8Decoder:
    """Decodes bytes that may be cut inside a character, as tokens of a byte-level vocabulary are."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the characters that are complete; bytes that can be part of none become U+FFFD."""
        return self._decoder.decode(data)

    @property
    def inside(self) -> bool:
        """Whether the bytes so far end inside a character."""
        return bool(self._decoder.getstate()[0])

    def finish(self) -> str:
        """Return U+FFFD if the bytes ended inside a character, and be ready for a new text."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest


def held_back(text: str, markers: Iterable[str]) -> int:
    """Length of the longest end of ``text`` with which one of the ``markers`` could still begin; 0 if none could.

    A whole marker is not counted: it is there already.
    """
    longest = 0
    for marker in markers:
        start = max(0, len(text) - len(marker) + 1)
        # Few positions hold the marker's first character, so most texts cost one search and no comparison.
        while (start := text.find(marker[0], start, len(text) - longest)) >= 0:
            if marker.startswith(text[start:]):
                longest = len(text) - start
                break
            start += 1
    return longest


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Text that is certain not to belong to a stop, and the stop that ended it, if one has."""

    text: str
    matched: str | None = None


class StopScanner:
    """Cuts a growing text before the first stop string (S27).

    The stop that begins first wins; of two that begin together, the one that is listed first. So that this holds however
    the text is cut, a complete stop waits while an earlier or preferred one may still be completed; ``finish`` decides then.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        """Raises ``ValueError`` for an empty stop, which would be everywhere."""
        if not all(stops):
            raise ValueError("a stop string is never empty")
        self._stops = stops
        self._held = ""
        self._exempt = 0  # characters at the start of what is held in which no stop may end
        self._behind = ""
        self._matched: str | None = None

    @property
    def matched(self) -> str | None:
        """The stop that ended the text, after ``feed`` or ``finish`` found it."""
        return self._matched

    @property
    def held(self) -> str:
        """Text that is not decided yet."""
        return self._held

    def feed(self, text: str) -> ScanResult:
        """Take more text and return what the client may see of it; nothing more after a match."""
        if not self._stops:
            return ScanResult(text)
        if self._matched is not None:
            return ScanResult("", self._matched)
        text = self._held + text
        certain = len(text) - held_back(text, self._stops)
        found = self._first(text)
        if found is None or self._may_be_overtaken(text, found, certain):
            self._hold(text, certain)
            return ScanResult(text[:certain])
        return self._cut(text, found)

    def pass_over(self, text: str) -> str:
        """Take text in which no stop may end, and return what the client may see of it.

        A stop that begins in it may still end in what follows. Only before the first ``feed``.
        """
        text = self._held + text
        certain = len(text) - held_back(text, self._stops)
        self._exempt = len(text)
        self._hold(text, certain)
        return text[:certain]

    def resume(self) -> ScanResult:
        """Leave out the stop that matched, and go on behind it as with a new text."""
        behind, self._behind, self._matched = self._behind, "", None
        return self.feed(behind)

    def finish(self) -> str:
        """The text has ended: return what was held back, up to a stop that had to wait (see ``matched``)."""
        text = self._held
        self._held = ""
        found = self._first(text)
        return text if found is None else self._cut(text, found).text

    def _first(self, text: str) -> tuple[int, int] | None:
        """Offset and rank of the stop that wins, among those that are complete."""
        return min(
            (
                (offset, rank)
                for rank, stop in enumerate(self._stops)
                if (offset := text.find(stop, max(0, self._exempt - len(stop) + 1))) >= 0
            ),
            default=None,
        )

    def _may_be_overtaken(self, text: str, found: tuple[int, int], certain: int) -> bool:
        offset, rank = found
        return certain < offset or (
            certain == offset and held_back(text[offset:], self._stops[:rank]) == len(text) - offset
        )

    def _hold(self, text: str, certain: int) -> None:
        self._held = text[certain:]
        self._exempt = max(0, self._exempt - certain)

    def _cut(self, text: str, found: tuple[int, int]) -> ScanResult:
        offset, rank = found
        self._matched = self._stops[rank]
        self._held, self._exempt, self._behind = "", 0, text[offset + len(self._matched) :]
        return ScanResult(text[:offset], self._matched)
