"""Who calls, as far as the API key tells; the key middleware writes it into the ASGI scope, and endpoints read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

_KEY: Final = "dragoman.caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """``isolation`` is the same for all calls with one key, and tells nothing of it; empty without keys."""

    authorised: bool
    isolation: str = ""


def set_caller(scope: Scope, caller: Caller) -> None:
    """Remember who made this request."""
    scope[_KEY] = caller


def caller_of(scope: Scope) -> Caller:
    """Who made this request; a stranger if nobody has looked."""
    caller = scope.get(_KEY)
    return caller if isinstance(caller, Caller) else Caller(authorised=False)
