"""A whole server on a port of this machine, in the test's own process, over an engine that a script plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from dragoman.compose import build, open_backend, open_settings_store
from dragoman.engines.clock import LoopClock
from dragoman.engines.simulated import INFO, Script, modern
from dragoman.engines.simulated.link import SimulatedLinks
from dragoman.settings import Settings

PATIENCE = 60.0
"""Seconds; a bound for what takes well under one on a free machine."""

MODEL = "scripted"


@asynccontextmanager
async def listening(script: Script, **settings: Any) -> AsyncIterator[str]:
    """The server's address, without ``/v1``. ``settings`` are those of ``dragoman serve``."""
    chosen = Settings(engine="simulated", model_name=MODEL, store="memory", port=0, drain_timeout=1, **settings)
    info = replace(INFO, slots=chosen.slots)
    links = SimulatedLinks(info, script, modern(info), clock=LoopClock())
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(PATIENCE):
        backend = await open_backend(chosen, links=links)
        store = await open_settings_store(chosen)
        server = build(chosen, backend, store, on_started=started.set_result, on_stopping=lambda: None)
        running = asyncio.create_task(server.serve())
        try:
            yield await started
        finally:
            server.should_exit = True
            await running
            await backend.close()
            await store.aclose()
