"""``dragoman serve``: load the model, listen, and end in an orderly way."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socket import socket
from typing import Final

import typer
from rich.console import Console
from rich.text import Text

from dragoman.cli.parameters import with_settings
from dragoman.cli.terminal import failing, loading, logged, warn
from dragoman.compose import Backend, address_failed, api_keys, bind, build, open_backend, open_settings_store
from dragoman.engines.base import IMAGES
from dragoman.settings import Settings
from dragoman.store.base import Store

EXAMPLE: Final = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": 40}

INTERRUPTED: Final = 130
"""The status of a program that Ctrl-C ended, as shells have it: here, one that had not started to serve."""


@with_settings()
def serve(settings: Settings) -> None:
    """Serve a model to clients of the OpenAI and Anthropic APIs."""
    console = Console(soft_wrap=True, highlight=False)
    with failing(), bind(settings) as listener:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(_serve(settings, listener, console))
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise typer.Exit(INTERRUPTED) from None


async def _serve(settings: Settings, listener: socket, console: Console) -> None:
    store = await open_settings_store(settings)
    try:
        with logged(settings, quiet=True), _terminable(), loading(console) as progress:
            backend = await open_backend(settings, on_progress=progress)
        await _listen(settings, backend, store, listener, console)
    finally:
        await store.aclose()


async def _listen(settings: Settings, backend: Backend, store: Store, listener: socket, console: Console) -> None:
    try:
        server = build(
            settings,
            backend,
            store,
            on_started=lambda url: _announce(console, settings, backend, url),
            on_stopping=lambda: console.print(
                Text(f"Stopping; what runs may take {settings.drain_timeout:g} s to end.")
            ),
        )
        try:
            with logged(settings):
                await server.serve(sockets=[listener])
        except OSError as error:  # somebody was faster than us to listen
            raise address_failed(settings, error) from error
    finally:
        await backend.close()


def _announce(console: Console, settings: Settings, backend: Backend, url: str) -> None:
    """The last words of a start: what could be better, the address, the model, and a line to copy."""
    warn(console, backend.findings)
    card, info = backend.service.card(), backend.engine.info
    sees = ", pictures too" if IMAGES in info.features else ""
    console.print(Text.assemble("Listening on ", (url, "bold green"), f" (OpenAI base URL: {url}/v1)"))
    console.print(
        Text.assemble(
            "Model ", (card.id, "bold"), f", {card.context_length} tokens of context, {info.slots} at once{sees}"
        )
    )
    key = ' -H "Authorization: Bearer $DRAGOMAN_API_KEY"' if api_keys(settings) else ""
    body = json.dumps(EXAMPLE)
    console.print(Text(f"curl {url}/v1/chat/completions -H 'Content-Type: application/json'{key} -d '{body}'"))


@contextmanager
def _terminable() -> Iterator[None]:
    """While the model loads, SIGTERM ends us as Ctrl-C does; later the server has its own way."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    if task is None or sys.platform == "win32":
        yield
        return
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop, where there is one; None is asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
