"""The header that lists what a request asked for in vain: fields that no model would use, and those that this one has no use for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MAX_NAME: Final = 64
"""Characters of a client's own name in a header."""


def ignored_header(fields: tuple[str, ...], features: tuple[str, ...], spelling: Mapping[str, str]) -> dict[str, str]:
    """``fields`` as the client wrote them, ``features`` in neutral words; ``spelling`` has the client's word for each."""
    names = dict.fromkeys((*fields, *(_spelled(feature, spelling) for feature in features)))
    return {"x-dragoman-ignored": ", ".join(names)} if names else {}


def _spelled(feature: str, spelling: Mapping[str, str]) -> str:
    """A feature, or one variable of it; variables have the client's names, so they become ASCII."""
    field, dot, variable = feature.partition(".")
    return f"{spelling.get(field, field)}{dot}{ascii(variable)[1:-1][:MAX_NAME]}"
