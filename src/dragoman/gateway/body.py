"""A request's JSON object, with everything that an attacker may try with one refused before it is decoded."""

from __future__ import annotations

import asyncio
import re
import string
from typing import Final

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from dragoman.core.errors import Code, InvalidRequest, TooLarge
from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_BODY_TEXT_BYTES, MAX_JSON_DEPTH
from dragoman.gateway.hangup import ClientGone

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string, or what is left of one at the end: always a match, so that no text makes the scan start over."""

_BRACKETS: Final = b"[]{}"
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _BRACKETS)

_BASE64: Final = f"{string.ascii_letters}{string.digits}+/=\\".encode()
"""With the backslash that some writers of JSON put before a slash."""

_BLOCK: Final = 4096
"""Bytes of which nothing is looked at but whether all are base64, so that a large body is judged in milliseconds."""

_decode: Final = msgspec.json.Decoder().decode


async def read_json(scope: Scope, receive: Receive, *, timeout: float) -> JsonObject:
    """The whole body as an object. Raises ``InvalidRequest`` for anything else, ``ClientGone`` if it never came.

    ``timeout`` bounds the wait for the whole body, in seconds.
    """
    check_content_type(Headers(scope=scope).get("content-type"))
    return decode_object(await read_body(receive, timeout=timeout))


async def read_body(receive: Receive, *, timeout: float) -> bytes:
    """The whole body, whatever it is. Raises as ``read_json`` does."""
    try:
        async with asyncio.timeout(timeout):
            return await _read(receive)
    except TimeoutError:
        raise _invalid(f"the body did not arrive within {timeout:g} s") from None


def decode_object(body: bytes) -> JsonObject:
    """The object in a body. Raises ``InvalidRequest`` (``invalid_json``), and ``TooLarge`` for more than pictures can account for."""
    if text_size(body) > MAX_BODY_TEXT_BYTES:
        raise TooLarge(f"the body has more than {MAX_BODY_TEXT_BYTES} bytes beside pictures", code=Code.BODY_TOO_LARGE)
    if not shallow(body):
        raise _invalid(f"the body is nested more than {MAX_JSON_DEPTH} levels deep, or its brackets do not match")
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise _invalid("the body must be a JSON object")
    return value


def text_size(body: bytes) -> int:
    """Bytes of a body that are no picture: all but those in long runs of base64, give or take a block at each end of a run."""
    blocks = (body[start : start + _BLOCK] for start in range(0, len(body), _BLOCK))
    return sum(len(block) for block in blocks if block.translate(None, _BASE64))


def shallow(body: bytes) -> bool:
    """Whether brackets nest at most ``MAX_JSON_DEPTH`` deep. Takes no stack, and linear time per level."""
    if body.count(b"[") + body.count(b"{") <= MAX_JSON_DEPTH:
        return True
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    for _ in range(MAX_JSON_DEPTH):  # each round removes the innermost level
        if not brackets:
            return True
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return not brackets


def check_content_type(content_type: str | None) -> None:
    """Raise ``InvalidRequest`` unless it says JSON or nothing.

    A page of another origin may send forms and plain text without asking first; JSON it may not.
    """
    if content_type is None:
        return
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise InvalidRequest(
            f"the content type must be application/json, not {kind!r}", code=Code.UNSUPPORTED_MEDIA_TYPE
        )


async def _read(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _invalid(message: str) -> InvalidRequest:
    return InvalidRequest(message, code=Code.INVALID_JSON)
