"""Pictures encoded beside the model: on one thread, in order, and not twice while it is remembered.

A vision tower takes as long as some hundred tokens of text, or seconds on a CPU. Meanwhile other requests go on, only more slowly: both
want the same cores. The worker's loop waits only to be told how many positions a picture takes, which no pixel decides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.base import EngineImage
from dragoman.engines.eyes import BadImage, Patch
from dragoman.engines.llama.embeddings import Embeddings
from dragoman.engines.llama.projector import Chunk, Projector, Seen

KEPT_BYTES: Final = 256 * 1024 * 1024
"""Of embeddings, the latest used: tens of pictures. A turn that comes back after its prefix has left the cache finds them."""


@dataclass(frozen=True, slots=True)
class _Task:
    seen: Seen
    done: Callable[[BadImage | None], None]


class LlamaEyes:
    """Implements ``engines.eyes.Eyes``. ``limit``: positions that one patch may have; None sets none."""

    def __init__(self, projector: Projector, *, limit: int | None = None, kept_bytes: int = KEPT_BYTES) -> None:
        self._projector = projector
        self._limit = limit
        self._kept = Embeddings(kept_bytes)
        self._opened: tuple[str, list[int | Chunk]] = ("", [])
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        threading.Thread(target=self._work, name="pictures", daemon=True).start()

    def look(self, image: EngineImage) -> list[int | Patch]:
        """What stands for a picture in a prompt. Raises ``BadImage``."""
        parts = self._projector.look(image)
        if self._limit is not None:
            longest = max((part.positions for part in parts if isinstance(part, Patch)), default=0)
            if longest > self._limit:
                raise BadImage(f"it takes {longest} positions at once, and {self._limit} are possible")
        return parts

    def encode(self, patch: Patch, done: Callable[[BadImage | None], None]) -> None:
        """Have a patch encoded; ``done`` is called from the thread that does it."""
        assert isinstance(patch.content, Seen)
        self._tasks.put(_Task(patch.content, done))

    def forget(self, patch: Patch) -> None:
        """Let the pixels go at once: what was cancelled may wait behind a picture that takes seconds."""
        assert isinstance(patch.content, Seen)
        patch.content.image = None

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            task.done(self._see(task.seen))
            if self._tasks.empty():
                self._opened = ("", [])  # pixels take more room than what becomes of them

    def _see(self, seen: Seen) -> BadImage | None:
        image = seen.image
        if image is None:
            return BadImage("nobody wants it any more")
        try:
            seen.embedding = self._embedding(image, seen.index)
        except BadImage as error:
            return error
        seen.image = None  # its pixels are of no use any more
        return None

    def _embedding(self, image: EngineImage, index: int) -> NDArray[np.float32]:
        digest = image.digest
        name = f"{digest} {index}"
        embedding = self._kept.find(name)
        if embedding is None:
            if self._opened[0] != digest:  # the parts of one picture come one after another
                self._opened = (digest, self._projector.open(image))
            chunk = self._opened[1][index]
            assert isinstance(chunk, Chunk)
            embedding = self._projector.encode(chunk)
            self._kept.keep(name, embedding)
        return embedding
