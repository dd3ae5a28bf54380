"""The words of a header line: decimal numbers, floats, flags, lists of token ids and text for people.

Readers raise ``ValueError`` with a short reason. They are stricter than ``int`` and ``float``, which also take signs,
underscores and blanks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from dragoman.core.json import JsonObject

MAX_ID: Final = 2**64 - 1
"""A request id is an unsigned 64-bit number that is not zero (seeds.md 2.3)."""

MAX_ID_CHARS: Final = 63
"""An id's word with its leading zeros (the limit of serve_codec.h, seeds.md 2.3)."""

MAX_COUNT: Final = 2**63 - 1
"""Any other number: engines hold them in signed 64-bit integers."""

MAX_TOKEN_ID: Final = 2**31 - 1
"""llama.cpp and every other engine we know keep token ids in signed 32-bit integers."""

MAX_PROSE_BYTES: Final = 2048
"""Text for people in a header line; half of the line, so that the rest always fits."""

_REASON: Final = re.compile(r"[a-z][a-z_]{0,31}")
_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,31}")


def show(word: bytes) -> str:
    """A word for a message: never long, never a control character."""
    return ascii(word[:40])[1:]


def natural(word: bytes, limit: int = MAX_COUNT) -> int:
    """A decimal number from 0 to ``limit``."""
    if not word.isdigit():
        raise ValueError(f"{show(word)} is not a decimal number")
    number = int(word)
    if number > limit:
        raise ValueError(f"{show(word)} is above {limit}")
    return number


def real(word: bytes) -> float:
    """A float as printf writes it, ``nan`` and ``inf`` included."""
    if b"_" in word:
        raise ValueError(f"{show(word)} is not a number")
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{show(word)} is not a number") from None


def flag(word: bytes) -> bool:
    """``0`` or ``1``."""
    if word not in {b"0", b"1"}:
        raise ValueError(f"{show(word)} is not 0 or 1")
    return word == b"1"


def request_id(words: Sequence[bytes], *, or_zero: bool = False) -> int:
    """The id in the second word; 0, which means nobody, only with ``or_zero``."""
    if len(words) < 2:
        raise ValueError("no request id")
    if len(words[1]) > MAX_ID_CHARS:
        raise ValueError("the request id is too long")
    number = natural(words[1], MAX_ID)
    if number == 0 and not or_zero:
        raise ValueError("request id 0")
    return number


def option(word: bytes, key: bytes) -> bytes | None:
    """The value of ``key=value``; None where the word is something else."""
    return word[len(key) + 1 :] if word.startswith(key + b"=") else None


def is_code(text: str) -> bool:
    """An upper-case word, as the kinds of frames and the codes of errors are."""
    return _CODE.fullmatch(text) is not None


def is_reason(text: str) -> bool:
    """A lower-case word, as the reasons of misses are."""
    return _REASON.fullmatch(text) is not None


def parse_ids(payload: bytes) -> tuple[int, ...]:
    """Token ids: ASCII decimal numbers separated by white space."""
    words = payload.split()
    # Ten digits hold every legal id; longer words are cut off before they cost time as big integers.
    if not all(word.isdigit() and len(word) <= 10 for word in words):
        raise ValueError("a token id is not a decimal number")
    ids = tuple(map(int, words))
    if ids and max(ids) > MAX_TOKEN_ID:
        raise ValueError(f"a token id is above {MAX_TOKEN_ID}")
    return ids


def format_ids(ids: Iterable[int]) -> bytes:
    """The payload that ``parse_ids`` reads."""
    return b" ".join([b"%d" % token for token in ids])


def parse_json(payload: bytes) -> JsonObject:
    """A JSON object. NaN and infinities are not JSON."""
    try:
        value = json.loads(payload, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("JSON that is not an object")
    return value


def format_json(value: JsonObject) -> bytes:
    """Compact JSON in ASCII, so that lone surrogates and every control character survive the pipe."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def prose(text: str) -> bytes:
    """Text for people, on one line, in single blanks, cut to ``MAX_PROSE_BYTES``. Never fails: it reports failures."""
    cut = " ".join(text.split()).encode(errors="replace")[:MAX_PROSE_BYTES]
    return " ".join(cut.decode(errors="ignore").split()).encode()


def read_prose(words: Sequence[bytes]) -> str:
    """What ``prose`` wrote, from the words of its line."""
    return b" ".join(words).decode(errors="replace")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
