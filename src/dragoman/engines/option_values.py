"""Values of a JSON object that another process wrote, each checked for its type and its range. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.json import Json, JsonObject


class BadOption(ValueError):
    """The value of ``key`` is none that can be obeyed; ``reason`` says more where the key alone does not."""

    def __init__(self, key: str, reason: str = "") -> None:
        super().__init__(f"{key} {reason}".rstrip())
        self.key = key
        self.reason = reason


def boolean(options: JsonObject, key: str, default: bool = False) -> bool:
    """``true`` or ``false``. Raises ``BadOption``, as everything here does."""
    value = options.get(key, default)
    if not isinstance(value, bool):
        raise BadOption(key)
    return value


def integer(options: JsonObject, key: str, default: int, *, minimum: int, maximum: int) -> int:
    """A whole number in a range."""
    value = options.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise BadOption(key)
    return value


def number(options: JsonObject, key: str, default: float, *, minimum: float, maximum: float) -> float:
    """A number in a range, both of whose ends are finite: NaN and infinities are in none."""
    value = options.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
        raise BadOption(key)
    return float(value)


def strings(options: JsonObject, key: str, default: Sequence[str] = (), *, most: int) -> tuple[str, ...]:
    """Texts that are not empty and can be tokenised, at most so many."""
    value = options.get(key, list(default))
    if not isinstance(value, list) or len(value) > most:
        raise BadOption(key)
    return tuple(_text(key, item) for item in value)


def bounded_text(options: JsonObject, key: str, *, most_bytes: int) -> str | None:
    """A text in at most so many bytes of UTF-8; None where there is none."""
    value = options.get(key)
    if value is None:
        return None
    written = _text(key, value)
    if len(written.encode()) > most_bytes:
        raise BadOption(key, f"is longer than {most_bytes} bytes")
    return written


def token_ids(options: JsonObject, key: str, size: int) -> tuple[int, ...]:
    """Ids of a vocabulary of ``size`` tokens."""
    value = options.get(key, [])
    if not isinstance(value, list):
        raise BadOption(key)
    return tuple(token_id(key, item, size) for item in value)


def token_id(key: str, value: Json, size: int) -> int:
    """One id of a vocabulary of ``size`` tokens."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadOption(key)
    if not 0 <= value < size:
        raise BadOption(key, f"has a token id outside the vocabulary of {size}")
    return value


def nested(options: JsonObject, key: str) -> JsonObject | None:
    """The fields of an object, each under ``key.field`` so that whoever reads one names it whole; None where there is no object."""
    value = options.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadOption(key)
    return {f"{key}.{field}": inner for field, inner in value.items()}


def _text(key: str, value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise BadOption(key)
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON can spell half of a surrogate pair
        raise BadOption(key) from None
    return value
