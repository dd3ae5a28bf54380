"""One regular expression for many literal texts, whose cost does not grow with their number.

A model may have a thousand control tokens that begin alike, and a client may send megabytes of that beginning. Tried one after
the other they would cost a thousand comparisons per character; in a tree of shared prefixes they cost a few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby


def any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches, at any place, the longest of the ``texts`` that stands there; empty texts are left out."""
    # In reverse order a text comes after those that it is a prefix of, so the longest is tried first.
    ordered = sorted({text for text in texts if text}, reverse=True)
    return re.compile(_tree(ordered) if ordered else "(?!)")


def _tree(ordered: Sequence[str]) -> str:
    return "|".join(_branch(list(group)) for _, group in groupby(ordered, key=lambda text: text[:1]))


def _branch(alike: Sequence[str]) -> str:
    """The pattern of texts that share their first character."""
    if len(alike) == 1:
        return re.escape(alike[0])
    shared = _common_prefix(alike[0], alike[-1])
    return f"{re.escape(shared)}(?:{_tree([text[len(shared) :] for text in alike])})"


def _common_prefix(left: str, right: str) -> str:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return left[:index]
    return min(left, right, key=len)
