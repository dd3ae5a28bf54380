"""HTTP over a backend: the application, the server that runs it, and the port that it listens on."""

from __future__ import annotations

import socket
from collections.abc import Callable

from dragoman.compose.backend import Backend
from dragoman.compose.failure import StartFailed
from dragoman.compose.keys import api_keys
from dragoman.gateway.app import build_app
from dragoman.gateway.options import GatewayOptions
from dragoman.gateway.server import InsecureBind, Server, build_server, check_bind
from dragoman.settings import Settings
from dragoman.store.base import Store


def build(
    settings: Settings,
    backend: Backend,
    store: Store,
    *,
    on_started: Callable[[str], None],
    on_stopping: Callable[[], None],
) -> Server:
    """The server, to be run with ``serve(sockets=[bind(settings)])``. Raises ``StartFailed``.

    ``on_started`` gets its URL once it listens, ``on_stopping`` is called when it has been asked to stop.
    """

    def drain() -> None:
        on_stopping()
        backend.service.drain()

    app = build_app(
        service=backend.service,
        metrics=backend.metrics,
        store=store,
        options=GatewayOptions(
            host=settings.host,
            keys=api_keys(settings),
            allowed_hosts=settings.allowed_hosts,
            origins=settings.cors_origins,
            strict_fields=settings.strict_fields,
            continue_assistant=settings.continue_assistant,
            reasoning_field=settings.reasoning_field,
            keep_billing_header=settings.keep_billing_header,
        ),
    )
    return build_server(
        app,
        host=settings.host,
        port=settings.port,
        drain_timeout=settings.drain_timeout,
        on_started=on_started,
        on_drain=drain,
    )


def bind(settings: Settings) -> socket.socket:
    """Take the port before the model is loaded, so that a taken one is said at once. Raises ``StartFailed``.

    It is not listened on yet: until the server is up, clients are refused rather than kept waiting.
    """
    try:
        check_bind(settings.host, api_keys(settings), allow_insecure=settings.allow_insecure_bind)
    except InsecureBind as error:
        raise StartFailed(str(error)) from error
    try:
        return _bind(settings.host, settings.port)
    except OSError as error:
        raise address_failed(settings, error) from error


def address_failed(settings: Settings, error: OSError) -> StartFailed:
    """The address cannot be listened on."""
    reason = (error.strerror or str(error)).lower()
    hint = "choose another port with --port (0 takes a free one), or another address with --host"
    return StartFailed(f"cannot listen on {settings.host}:{settings.port}: {reason}", hint=hint)


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener
