"""An event loop whose time jumps: where it would sleep, it moves its clock instead.

Ten minutes of waiting take no time, and a test in which nothing can ever happen again fails at once.
"""

from __future__ import annotations

import asyncio
import selectors

PATIENCE = 200_000
"""Turns of the loop after which a time that does not pass is a fault: somebody wakes himself up again and again."""


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0.0
        self._turns = 0

    def select(self, timeout: float | None = None):
        ready = super().select(0)
        before = self.elapsed
        if not ready:
            if timeout is None:
                raise RuntimeError("every task waits for something that will never happen")
            self.elapsed += max(0.0, timeout)
        self._turns = self._turns + 1 if self.elapsed == before else 0
        if self._turns > PATIENCE:
            raise RuntimeError("time stands still, since something always happens at once")
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its ``time`` starts at 0 and passes only while everybody waits."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.elapsed

    def run_in_executor(self, executor, func, *args):
        """A thread's work is done at once: waiting for it would be waiting for what this loop knows nothing of."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 -- the future carries whatever it was
            future.set_exception(error)
        return future


async def settle(turns: int = 20) -> None:
    """Let everything happen that can happen without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
