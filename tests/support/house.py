"""A whole server in memory: application, service and metrics, over an engine that the test plays by hand or by a script."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dragoman.core.results import ModelCard
from dragoman.dialects.base import Dialect
from dragoman.engines.simulated import SimulatedEngine
from dragoman.gateway.app import build_app
from dragoman.gateway.options import GatewayOptions
from dragoman.metrics import Metrics
from dragoman.serving.service import Service
from dragoman.store.base import Store
from support.asgi import Client
from support.hand_engine import HandEngine
from support.memory_store import MemoryStore
from support.tag_dialect import TagDialect

CHAT = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
"""The smallest chat."""

SURFACES = ("chat", "completions", "messages", "responses")

ORIGIN = "http://localhost:5173"


class House:
    """``metric`` reads one number from the exposition."""

    def __init__(
        self,
        *,
        engine: HandEngine | SimulatedEngine | None = None,
        dialect: Dialect | None = None,
        max_queue: int = 8,
        queue_timeout: float = 300.0,
        options: GatewayOptions | None = None,
        store: Store | None = None,
    ) -> None:
        self.engine: Any = engine or HandEngine()
        self.metrics = Metrics(max_queue=max_queue, model="small", surfaces=SURFACES)
        self.service = Service(
            engine=self.engine,
            dialect=dialect or TagDialect(),
            card=ModelCard(id="small", created=1_700_000_000, context_length=0),
            clock=asyncio.get_running_loop().time,
            max_queue=max_queue,
            queue_timeout=queue_timeout,
            observer=self.metrics,
        )
        self.options = options or GatewayOptions(origins=(ORIGIN,))
        self.store: Any = store or MemoryStore(lambda: self.now)
        self.now = 1_700_000_001.9
        ids = itertools.count(0x123)
        self.app = build_app(
            service=self.service,
            metrics=self.metrics,
            store=self.store,
            options=self.options,
            mint=lambda: f"{next(ids):04x}",
            mint_request=lambda: "req_4567",
            now=lambda: self.now,
        )
        self.client = Client(self.app)

    async def shut_down(self) -> None:
        """What the server's end does to the application: its lifespan is over."""
        went_down = asyncio.Event()
        inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        inbox.put_nowait({"type": "lifespan.startup"})
        inbox.put_nowait({"type": "lifespan.shutdown"})

        async def send(message: dict[str, str]) -> None:
            if message["type"] == "lifespan.shutdown.complete":
                went_down.set()

        await self.app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, inbox.get, send)
        assert went_down.is_set()

    def metric(self, name: str, **labels: str) -> float:
        value = self.metrics.registry.get_sample_value(f"dragoman_{name}", labels)
        assert value is not None, f"there is no {name}{labels}"
        return value


@asynccontextmanager
async def house_of(
    script=None, *, dialect: Dialect | None = None, store: Store | None = None, **options: object
) -> AsyncIterator[House]:
    """A house whose engine has loaded; an hour of virtual time is the longest that a test may take."""
    engine = SimulatedEngine(script, **options)
    house = House(engine=engine, dialect=dialect, store=store)
    async with asyncio.timeout(3600):
        await engine.start()
        try:
            yield house
        finally:
            await house.service.aclose()
            await engine.aclose()
