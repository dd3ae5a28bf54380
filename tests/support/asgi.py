"""An HTTP client and server in one: speaks ASGI to an application in the same loop, with real streaming.

Each message the application sends is kept as it was sent, so a test can count writes; a client can hang up at any moment. As
with uvicorn, ``receive`` says ``http.disconnect`` when the response is complete, and writes to a client that has left go nowhere.
Every whole stream of events is held against the order of its contract (``event_order``).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from support import event_order

_EVENTS = "text/event-stream"


class Exchange:
    """One request on its way, and what came back so far. The body comes in ``chunks``; ``cut`` keeps its end from coming.

    ``ordered`` false is for a stream that is broken on purpose: what its contract says of its events is not checked.
    """

    def __init__(
        self,
        app: Any,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        host: str = "localhost:8000",
        chunks: int = 1,
        cut: bool = False,
        ordered: bool = True,
    ) -> None:
        self.started: dict[str, Any] | None = None
        self.writes: list[bytes] = []
        self.complete = False
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        self._over = asyncio.Event()
        if body is None or isinstance(body, bytes):
            payload = body or b""
        else:
            payload = json.dumps(body).encode()
        pairs = list(headers.items()) if isinstance(headers, dict) else list(headers or [])
        given = {name.lower() for name, _ in pairs}
        if "host" not in given:
            pairs.append(("host", host))
        if payload and not {"content-length", "transfer-encoding"} & given:
            pairs.append(("content-length", str(len(payload))))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path.partition("?")[0],
            "raw_path": path.encode(),
            "query_string": path.partition("?")[2].encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
        }
        size = max(1, -(-len(payload) // chunks))
        self._pieces = [payload[start : start + size] for start in range(0, len(payload), size)] or [b""]
        self._cut = cut
        self._asked = (path, payload) if ordered else None
        self.task = asyncio.create_task(app(scope, self._receive, self._send))
        self.task.add_done_callback(lambda _: self._changed.set())

    # --- the client's side ---

    @property
    def status(self) -> int:
        assert self.started is not None, "no response has begun"
        return self.started["status"]

    @property
    def headers(self) -> dict[str, str]:
        assert self.started is not None, "no response has begun"
        return {name.decode(): value.decode("latin-1") for name, value in self.started["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(self.writes)

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> list[Any]:
        """The ``data:`` of each write; JSON where it is JSON, comments left out."""
        lines = (line for write in self.writes for line in write.decode().splitlines())
        found = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [data if data == "[DONE]" else json.loads(data) for data in found]

    async def until(self, writes: int) -> None:
        """Wait until so many pieces of the body have come."""
        while len(self.writes) < writes:
            assert not self.task.done(), f"only {len(self.writes)} writes came: {self.writes}"
            self._changed.clear()
            await self._changed.wait()

    async def begun(self) -> None:
        """Wait for the status line."""
        while self.started is None:
            assert not self.task.done(), "the application returned without a word"
            self._changed.clear()
            await self._changed.wait()

    async def end(self) -> Exchange:
        """Wait until the application is done; raises what it raised."""
        await self.task
        if self._asked is not None and self.complete and self.headers.get("content-type", "").startswith(_EVENTS):
            path, payload = self._asked
            wrong = event_order.violations(path, json.loads(payload or b"null"), self.body)
            assert not wrong, "\n".join([*wrong, self.body.decode()])
        return self

    def hang_up(self) -> None:
        self._gone.set()

    # --- the server's side ---

    async def _receive(self) -> dict[str, Any]:
        if self._pieces:
            piece = self._pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(self._pieces) or self._cut}
        if not (self._gone.is_set() or self._over.is_set()):
            waits = [asyncio.ensure_future(self._gone.wait()), asyncio.ensure_future(self._over.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone.is_set():
            return
        assert not self.complete, f"written after the end: {message}"
        if message["type"] == "http.response.start":
            assert self.started is None, "two status lines"
            self.started = message
        else:
            assert self.started is not None, "a body before its status line"
            if message.get("body"):
                self.writes.append(message["body"])
            if not message.get("more_body", False):
                self.complete = True
                self._over.set()
        self._changed.set()


@dataclass
class Client:
    """Calls one application."""

    app: Any
    headers: dict[str, str] = field(default_factory=dict)

    def open(self, method: str, path: str, body: Any = None, **options: Any) -> Exchange:
        """Send a request and return at once."""
        extra = options.pop("headers", None) or {}
        pairs = [*self.headers.items(), *(extra.items() if isinstance(extra, dict) else extra)]
        return Exchange(self.app, method, path, body=body, headers=pairs, **options)

    async def get(self, path: str, **options: Any) -> Exchange:
        return await self.open("GET", path, **options).end()

    async def post(self, path: str, body: Any = None, **options: Any) -> Exchange:
        return await self.open("POST", path, body, **options).end()
