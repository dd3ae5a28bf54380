"""References within one document: JSON Pointers (RFC 6901) in the fragment of a URI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from dragoman.core.json import Json

Path: TypeAlias = tuple[str | int, ...]
"""Steps from a document's root: names of members and indices of items."""

Pointer: TypeAlias = tuple[str, ...]
"""The same as a pointer has it: indices are text, too."""


def pointer_of(reference: str) -> Pointer | None:
    """Where a ``$ref`` leads within its own document; None where it leads elsewhere, or to an anchor."""
    if not reference.startswith("#"):
        return None
    fragment = unquote(reference[1:])
    if not fragment:
        return ()
    if not fragment.startswith("/"):
        return None
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in fragment[1:].split("/"))


def pointer_to(path: Path) -> Pointer:
    """A path as a pointer."""
    return tuple(str(step) for step in path)


def resolve(root: Json, pointer: Pointer) -> Json:
    """What stands there in a document; None where nothing does."""
    at = root
    for step in pointer:
        match at:
            case Mapping():
                at = at.get(step)
            case Sequence() if not isinstance(at, str) and step.isdecimal() and int(step) < len(at):
                at = at[int(step)]
            case _:
                return None
    return at
