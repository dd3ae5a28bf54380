"""A byte pipe to one running engine, and the means to end it. Knows no frames.

``process.ProcessLink`` runs a child; ``simulated.SimulatedLink`` is a script in memory. A link is used once: when it has
ended, its factory opens the next.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

READ_BYTES: Final = 256 * 1024
"""The most that one ``read`` returns: several steps of many streams, and still far below any cache of ours."""

DRAIN_SECONDS: Final = 30.0
"""What an engine may take to end its requests once its input has ended (seeds.md 2.1)."""

TERMINATE_SECONDS: Final = 5.0
"""What it may take to obey SIGTERM (seeds.md 2.1)."""

KILL_SECONDS: Final = 5.0
"""What the kernel may take to bury it after SIGKILL (seeds.md 2.1)."""


class LinkBroken(Exception):
    """The engine can not be written to, or could not be started."""


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a process ended; ``code`` is negative for a signal, as in ``subprocess``."""

    code: int

    @property
    def signal(self) -> str | None:
        """The name of the signal that killed it, such as ``SIGILL``."""
        if self.code >= 0:
            return None
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"

    def __str__(self) -> str:
        name = self.signal
        return f"exited with status {self.code}" if name is None else f"was killed by {name}"


class Link(Protocol):
    """One engine's input and output."""

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the engine ended; None while it runs."""
        ...

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its log, oldest first."""
        ...

    async def read(self) -> bytes:
        """Its next output, at most ``READ_BYTES``; empty once, and only, when it will write no more."""
        ...

    def write(self, data: bytes) -> None:
        """Queue ``data`` whole: no other write can come between its bytes (S107). Raises ``LinkBroken`` (S108)."""
        ...

    async def drain(self) -> None:
        """Wait until the queue is short again. Raises ``LinkBroken`` if what was queued can not be delivered."""
        ...

    def kill(self) -> None:
        """End the engine at once, without a chance to clean up."""
        ...

    async def close(self, *, drain: float = DRAIN_SECONDS) -> None:
        """End the engine: its input ends, then ``drain`` seconds for it to go, then SIGTERM, then SIGKILL (seeds.md 2.1).

        Somebody must go on reading meanwhile, or an engine with much to say never gets to its end. Safe to call twice.
        """
        ...


LinkFactory: TypeAlias = Callable[[], Awaitable[Link]]
"""Starts an engine. Raises ``LinkBroken`` when there is nothing to start."""
