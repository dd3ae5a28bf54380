"""The control tokens of a model as texts: where they stand, and which text could become one.

Knows nothing of templates. A text is harmless if no part of it can be part of a control token's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.core.text import held_back
from dragoman.dialects.literals import any_of

_NEUTRAL = frozenset(map(chr, range(32))) | frozenset(' "\\')
"""Characters that templates trim and JSON escapes. They are left alone wherever a token can be told by its others."""


class ControlTexts:
    """The texts of all control tokens of one model."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = tuple(dict.fromkeys(text for text in texts if text))
        self._pattern = any_of(self._texts)
        self._joined = "\0".join(self._texts)
        bodies = [_all_but(text, _NEUTRAL.__contains__) for text in self._texts]
        self.alphabet = frozenset("".join(bodies))
        """The characters by which control tokens are told; none is white space if that can be had."""
        self._marks = any_of("".join(_all_but(body, str.isalnum) for body in bodies))

    def sequence(self, text: str) -> list[str]:
        """The control tokens that a tokenizer would see in ``text``, in order: the longest first, none twice."""
        return self._pattern.findall(text)

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """Every place where a control token's text stands, as half-open ranges that may overlap, ordered by their start."""
        position = 0
        while (match := self._pattern.search(text, position)) is not None:
            yield match.span()
            position = match.start() + 1

    def has_whole(self, text: str) -> bool:
        """Whether a control token's text stands in ``text``."""
        return self._pattern.search(text) is not None

    def has_mark(self, text: str) -> bool:
        """Whether ``text`` holds punctuation of a control token, such as ``<`` or ``|``; without any it can hardly be part of one."""
        return self._marks.search(text) is not None

    def may_be_inside(self, text: str) -> bool:
        """Whether ``text``, trimmed, is a piece of a control token: ``end`` is, where a template writes ``<|`` and ``|>`` around it."""
        trimmed = text.strip()
        return bool(trimmed) and trimmed in self._joined

    def is_apart_from(self, text: str) -> bool:
        """Whether no control token can contain, be contained in, or overlap with an occurrence of ``text``."""
        return (
            text not in self._joined
            and not self.has_whole(text)
            and not held_back(text, self._texts)
            and not any(held_back(special, (text,)) for special in self._texts)
        )


def _all_but(text: str, excluded: Callable[[str], bool]) -> str:
    """The characters that are not ``excluded``; all of them if every one is."""
    return "".join(character for character in text if not excluded(character)) or text
