"""A tokenizer that anybody can do by hand: one token per UTF-8 byte, six control tokens, and a few words.

A text is tokenised into bytes and control tokens only, so the length of a prompt is its number of bytes. The words are
what the canned answer is written in, so that an answer has tokens of several bytes, as real ones do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dragoman.core.request import TextPrompt
from dragoman.engines.base import FillInTokens, SpecialToken

END_OF_TEXT: Final = 256
IM_START: Final = 257
IM_END: Final = 258

ANSWER: Final = "A dragoman stood between two courts and said to each what the other meant."
"""The canned answer. A request that wants more gets it again."""

WORDS: Final = tuple(ANSWER.split(" "))

FIRST_WORD: Final = 259

FIRST_AGAIN: Final = FIRST_WORD + len(WORDS)
"""The first word after others, with its blank."""

FILL_IN: Final = FillInTokens(prefix="<|fim_prefix|>", suffix="<|fim_suffix|>", middle="<|fim_middle|>")

FIRST_FILL_IN: Final = FIRST_AGAIN + 1
"""The tokens around a gap come last."""

_TURNS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_FILL_IN: Final = (FILL_IN.prefix, FILL_IN.suffix, FILL_IN.middle)

SPECIAL: Final = (
    *(SpecialToken(id=token, text=text) for token, text in enumerate(_TURNS, END_OF_TEXT)),
    *(SpecialToken(id=token, text=text) for token, text in enumerate(_FILL_IN, FIRST_FILL_IN)),
)

PIECES: Final = (
    *(bytes([byte]) for byte in range(256)),
    *(text.encode() for text in _TURNS),
    *(WORDS[0].encode(), *(f" {word}".encode() for word in WORDS[1:])),
    f" {WORDS[0]}".encode(),
    *(text.encode() for text in _FILL_IN),
)
"""The bytes of every id."""

_SPECIAL_IDS: Final = frozenset(token.id for token in SPECIAL)
_IDS: Final = {token.text: token.id for token in SPECIAL}
_CONTROL: Final = re.compile("|".join(re.escape(text) for text in _IDS))


def is_special(token: int | None) -> bool:
    """Whether an id is a control token's."""
    return token in _SPECIAL_IDS


def tokenize(prompt: TextPrompt) -> tuple[int, ...]:
    """Ids of a text. Control tokens are recognised outside its ``plain`` ranges; none is ever added."""
    ids: list[int] = []
    at = 0
    for start, end in _special_ranges(prompt):
        ids += prompt.text[at:start].encode()
        for match in _CONTROL.finditer(prompt.text, start, end):
            ids += prompt.text[start : match.start()].encode()
            ids.append(_IDS[match.group()])
            start = match.end()  # noqa: PLW2901 - the part of the range that is still to be read
        ids += prompt.text[start:end].encode()
        at = end
    ids += prompt.text[at:].encode()
    return tuple(ids)


def detokenize(ids: Sequence[int], *, special: bool = True) -> tuple[bytes, ...]:
    """The bytes of each id. Raises ``ValueError`` for one that is none."""
    if any(not 0 <= token < len(PIECES) for token in ids):
        raise ValueError(f"ids go from 0 to {len(PIECES) - 1}")
    return tuple(b"" if is_special(token) and not special else PIECES[token] for token in ids)


def _special_ranges(prompt: TextPrompt) -> list[tuple[int, int]]:
    """Where control tokens may stand: everywhere but in the plain ranges."""
    if not prompt.parse_special:
        return []
    ranges = []
    at = 0
    for start, end in prompt.plain:
        ranges.append((at, start))
        at = end
    return [*ranges, (at, len(prompt.text))]
