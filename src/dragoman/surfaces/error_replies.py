"""What error replies have in common, whatever their envelope: a status from a contract's tables, the client's field, and headers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from dragoman.core.errors import Code, Internal, ServiceError

ByKind: TypeAlias = Mapping[type[ServiceError], tuple[int, str]]
"""Status and type of a kind; a kind that is not listed takes those of its parent."""

ByCode: TypeAlias = Mapping[Code, tuple[int, str]]
"""Exceptions to those of the kinds."""

NO_SPELLING: Final[Mapping[str, str]] = MappingProxyType({})
"""Features are named as we name them."""

_PASSING: Final = (429, 503, 504)
"""Statuses that pass by themselves, and so say when to come back."""

_FINAL: Final = frozenset({401, 409})
"""Statuses that clients try again unless they are told: the official SDKs a conflict, Claude Code a wrong key, for minutes."""

_DEFAULT_RETRY_AFTER: Final = 1
"""Seconds, where the error does not say (S12)."""


def status_and_type(error: ServiceError, by_kind: ByKind, by_code: ByCode) -> tuple[int, str]:
    """What a contract's tables say of an error."""
    if error.code in by_code:
        return by_code[error.code]
    return next((by_kind[kind] for kind in type(error).__mro__ if kind in by_kind), by_kind[Internal])


def field_of(error: ServiceError, spelling: Mapping[str, str]) -> str | None:
    """The field that is to blame, as the client of this request spells it."""
    if error.param is not None or error.feature is None:
        return error.param
    return spelling.get(error.feature, error.feature)


def reply_headers(error: ServiceError, status: int) -> dict[str, str]:
    """When to come back, for what passes by itself (S128), what never will, and how a key is sent; the same on every surface."""
    headers: dict[str, str] = {}
    final = status in _FINAL or error.code is Code.ENGINE_STOPPED  # it died too often to be started once more
    if status in _PASSING and not final:
        seconds = _DEFAULT_RETRY_AFTER if error.retry_after is None else error.retry_after
        headers["retry-after"] = str(seconds)
    if status == 401:
        headers["www-authenticate"] = "Bearer"  # RFC 9110, 15.5.2
    if final:
        headers["x-should-retry"] = "false"
    return headers
