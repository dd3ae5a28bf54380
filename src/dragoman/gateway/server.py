"""Runs the application on a socket: uvicorn with our defaults, and an orderly end."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from socket import AF_INET6, socket
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from dragoman.core.limits import MAX_BODY_BYTES

KEEP_ALIVE_SECONDS: Final = 75
"""For an idle connection; longer than the pools of the usual clients keep one, so that they never write into a closed one."""


class InsecureBind(ValueError):
    """Whoever reaches the port could use the server."""


def check_bind(host: str, keys: Sequence[str], *, allow_insecure: bool = False) -> None:
    """Raise ``InsecureBind`` for an address beyond loopback without a key, unless that is wanted (S5)."""
    if keys or allow_insecure or is_loopback(host):
        return
    raise InsecureBind(
        f"listening on {host} without an API key would let everybody who reaches the port use the server: set a key "
        "with DRAGOMAN_API_KEY, or say that this is wanted with --allow-insecure-bind"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False  # a name may resolve to anything


class Server(uvicorn.Server):
    """``on_started`` gets the URL that is really listened on; ``on_drain`` is called before running requests end."""

    def __init__(
        self, config: uvicorn.Config, *, on_started: Callable[[str], None], on_drain: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_started = on_started
        self._on_drain = on_drain

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started:
            self._on_started(self.url)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Refuse what comes or waits, and let what runs finish."""
        self._on_drain()
        await super().shutdown(sockets)

    @property
    def url(self) -> str:
        """Where a client on this machine finds the server; the port is the real one even when 0 was asked for."""
        listening = self.servers[0].sockets[0]
        host, port = listening.getsockname()[:2]
        wildcard = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what was bound, not what to bind
        host = wildcard.get(host, host)
        return f"http://[{host}]:{port}" if listening.family == AF_INET6 else f"http://{host}:{port}"

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but a signal that was obeyed is not raised once more: the engine still has to be closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


def build_server(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    drain_timeout: float,
    on_started: Callable[[str], None],
    on_drain: Callable[[], None],
) -> Server:
    """A server whose ``serve()`` runs until a signal, or until ``should_exit`` is set."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="auto",  # httptools where it is installed
        ws="websockets-sansio",
        ws_max_size=MAX_BODY_BYTES,
        lifespan="on",
        log_config=None,
        log_level="info",  # below, it writes down what a WebSocket sends: prompts, answers, and the key among the headers
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(drain_timeout),
    )
    return Server(config, on_started=on_started, on_drain=on_drain)
