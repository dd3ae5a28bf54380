"""Server-sent events out of timed pieces of a body. Pure: it reads no clock and no socket.

The rules are the WHATWG HTML standard's section on server-sent events, less the fields that no completion
server uses (``id`` and ``retry``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

Piece: TypeAlias = tuple[float, bytes]
"""When some bytes arrived, in seconds, and the bytes."""


def events(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the data of each event, with the time at which its last byte came.

    Lines end in LF or CRLF; the data lines of one event are joined by LF; comments and events without data are
    skipped, and so is an event that the body does not finish with an empty line.
    """
    rest = b""
    data: list[bytes] = []
    for when, piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in (ended.removesuffix(b"\r") for ended in lines):
            if not line and data:
                yield when, b"\n".join(data)
                data = []
            elif line.startswith(b"data:"):
                data.append(line.removeprefix(b"data:").removeprefix(b" "))
