"""The control tokens of a model as texts: where they stand, and which text could become one.

Knows nothing of templates. A text is harmless if no part of it can be part of a control token's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dragoman.core.text import held_back
from dragoman.dialects.literals import any_of

_WORD: Final = re.compile(r"[A-Za-z0-9_.$-]*")


class ControlTexts:
    """The texts of all control tokens of one model."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = tuple(dict.fromkeys(text for text in texts if text))
        self._pattern = any_of(self._texts)
        self._joined = "\0".join(self._texts)
        self._beginnings = _beginnings(self._texts)
        self.alphabet = frozenset(self._joined) - {"\0"}
        """The characters of control tokens; text without any of them can be part of none."""
        self._marks = any_of("".join(map(_punctuation, self._texts)))
        self._open_ended = tuple(text for text in self._texts if any(map(_WORD.fullmatch, (text[0], text[-1]))))

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """Every place where a control token's text stands, as half-open ranges in order of their start.

        They may overlap and hold each other: which of them a tokenizer recognises is not ours to guess.
        """
        position = 0
        while (match := self._pattern.search(text, position)) is not None:
            start, end = match.span()
            yield start, end
            for shorter in self._beginnings[match.group()]:
                yield start, start + len(shorter)
            position = start + 1

    def sequence(self, text: str) -> list[str]:
        """The control tokens whose texts stand in ``text``, in order."""
        return [text[start:end] for start, end in self.occurrences(text)]

    def has_whole(self, text: str) -> bool:
        """Whether a control token's text stands in ``text``."""
        return self._pattern.search(text) is not None

    def has_mark(self, text: str) -> bool:
        """Whether ``text`` holds punctuation of a control token, such as ``<`` or ``|``; without any it can hardly be part of one."""
        return self._marks.search(text) is not None

    def may_be_part(self, text: str) -> bool:
        """Whether ``text``, trimmed or not, could be a piece of a control token, or one of its ends could.

        ``end`` is a piece, where a template writes ``<|`` and ``|>`` around it. An end is one only of tokens that begin or end like a
        word: of ``EOS``, the beginning of ``Sorry`` is the end.
        """
        trimmed = text.strip()
        if not trimmed:
            return False
        return trimmed in self._joined or self._meets_a_word(text) or self._meets_a_word(trimmed)

    def _meets_a_word(self, text: str) -> bool:
        if not self._open_ended:
            return False
        return bool(held_back(text, self._open_ended)) or any(held_back(token, (text,)) for token in self._open_ended)

    def is_apart_from(self, text: str) -> bool:
        """Whether no control token can contain, be contained in, or overlap with an occurrence of ``text``."""
        return self._is_apart_from(text, self._texts)

    def is_plain_word(self, text: str) -> bool:
        """Whether ``text`` is a name as programs have them, and apart from all control tokens."""
        # Most tokens begin and end with punctuation, which no word has, so only the few others need a look.
        return _WORD.fullmatch(text) is not None and self._is_apart_from(text, self._open_ended)

    def _is_apart_from(self, text: str, overlapping: tuple[str, ...]) -> bool:
        return (
            text not in self._joined
            and not self.has_whole(text)
            and not held_back(text, overlapping)
            and not any(held_back(special, (text,)) for special in overlapping)
        )


def _punctuation(text: str) -> str:
    """The characters by which ``text`` stands out from words; all of them if it does not."""
    return "".join(character for character in text if not character.isalnum()) or text


def _beginnings(texts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """For each text, the others that it begins with."""
    known = frozenset(texts)
    return {text: tuple(text[:n] for n in range(1, len(text)) if text[:n] in known) for text in texts}
