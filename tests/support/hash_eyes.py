"""Eyes for ``HashBackend``: a picture is as many positions as it has pixels, with a begin before them and an end after them."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from dragoman.engines.base import EngineImage
from dragoman.engines.eyes import BadImage, Patch

BEGIN, END = ord("["), ord("]")


class HashEyes:
    """``held``: nothing is encoded before the test calls ``let_go``. A picture of more than ``most`` pixels is refused."""

    def __init__(self, *, held: bool = False, most: int = 100, blind: bool = False) -> None:
        self.encoded: list[Patch] = []
        self.forgotten: list[Patch] = []
        self.asked: SimpleQueue[Patch] = SimpleQueue()
        self._held = held
        self._most = most
        self._blind = blind
        self._waiting: list[tuple[Patch, Callable[[BadImage | None], None]]] = []

    def look(self, image: EngineImage) -> list[int | Patch]:
        pixels = image.width * image.height
        if pixels > self._most:
            raise BadImage(f"it has {pixels} pixels")
        return [BEGIN, Patch(pixels, image), END]

    def encode(self, patch: Patch, done: Callable[[BadImage | None], None]) -> None:
        self._waiting.append((patch, done))
        if not self._held:
            self.let_go()
        self.asked.put(patch)

    def forget(self, patch: Patch) -> None:
        self.forgotten.append(patch)

    def let_go(self) -> None:
        """Encode what waits and is wanted."""
        waiting, self._waiting = self._waiting, []
        for patch, done in waiting:
            if patch not in self.forgotten:
                self.encoded.append(patch)
            done(BadImage("it is too dark") if self._blind else None)
