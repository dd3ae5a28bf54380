"""Commands of a gateway as bytes: what ``command_decoder`` reads (seeds.md 2.3).

A request that uses nothing newer has not one byte that is newer (S106): every option is a word that is left out.
"""

from __future__ import annotations

from typing import assert_never

from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_EXTENSION_BYTES, MAX_PROMPT_BYTES, MAX_TOP_LOGPROBS
from dragoman.protocol.command_decoder import MAX_REQUEST_IMAGES, check_image, check_submit
from dragoman.protocol.errors import LocalProtocolError
from dragoman.protocol.frames import Cancel, Command, DetokenizeCommand, Image, Stop, Submit, TokenizeCommand
from dragoman.protocol.words import MAX_COUNT, MAX_ID, MAX_TOKEN_ID, format_ids, format_json


def encode_command(command: Command) -> bytes:
    """The bytes of ``command``. Raises ``LocalProtocolError`` for one that an engine would have to refuse."""
    if not 0 < command.id <= MAX_ID:
        raise LocalProtocolError(f"request id {command.id} is out of range")
    match command:
        case Submit():
            return _images(command) + _submit(command)
        case Stop():
            return b"STOP %d\n" % command.id
        case Cancel():
            return b"CANCEL %d\n" % command.id
        case TokenizeCommand():
            return _images(command) + _tokenize(command)
        case DetokenizeCommand():
            return _detokenize(command)
    assert_never(command)


def _images(command: Submit | TokenizeCommand) -> bytes:
    """What stands right before a command, in one piece with it (S107)."""
    if len(command.images) > MAX_REQUEST_IMAGES:
        raise LocalProtocolError(f"{len(command.images)} images are above {MAX_REQUEST_IMAGES}")
    return b"".join([_image(image, command.id) for image in command.images])


def _image(image: Image, number: int) -> bytes:
    if image.id != number:
        raise LocalProtocolError(f"an image of request {image.id} with request {number}")
    _bound(image.payload)
    grid = (_count(image.grid_h), _count(image.grid_w))
    try:
        check_image(image)
    except ValueError as error:
        raise LocalProtocolError(str(error)) from None
    header = b"IMAGE %d %d %d %d%b" % (number, len(image.payload), *grid, b" rgb=1" if image.rgb else b"")
    return b"%b\n%b\n" % (header, image.payload)


def _submit(command: Submit) -> bytes:
    _check_text(command.payload)
    try:
        check_submit(command)
    except ValueError as error:
        raise LocalProtocolError(str(error)) from None
    extension = b"" if command.extension is None else _json(command.extension)
    header = b"SUBMIT %d %d %d %d %.8g %.8g%b" % (
        command.id,
        _count(command.slot),
        len(command.payload),
        _count(command.max_tokens),
        command.temperature,
        command.top_p,
        _options(command, len(extension)),
    )
    return b"%b\n%b%b\n" % (header, command.payload, extension)


def _options(command: Submit, extension_size: int) -> bytes:
    words = b""
    if command.logprobs is not None:
        if not 0 <= command.logprobs <= MAX_TOP_LOGPROBS:
            raise LocalProtocolError(f"{command.logprobs} alternatives are not from 0 to {MAX_TOP_LOGPROBS}")
        words += b" logprobs=%d" % command.logprobs
    if command.ids:
        words += b" ids=1"
    if command.pin:
        words += b" pin=1"
    if command.extension is not None:
        words += b" ext=%d" % extension_size
    return words


def _tokenize(command: TokenizeCommand) -> bytes:
    _check_text(command.payload)
    header = b"TOKENIZE %d %d" % (command.id, len(command.payload))
    if not command.options:
        return b"%b\n%b\n" % (header, command.payload)
    options = _json(command.options)
    return b"%b ext=%d\n%b%b\n" % (header, len(options), command.payload, options)


def _detokenize(command: DetokenizeCommand) -> bytes:
    if any(not 0 <= token <= MAX_TOKEN_ID for token in command.ids):
        raise LocalProtocolError("a token id is out of range")
    payload = format_ids(command.ids)
    _bound(payload)
    return b"DETOKENIZE %d %d special=%d\n%b\n" % (command.id, len(payload), command.special, payload)


def _check_text(payload: bytes) -> None:
    _bound(payload)
    if b"\0" in payload:
        raise LocalProtocolError("a NUL byte in the text")


def _bound(payload: bytes) -> None:
    if len(payload) > MAX_PROMPT_BYTES:
        raise LocalProtocolError(f"a payload of {len(payload)} bytes is above {MAX_PROMPT_BYTES}")


def _count(number: int) -> int:
    if not 0 <= number <= MAX_COUNT:
        raise LocalProtocolError(f"{number} is not a count")
    return number


def _json(value: JsonObject) -> bytes:
    try:
        text = format_json(value)
    except (TypeError, ValueError) as error:
        raise LocalProtocolError(f"an extension is not JSON: {error}") from error
    if len(text) > MAX_EXTENSION_BYTES:
        raise LocalProtocolError(f"an extension of {len(text)} bytes is above {MAX_EXTENSION_BYTES}")
    return text
