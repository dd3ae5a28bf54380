"""Sessions in the middle of their life, and feeds that turn everything they say into plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dragoman.protocol import EngineSession, GatewaySession, RemoteProtocolError
from dragoman.protocol.frames import (
    BadCommand,
    Caps,
    Command,
    Frame,
    Model,
    Ready,
    Submit,
    Telemetry,
)

READY = b"\x01\x01READY\x01\x01\n"
PLAIN_START = READY + b"STAT 0 0.00 0.0 1.25\n"
EXTENDED_START = READY + b'CAPS ext=1\nMODEL 12\n{"name":"m"}\nSTAT 0 0.00 0.0 1.25\n'

BROKEN = "RemoteProtocolError"

Seen: TypeAlias = Frame | str


def submit(number: int, *, slot: int = 0, **changes: object) -> Submit:
    """An ordinary request."""
    fields: dict[str, object] = {"payload": b"hello", "max_tokens": 16, "temperature": 0.7, "top_p": 0.9}
    return Submit(id=number, slot=slot, **(fields | changes))  # type: ignore[arg-type]


def gateway(*commands: Command, start: bytes = EXTENDED_START) -> GatewaySession:
    """A session that is ready, with ``commands`` sent."""
    session = GatewaySession()
    session.receive_data(start)
    frames(session)
    for command in commands:
        session.send(command)
    return session


def frames(session: GatewaySession) -> list[Seen]:
    """All frames that are there, and ``BROKEN`` in the place of the error that ends the session."""
    seen: list[Seen] = []
    try:
        while (frame := session.next_frame()) is not None:
            seen.append(frame)
    except RemoteProtocolError:
        seen.append(BROKEN)
    return seen


def gateway_feed(*commands: Command, start: bytes = EXTENDED_START) -> Callable[[], Callable[[bytes], list[Seen]]]:
    """For ``check_chunking``: bytes in, frames out. A broken session says so once and takes nothing more."""

    def begin() -> Callable[[bytes], list[Seen]]:
        session = gateway(*commands, start=start)
        broken = False

        def feed(data: bytes) -> list[Seen]:
            nonlocal broken
            if broken:
                return []
            session.receive_data(data)
            seen = frames(session)
            broken = BROKEN in seen
            return seen

        return feed

    return begin


def engine(*started: Frame) -> EngineSession:
    """An engine's session that has said ``started``, or the whole start-up of an engine with extensions."""
    session = EngineSession()
    for frame in started or (
        Ready(),
        Caps({"ext": "1"}),
        Model({"name": "m"}),
        Telemetry("STAT", True, "0 0.00 0.0 1.25"),
    ):
        session.encode(frame)
    return session


def commands(session: EngineSession) -> list[Command | BadCommand | str]:
    """All commands that are there, and ``BROKEN`` in the place of the error that ends the session."""
    seen: list[Command | BadCommand | str] = []
    try:
        while (command := session.next_command()) is not None:
            seen.append(command)
    except RemoteProtocolError:
        seen.append(BROKEN)
    return seen


def engine_feed() -> Callable[[bytes], list[Command | BadCommand | str]]:
    """For ``check_chunking``: bytes in, commands out."""
    session = engine()
    broken = False

    def feed(data: bytes) -> list[Command | BadCommand | str]:
        nonlocal broken
        if broken:
            return []
        session.receive_data(data)
        seen = commands(session)
        broken = BROKEN in seen
        return seen

    return feed
