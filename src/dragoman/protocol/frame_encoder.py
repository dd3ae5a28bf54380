"""Frames of an engine as bytes: what ``frame_decoder`` reads (seeds.md 2.4)."""

from __future__ import annotations

from typing import assert_never

from dragoman.core.limits import MAX_EXTENSION_BYTES, MAX_FRAME_BYTES
from dragoman.protocol.errors import LocalProtocolError
from dragoman.protocol.frame_decoder import FRAME_SIZES, MAX_ANSWER_BYTES, READY
from dragoman.protocol.frames import (
    Accept,
    Caps,
    Data,
    Done,
    Echo,
    Error,
    LoadFail,
    LoadProgress,
    Model,
    Progress,
    Ready,
    SessionFrame,
    Telemetry,
    Text,
    Tokens,
    Tool,
    WireRequestFrame,
)
from dragoman.protocol.numeric import write_tail, write_token
from dragoman.protocol.words import MAX_COUNT, format_ids, format_json, is_code, is_reason, prose


def encode_request_frame(frame: WireRequestFrame, *, extended: bool = True) -> bytes:
    """The bytes of ``frame``; none for what a request without extensions can not be told.

    Raises ``LocalProtocolError`` for a frame that the grammar can not say. Text for people is put on one line and cut.
    """
    match frame:
        case Data():
            return _data(frame, extended=extended)
        case Accept():
            return _accept(frame, extended=extended)
        case Done():
            return _done(frame, extended=extended)
        case Progress():
            return b"PROGRESS %d %d %d\n" % (frame.id, *_counts(frame.done, frame.total)) if extended else b""
        case Echo():
            return _echo(frame, extended=extended)
        case Tool():
            return _payload(b"TOOL %d %d" % (frame.id, len(frame.payload)), frame.payload, MAX_FRAME_BYTES)
        case Error():
            return _error(frame)
        case Tokens():
            return _answer(b"TOKENS", frame.id, format_ids(frame.ids))
        case Text():
            lengths = format_ids(map(len, frame.pieces))
            return _answer(b"TEXT", frame.id, b"%b\n%b" % (lengths, b"".join(frame.pieces)))
    assert_never(frame)


def encode_session_frame(frame: SessionFrame) -> bytes:
    """The bytes of a frame that names no request. Raises ``LocalProtocolError`` as above."""
    match frame:
        case Ready():
            return READY + b"\n"
        case LoadFail():
            return _line(b"LOAD_FAIL kind=%b" % frame.kind.encode(), frame.detail)
        case LoadProgress():
            return _loading(frame)
        case Caps():
            return _caps(frame)
        case Model():
            return _model(frame)
        case Telemetry():
            return _telemetry(frame)
    assert_never(frame)


def _data(frame: Data, *, extended: bool) -> bytes:
    payload = frame.payload
    if frame.numeric is None and (frame.token is None or not extended):
        return _payload(b"DATA %d %d" % (frame.id, len(payload)), payload, MAX_FRAME_BYTES)
    tail = b"" if frame.numeric is None else write_tail(frame.numeric)
    token = b"" if frame.token is None or not extended else write_token(frame.token)
    return _payload(b"DATA %d %d%b%b" % (frame.id, len(payload), tail, token), payload, MAX_FRAME_BYTES)


def _echo(frame: Echo, *, extended: bool) -> bytes:
    token = b"" if frame.token is None or not extended else write_token(frame.token)
    header = b"ECHO %d %d %d" % (frame.id, len(frame.payload), *_counts(frame.position))
    return _payload(header + write_tail(frame.numeric) + token, frame.payload, MAX_FRAME_BYTES)


def _accept(frame: Accept, *, extended: bool) -> bytes:
    if frame.cached_tokens > frame.prompt_tokens:
        raise LocalProtocolError(f"{frame.cached_tokens} of {frame.prompt_tokens} prompt tokens can not be cached")
    prompt_tokens, cached_tokens = _counts(frame.prompt_tokens, frame.cached_tokens)
    cached = b" cached=%d" % cached_tokens if extended and cached_tokens else b""
    if frame.miss and not is_reason(frame.miss):
        raise LocalProtocolError(f"{frame.miss!r} is no reason for a miss")
    miss = b" miss=%b" % frame.miss.encode() if extended and frame.miss else b""
    return b"ACCEPT %d %d%b%b\n" % (frame.id, prompt_tokens, cached, miss)


def _done(frame: Done, *, extended: bool) -> bytes:
    emitted, prompt_tokens, computed = _counts(frame.emitted, frame.prompt_tokens, frame.computed_tokens or 0)
    return b"DONE %d STAT %d %.3f %.1f %.2f %d %d%b\n" % (
        frame.id,
        emitted,
        frame.tokens_per_second,
        frame.hit_percent,
        frame.rss_gb,
        prompt_tokens,
        frame.length_limited,
        b" computed=%d" % computed if extended and frame.computed_tokens is not None else b"",
    )


def _error(frame: Error) -> bytes:
    if not is_code(frame.code):
        raise LocalProtocolError(f"{frame.code!r} is no error code")
    return _line(b"ERROR %d %b" % (frame.id, frame.code.encode()), frame.detail)


def _loading(frame: LoadProgress) -> bytes:
    if not 0 <= frame.fraction <= 1:
        raise LocalProtocolError(f"a load can not be {frame.fraction} done")
    return _line(b"LOADING %.3f" % frame.fraction, frame.phase)


def _caps(frame: Caps) -> bytes:
    words = [f"{key}={value}" for key, value in frame.values.items()]
    if any(len(word.split()) != 1 for word in words) or any(not key or "=" in key for key in frame.values):
        raise LocalProtocolError(f"not the words of a CAPS line: {words}")
    return _line(b"CAPS", " ".join(words))


def _model(frame: Model) -> bytes:
    try:
        description = format_json(frame.description)
    except (ValueError, TypeError) as error:
        raise LocalProtocolError(f"a model's description is not JSON: {error}") from error
    return _payload(b"MODEL %d" % len(description), description, MAX_EXTENSION_BYTES)


def _telemetry(frame: Telemetry) -> bytes:
    kind = frame.kind.encode()
    if not is_code(frame.kind) or (kind in FRAME_SIZES and frame.kind != "STAT"):
        raise LocalProtocolError(f"{frame.kind!r} is no kind of telemetry")
    return _line(kind, frame.text)


def _answer(kind: bytes, request_id: int, payload: bytes) -> bytes:
    return _payload(b"%b %d %d" % (kind, request_id, len(payload)), payload, MAX_ANSWER_BYTES)


def _payload(header: bytes, payload: bytes, limit: int) -> bytes:
    if len(payload) > limit:
        raise LocalProtocolError(f"a payload of {len(payload)} bytes is above {limit}")
    return b"%b\n%b\n" % (header, payload)


def _line(start: bytes, text: str) -> bytes:
    words = prose(text)
    return b"%b %b\n" % (start, words) if words else start + b"\n"


def _counts(*numbers: int) -> tuple[int, ...]:
    if any(not 0 <= number <= MAX_COUNT for number in numbers):
        raise LocalProtocolError(f"a count is out of range: {numbers}")
    return numbers
