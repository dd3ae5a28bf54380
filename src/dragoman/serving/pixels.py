"""How many bytes of decoded pictures there are at once: a file of 50 kB may hold 16 MB of pixels.

So a request that waits holds its files, and is decoded again when it has a slot: the time is little beside that of the engine, and
the memory has a bound that neither clients nor slots can move. Claims are granted in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from dragoman.core.request import ImagePart, Prompt, TextPrompt
from dragoman.engines.base import EngineImage
from dragoman.serving.images import decode

ROOM_BYTES: Final = 256 * 1024 * 1024
"""Of pixels that no engine has taken yet; the ten pictures that a request may have are 160 MiB at most."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Pictures of a prompt that can be decoded, and the bytes of their pixels."""

    files: tuple[ImagePart, ...] = ()
    size: int = 0


class PictureDecoder:
    """Decodes for all requests of a server, one picture at a time and on one thread. ``room`` is in bytes."""

    def __init__(self, *, room: int = ROOM_BYTES) -> None:
        self._room = Room(room)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pictures")

    async def check(self, prompt: Prompt) -> Checked:
        """Decode each picture of a prompt once, and drop it. Raises ``InvalidRequest`` (``invalid_image``, ``image_too_large``)."""
        files = tuple(picture for _, picture in prompt.images) if isinstance(prompt, TextPrompt) else ()
        return Checked(files, sum([len((await self.decode(file)).rgb) for file in files]))

    def pixels(self, checked: Checked) -> Pixels:
        """What is decoded for one submission."""
        return Pixels(checked, self, self._room)

    async def decode(self, file: ImagePart) -> EngineImage:
        """One picture, after those that others wait for. Raises ``InvalidRequest``."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, decode, file)

    def close(self) -> None:
        """Decode nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class Pixels:
    """The pictures of one submission, from when they are decoded until the engine has taken them."""

    def __init__(self, checked: Checked, decoder: PictureDecoder, room: Room) -> None:
        self._checked = checked
        self._decoder = decoder
        self._room = room
        self._claimed = 0

    async def decode(self) -> tuple[EngineImage, ...]:
        """Wait for room, and decode. Whatever happens, ``release`` must follow."""
        if not self._checked.files:
            return ()
        await self._room.claim(self._checked.size)
        self._claimed = self._checked.size
        return tuple([await self._decoder.decode(file) for file in self._checked.files])

    def release(self) -> None:
        """They are held by nobody any more. Safe to call twice, or when nothing was decoded."""
        claimed, self._claimed = self._claimed, 0
        self._room.release(claimed)


class Room:
    """So many bytes. Who needs more than there are waits, and who comes later waits behind him."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._free = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def claim(self, size: int) -> None:
        """Wait for ``size`` bytes. More than all are as good as all, lest somebody waits for ever; ``release`` as many."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (size, future)
        self._waiting.append(place)
        self._grant()
        try:
            await future
        except asyncio.CancelledError:
            if future.cancelled():
                self._waiting.remove(place)
                self._grant()
            else:
                self.release(size)
            raise

    def release(self, size: int) -> None:
        """Give them back."""
        self._free += size
        self._grant()

    def _grant(self) -> None:
        while self._waiting:
            size, future = self._waiting[0]
            if future.cancelled() or min(size, self._size) > self._free:
                return  # who was cancelled has not run yet to say so
            self._waiting.popleft()
            self._free -= size
            future.set_result(None)
