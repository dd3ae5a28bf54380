"""Answers that are not streams."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What a client may know of the served model.

    ``created`` is Unix time in seconds; ``input_modalities`` are OpenRouter's words for what it reads, ``text`` and ``image``.
    """

    id: str
    created: int
    context_length: int
    description: str = ""
    input_modalities: tuple[str, ...] = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenized:
    """Tokens of a text; ``strs`` has one string per id when asked for."""

    ids: tuple[int, ...]
    context_length: int
    strs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detokenized:
    """Text of some tokens."""

    text: str
