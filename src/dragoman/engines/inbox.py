"""What other threads have for the worker's loop: commands from the one that reads, and whatever was prepared beside it."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from dragoman.protocol import EngineSession, RemoteProtocolError
from dragoman.protocol.frames import BadCommand, Command

T = TypeVar("T")

Arrival: TypeAlias = Command | BadCommand | RemoteProtocolError | T | None

READ_BYTES: Final = 1 << 16


@dataclass(slots=True)
class Inbox(Generic[T]):
    """``arrivals`` are commands, things of kind ``T``, None at the end of the input, and the error of a broken framing.

    ``lock`` guards the session, which the loop writes with while the reading thread reads with it.
    """

    session: EngineSession
    lock: threading.Lock = field(default_factory=threading.Lock)
    arrivals: queue.SimpleQueue[Arrival[T]] = field(default_factory=queue.SimpleQueue)

    def read(self, descriptor: int, arrived: Callable[[Command | BadCommand], None]) -> None:
        """Read until the input ends; runs on a thread of its own, and calls ``arrived`` there."""
        try:
            while data := os.read(descriptor, READ_BYTES):
                with self.lock:
                    self.session.receive_data(data)
                    while (command := self.session.next_command()) is not None:
                        self.arrivals.put(command)
                        arrived(command)
            self.arrivals.put(None)
        except RemoteProtocolError as error:
            self.arrivals.put(error)
