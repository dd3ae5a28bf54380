"""What an engine sees with: pictures in, and what the model takes for tokens out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dragoman.engines.base import EngineImage


class BadImage(Exception):
    """A picture that the model can not take; the words are for people."""


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A part of a picture that the model takes in one piece, as ``positions`` of its context. ``content`` is the backend's."""

    positions: int
    content: object


class Eyes(Protocol):
    """Makes of pictures what the model takes for tokens."""

    def look(self, image: EngineImage) -> list[int | Patch]:
        """What stands for a picture in a prompt: patches, and the tokens that the model wants around them. Raises ``BadImage``."""
        ...

    def encode(self, patch: Patch, done: Callable[[BadImage | None], None]) -> None:
        """Prepare a patch for ``compute``, beside the model; it may take seconds. ``done`` is called once, from any thread."""
        ...

    def forget(self, patch: Patch) -> None:
        """Nobody wants it any more: what it is made from may go, and it is not prepared where that has not begun."""
        ...
