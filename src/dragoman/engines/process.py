"""An engine in a child process: commands on its stdin, frames on its stdout, its log on stderr (seeds.md 2.1)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dragoman.engines.link import DRAIN_SECONDS, KILL_SECONDS, READ_BYTES, TERMINATE_SECONDS, ExitStatus, LinkBroken

LAST_WORDS: Final = 20
"""Lines of the child's log that are kept for a failure message."""

MAX_LOG_LINE: Final = 2000
"""Bytes of one line that are kept; a child that never ends a line must not fill our memory."""

_log = logging.getLogger("dragoman.engine")


class ProcessLink:
    """A running child. Made by ``spawn``."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the child needs three pipes")
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._listener = asyncio.create_task(self._listen(process.stderr))

    @classmethod
    async def spawn(
        cls, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> ProcessLink:
        """Start ``argv``. Raises ``LinkBroken`` when there is no such program.

        The child gets a session of its own, so that Ctrl-C in a terminal reaches only us and requests can end before
        it does; and the default action on SIGPIPE (``restore_signals``), so that it dies at its next write when we are
        gone (S111).
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=READ_BYTES,
                env=env,
                cwd=cwd,
                start_new_session=True,
                restore_signals=True,
            )
        except OSError as error:
            raise LinkBroken(f"cannot run {argv[0]}: {error.strerror}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the child ended; None while it runs."""
        code = self._process.returncode
        return None if code is None else ExitStatus(code)

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return tuple(self._last_words)

    async def read(self) -> bytes:
        """Its next output; empty when it closed stdout."""
        return await self._stdout.read(READ_BYTES)

    def write(self, data: bytes) -> None:
        """Queue ``data`` for its stdin. Raises ``LinkBroken``."""
        if self._stdin.is_closing():
            raise LinkBroken("the engine closed its input")
        self._stdin.write(data)

    async def drain(self) -> None:
        """Wait until it has read most of what was written. Raises ``LinkBroken``."""
        try:
            await self._stdin.drain()
        except ConnectionError as error:
            raise LinkBroken("the engine closed its input") from error

    def kill(self) -> None:
        """SIGKILL for the child and its own children, unless it has ended."""
        self._signal(signal.SIGKILL)

    async def close(self, *, drain: float = DRAIN_SECONDS) -> None:
        """End its input, then wait, then SIGTERM, then SIGKILL. Returns when it is gone and its log is read."""
        self._stdin.close()
        if not await self._gone(drain):
            self._signal(signal.SIGTERM)
            if not await self._gone(TERMINATE_SECONDS):
                self._signal(signal.SIGKILL)
                await self._gone(KILL_SECONDS)
        # A grandchild may hold stderr open for ever, so the log's end is not waited for long.
        await asyncio.wait((self._listener,), timeout=1.0)
        self._listener.cancel()

    def _signal(self, number: signal.Signals) -> None:
        """Signal the child and its own children: a command may be a shell that runs the engine."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def _gone(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        rest = b""
        while data := await stderr.read(READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._note(line)
            rest = rest[:MAX_LOG_LINE]
        if rest:
            self._note(rest)

    def _note(self, line: bytes) -> None:
        text = line[:MAX_LOG_LINE].decode(errors="replace").rstrip()
        self._last_words.append(text)
        _log.info("%s", text)
