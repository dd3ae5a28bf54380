"""The engine contract, sans-IO: frames, their bytes, and the order in which they may come."""

from __future__ import annotations

from dragoman.protocol.errors import FaultCode, LocalProtocolError, RemoteProtocolError
from dragoman.protocol.session import EngineSession, GatewaySession
from dragoman.protocol.words import format_ids, parse_ids

__all__ = [
    "EngineSession",
    "FaultCode",
    "GatewaySession",
    "LocalProtocolError",
    "RemoteProtocolError",
    "format_ids",
    "parse_ids",
]
