"""A WebSocket client and server in one: speaks ASGI to an application in the same loop."""

from __future__ import annotations

import asyncio
import json
from typing import Any


class Socket:
    """One connection. ``closed`` is the code of the application's close, None while there was none; ``denied`` the reply instead of it."""

    def __init__(self, app: Any, path: str, *, headers: dict[str, str] | None = None, host: str = "localhost:8000"):
        pairs = {"host": host, **(headers or {})}
        scope = {
            "type": "websocket",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "ws",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in pairs.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
            "subprotocols": [],
            "extensions": {"websocket.http.response": {}},
        }
        self.accepted: dict[str, Any] | None = None
        self.denied: int | None = None
        self.closed: int | None = None
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outbox.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(app(scope, self._outbox.get, self._send))

    def say(self, message: Any) -> None:
        """Send a message: bytes as they are, and what is no text as JSON."""
        if isinstance(message, bytes):
            self._outbox.put_nowait({"type": "websocket.receive", "bytes": message})
            return
        text = message if isinstance(message, str) else json.dumps(message)
        self._outbox.put_nowait({"type": "websocket.receive", "text": text})

    async def hear(self) -> dict[str, Any]:
        """The next message."""
        message = await self._inbox.get()
        return json.loads(message["text"])

    async def turn(self, message: Any) -> list[dict[str, Any]]:
        """Send a request and hear its events, to the last."""
        self.say(message)
        heard: list[dict[str, Any]] = []
        while not heard or not _ends(heard[-1]):
            heard.append(await self.hear())
        return heard

    async def leave(self) -> None:
        """Close the connection, and wait until the application has noticed."""
        self._outbox.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await self.task

    async def _send(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "websocket.accept":
                self.accepted = message
            case "websocket.close":
                self.closed = message.get("code", 1000)
            case "websocket.http.response.start":
                self.denied = message["status"]
            case "websocket.send":
                self._inbox.put_nowait(message)


def _ends(event: dict[str, Any]) -> bool:
    kind = event["type"]
    return (kind == "error" and "status" in event) or kind in {
        "response.completed",
        "response.incomplete",
        "response.failed",
    }
