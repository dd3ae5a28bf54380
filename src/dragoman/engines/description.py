"""``EngineInfo`` as the JSON of a MODEL frame, there and back.

The keys are the fields of ``EngineInfo`` (``name`` is ``model``). Unknown keys are a newer engine's business; a known key of
the wrong type, or without one of the three numbers that nothing can be served without, is a broken engine.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TypeVar

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.json import Json, JsonObject
from dragoman.engines.base import EngineInfo, FillInTokens, SpecialToken

T = TypeVar("T", str, int, list[Json], dict[str, Json])


def describe(info: EngineInfo) -> JsonObject:
    """The object that an engine sends."""
    return {
        "name": info.model,
        "description": info.description,
        "context_length": info.context_length,
        "vocabulary_size": info.vocabulary_size,
        "slots": info.slots,
        "architecture": info.architecture,
        "chat_template": info.chat_template,
        "special_tokens": [{"id": token.id, "text": token.text} for token in info.special_tokens],
        "bos_token": info.bos_token,
        "eos_token": info.eos_token,
        "fill_in": None if info.fill_in is None else asdict(info.fill_in),
        "features": sorted(info.features),
        "fingerprint": info.fingerprint,
        "build": dict(info.build),
    }


def read_description(description: JsonObject) -> EngineInfo:
    """The object that an engine sent. Raises ``EngineFailed`` (``engine_protocol_error``) naming the key."""
    return EngineInfo(
        model=_required(description, "name", str),
        description=_optional(description, "description", str) or "",
        context_length=_required(description, "context_length", int),
        vocabulary_size=_required(description, "vocabulary_size", int),
        slots=_required(description, "slots", int),
        architecture=_optional(description, "architecture", str) or "",
        chat_template=_optional(description, "chat_template", str),
        special_tokens=tuple(_special(token) for token in _optional(description, "special_tokens", list) or []),
        bos_token=_optional(description, "bos_token", str),
        eos_token=_optional(description, "eos_token", str),
        fill_in=_fill_in(_optional(description, "fill_in", dict)),
        features=frozenset(str(feature) for feature in _optional(description, "features", list) or []),
        fingerprint=_optional(description, "fingerprint", str) or "",
        build={key: str(value) for key, value in (_optional(description, "build", dict) or {}).items()},
    )


def _special(token: Json) -> SpecialToken:
    if not isinstance(token, dict):
        raise _broken("special_tokens")
    return SpecialToken(id=_required(token, "id", int), text=_required(token, "text", str))


def _fill_in(texts: JsonObject | None) -> FillInTokens | None:
    """None of them, or all three."""
    if texts is None:
        return None
    return FillInTokens(
        prefix=_required(texts, "prefix", str),
        suffix=_required(texts, "suffix", str),
        middle=_required(texts, "middle", str),
    )


def _required(description: JsonObject, key: str, kind: type[T]) -> T:
    value = _optional(description, key, kind)
    if value is None:
        raise _broken(key)
    return value


def _optional(description: JsonObject, key: str, kind: type[T]) -> T | None:
    value = description.get(key)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    raise _broken(key)


def _broken(key: str) -> EngineFailed:
    return EngineFailed(f"The engine describes its model without a usable {key!r}.", code=Code.ENGINE_PROTOCOL)
