"""A buffer of bytes that is cut into header lines and the payloads that they announce. Knows no kind of frame.

Memory is bounded: a line by ``MAX_HEADER_BYTES``, a payload by the limit of its kind, checked before any of it is
awaited. Each byte is copied a fixed number of times however the data was chunked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dragoman.core.limits import MAX_HEADER_BYTES
from dragoman.protocol.errors import LocalProtocolError, RemoteProtocolError
from dragoman.protocol.words import is_code, show

SizeReader: TypeAlias = Callable[[list[bytes]], int]
"""Reads the payload's length from the words of a header. Raises ``ValueError`` where there is no telling."""

_LF: Final = 10
_LEGACY: Final = (b"\x01\x01", b"\x02")


class FrameReader:
    """Takes data, gives ``(words, payload)`` pairs.

    ``sizes`` names the kinds, with None for those that are one line. ``skip_unknown`` passes other upper-case words through as
    lines of their own, of any length; without it they end the session, since what follows could be their payload.
    """

    def __init__(self, sizes: Mapping[bytes, SizeReader | None], *, skip_unknown: bool) -> None:
        self._sizes = sizes
        self._skip_unknown = skip_unknown
        self._buffer = bytearray()
        self._words: list[bytes] | None = None
        self._size = 0
        self._skipping = False
        self._ended = False

    def receive(self, data: bytes) -> None:
        """Keep ``data``. Raises ``LocalProtocolError`` after ``receive_eof``."""
        if self._ended:
            raise LocalProtocolError("data after the end of the stream")
        self._buffer += data

    def receive_eof(self) -> None:
        """No data will follow."""
        self._ended = True

    @property
    def ended(self) -> bool:
        """True once the end of the stream was received."""
        return self._ended

    def next(self) -> tuple[list[bytes], bytes] | None:
        """The next whole frame, or None while it is not there. Raises ``RemoteProtocolError``."""
        buffer = self._buffer
        words = self._words
        if words is None:
            if self._skipping and not self._skip():
                return None
            end = buffer.find(b"\n", 0, MAX_HEADER_BYTES + 1)
            if end < 0:
                return self._part_of_a_line()
            words = bytes(buffer[:end]).split()
            del buffer[: end + 1]
            size = self._payload_size(words)
            if size is None:
                return words, b""
            self._size = size
        size = self._size
        if len(buffer) <= size:
            if self._ended:
                raise RemoteProtocolError(
                    f"the stream ended with {len(buffer)} of the {size} bytes of {show(words[0])}"
                )
            self._words = words
            return None
        if buffer[size] != _LF:
            raise RemoteProtocolError(f"no line feed after the {size} bytes of {show(words[0])}")
        payload = bytes(buffer[:size])
        del buffer[: size + 1]
        self._words = None
        return words, payload

    def _payload_size(self, words: list[bytes]) -> int | None:
        kind = words[0] if words else b""
        if kind not in self._sizes:
            self._admit_unknown(kind)
            return None
        size_of = self._sizes[kind]
        if size_of is None:
            return None
        try:
            return size_of(words)
        except IndexError:
            raise RemoteProtocolError(f"{show(kind)} has too few fields to tell where it ends") from None
        except ValueError as error:
            raise RemoteProtocolError(f"no telling where {show(kind)} ends: {error}") from None

    def _part_of_a_line(self) -> tuple[list[bytes], bytes] | None:
        buffer = self._buffer
        if len(buffer) > MAX_HEADER_BYTES:
            words = bytes(buffer[:64]).split(None, 1)[:1]
            if not words or words[0] in self._sizes:
                raise RemoteProtocolError(f"a header line is longer than {MAX_HEADER_BYTES} bytes")
            self._admit_unknown(words[0])
            self._skipping = True
            return words, b""
        if buffer and self._ended:
            raise RemoteProtocolError("the stream ended inside a line")
        return None

    def _skip(self) -> bool:
        """Drop the rest of a long line as it comes; True when its end was found."""
        end = self._buffer.find(b"\n")
        if end < 0:
            self._buffer.clear()
            if self._ended:
                raise RemoteProtocolError("the stream ended inside a line")
            return False
        del self._buffer[: end + 1]
        self._skipping = False
        return True

    def _admit_unknown(self, kind: bytes) -> None:
        if self._skip_unknown and is_code(kind.decode(errors="replace")):
            return
        if kind.startswith(_LEGACY):
            raise RemoteProtocolError(f"{show(kind)} belongs to the legacy terminal dialect, which is not spoken here")
        raise RemoteProtocolError(f"{show(kind)} is no kind of frame")
