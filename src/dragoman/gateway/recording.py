"""What an application sends as one response, for any number of readers, each from the first message on and at its own pace.

The bodies that are held have a bound. A response that outgrows it is ``whole`` no longer: nobody can begin to read it, its
sender waits for those who do, and what all of them have is dropped.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.types import Message, Send


@dataclass(slots=True, eq=False)
class _Reader:
    position: int = 0


class Recording:
    """``limit`` bounds the bytes of all bodies together."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._messages: list[Message] = []
        self._dropped = 0
        self._readers: set[_Reader] = set()
        self._ended = False
        self._error: Exception | None = None
        self._changed = asyncio.Event()

    @property
    def whole(self) -> bool:
        """Whether everything that was sent is still here."""
        return self._size <= self._limit

    @property
    def ended(self) -> bool:
        """Whether nothing will follow."""
        return self._ended

    @property
    def readers(self) -> int:
        """How many are reading now."""
        return len(self._readers)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is held."""
        return tuple(self._messages)

    async def add(self, message: Message) -> None:
        """Record a message, as an ASGI ``send``."""
        if not self.whole:
            await self._until_read()
        self._messages.append(message)
        self._size += len(message.get("body", b""))
        self._notify()

    def end(self, error: Exception | None = None) -> None:
        """Nothing will follow; ``error`` is what the application raised."""
        self._ended = True
        self._error = error
        self._notify()

    async def play(self, send: Send) -> None:
        """Pass on what was recorded and what still comes, until the end; raises what the application raised."""
        reader = _Reader(self._dropped)
        self._readers.add(reader)
        try:
            while True:
                while reader.position < self._end:
                    await send(self._messages[reader.position - self._dropped])
                    reader.position += 1
                    if not self.whole:
                        self._notify()
                if self._ended:
                    break
                await self._changed.wait()
        finally:
            self._readers.discard(reader)
            self._notify()
        if self._error is not None:
            raise self._error

    @property
    def _end(self) -> int:
        return self._dropped + len(self._messages)

    async def _until_read(self) -> None:
        while any(reader.position < self._end for reader in self._readers):
            await self._changed.wait()
        self._dropped = self._end
        self._messages.clear()

    def _notify(self) -> None:
        """Wake all who wait for a change; who comes later waits for the next one."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
