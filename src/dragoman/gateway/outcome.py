"""Whether a reply that was committed failed later: who records replies must not keep such a one."""

from __future__ import annotations

from typing import Final

from starlette.types import Scope

_KEY: Final = "dragoman.failed"


def mark_failed(scope: Scope) -> None:
    """The stream of this request ended in an error."""
    scope[_KEY] = True


def has_failed(scope: Scope) -> bool:
    """Whether anybody has said so."""
    return bool(scope.get(_KEY, False))
