"""Tells a client's text from a template's own text in a prompt that a template wrote.

A template is a program: it trims, cuts, joins and branches, so nobody can say by looking at a prompt who wrote which character.
Hence a prompt is written twice. The second time, the characters of the client's texts that could be part of a control token are
veiled: each is replaced by a stand-in, a character that occurs nowhere in the request. Where both prompts say the same, the
places of the stand-ins are the client's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from dragoman.dialects.control import ControlTexts

_FIRST, _LAST = 0x20000, 0x2A6DF
"""CJK extension B: no case, no white space, printed by Python's repr and by JSON as they are, and rare in any text."""

_RARE = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")


def free_characters(texts: Iterable[str]) -> Iterator[str]:
    """Characters that none of the ``texts`` holds, and that no template is likely to change or to ask for."""
    used = {rare for text in texts for rare in _RARE.findall(text)}
    return (chr(code) for code in range(_FIRST, _LAST + 1) if chr(code) not in used)


class Veil:
    """Stand-ins for one request. ``texts`` is all that may reach the prompt; ``spared`` texts stay as they are."""

    def __init__(self, control: ControlTexts, *, texts: Iterable[str], spared: re.Pattern[str]) -> None:
        """Raises ``ValueError`` if the texts leave too few characters to choose from."""
        free = free_characters((*texts, *control.alphabet))
        cover = dict(zip(sorted(control.alphabet), free, strict=False))
        if len(cover) < len(control.alphabet):
            raise ValueError("the text uses every character that could stand for another")
        self._control = control
        self._spared = spared
        self._cover = cover
        self._stand_ins = re.compile(f"[{''.join(cover.values())}]+" if cover else "(?!)")

    def cover(self, text: str) -> str:
        """``text`` with its telling characters veiled; one character stays one character."""
        kept: list[str] = []
        position = 0
        for spared in self._spared.finditer(text):
            kept += (self._covered(text[position : spared.start()]), spared.group())
            position = spared.end()
        kept.append(self._covered(text[position:]))
        return "".join(kept)

    def lift(self, veiled: str) -> str:
        """The text as it was."""
        for character, stand_in in self._cover.items():
            veiled = veiled.replace(stand_in, character)
        return veiled

    def plain_spans(self, text: str, veiled: str) -> tuple[tuple[int, int], ...]:
        """Ranges of ``text`` that keep every control token with a client's character in it from being recognised.

        ``veiled`` is the same text under the veil. The ranges are ordered and disjoint, and leave out every control token that
        the template wrote. They reach over whatever lies between, so there are never more of them than of those tokens, plus one.
        """
        own: list[int] = []
        shares: list[tuple[int, int]] = []
        for start, end in self._control.occurrences(text):
            clients = [run.span() for run in self._stand_ins.finditer(veiled, start, end)]
            shares += clients
            if not clients:
                own.append(start)
        spans: list[tuple[int, int]] = []
        for start, end in sorted(shares):
            if spans and bisect_left(own, spans[-1][1]) == bisect_left(own, start):
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return tuple(spans)

    def _covered(self, text: str) -> str:
        # No stand-in is in the alphabet, so one character after the other comes to the same as all at once,
        # which ``str.translate`` does twenty times slower.
        for character, stand_in in self._cover.items():
            text = text.replace(character, stand_in)
        return text
