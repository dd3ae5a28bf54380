"""``dragoman serve`` as a child, ready to be asked."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import openai

PATIENCE = 60.0
"""Seconds; a bound for what takes well under one on a free machine."""


@dataclass
class Running:
    """A server, and what it printed until it listened."""

    process: asyncio.subprocess.Process
    url: str
    said: list[str]

    def client(self, key: str = "unused") -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=PATIENCE)

    async def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Its exit status, and everything that it printed after ``said``."""
        self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            rest, _ = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, rest.decode()


@asynccontextmanager
async def serving(*args: str, env: dict[str, str] | None = None, patience: float = PATIENCE) -> AsyncIterator[Running]:
    """Start it, wait ``patience`` seconds at most until it listens, and end it. Unless told otherwise, it stores nothing on disk."""
    store = () if "--store" in args else ("--store", "memory")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dragoman", "serve", "--port", "0", *store, *args),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **(env or {})},
    )
    try:
        assert process.stdout is not None
        said: list[str] = []
        async with asyncio.timeout(patience):
            while not said or not said[-1].startswith("curl "):
                line = (await process.stdout.readline()).decode()
                assert line, said
                said.append(line.rstrip("\n"))
        listening = re.search(r"Listening on (http://\S+)", "\n".join(said))
        assert listening, said
        yield Running(process, listening[1], said)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def children(pid: int) -> list[str]:
    """Processes that it started; none where the system does not tell."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return path.read_text().split() if path.exists() else []
