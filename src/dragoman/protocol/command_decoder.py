"""Commands of a gateway from their words and payloads (seeds.md 2.3).

A command whose length is known is read to its end even when it can not be obeyed, and becomes a ``BadCommand``. Where the
length is not known the session ends: what follows may be a client's text, and must never be read as commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_EXTENSION_BYTES, MAX_PROMPT_BYTES, MAX_TOP_LOGPROBS
from dragoman.protocol.frames import (
    BadCommand,
    Cancel,
    Command,
    DetokenizeCommand,
    Image,
    Stop,
    Submit,
    TokenizeCommand,
)
from dragoman.protocol.reader import SizeReader
from dragoman.protocol.words import flag, natural, option, parse_ids, parse_json, real, request_id, show

MAX_OPTION_CHARS: Final = 128
"""All ``key=value`` words of a SUBMIT with the blanks between them (the limit of serve_codec.h, seeds.md 2.3)."""

SUBMIT_OPTIONS: Final = (b"logprobs", b"ids", b"pin", b"ext")
"""The keys of a SUBMIT, in the order in which we write them. The first three are older than ``CAPS ext=1``."""

MAX_REQUEST_IMAGES: Final = 16
"""Images of one command: an engine must not be made to hold more than 256 MiB before it knows what they are for."""

_Words: TypeAlias = list[bytes]


class _Refusal(Exception):
    """A command that is whole and can not be obeyed."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def decode_command(words: _Words, payload: bytes) -> Command | Image | BadCommand:
    """The command of one line and its payload, or a picture for the one that follows."""
    try:
        number = request_id(words)
    except ValueError as error:
        return BadCommand(0, "BAD_REQUEST", str(error))
    try:
        return _DECODERS[words[0]](number, words, payload)
    except _Refusal as refusal:
        return BadCommand(number, refusal.code, refusal.detail)
    except IndexError:
        return BadCommand(number, "BAD_REQUEST", "too few fields")
    except ValueError as error:
        return BadCommand(number, "BAD_REQUEST", str(error))


# --- lengths ---------------------------------------------------------------------------------------------------------


def _submit_size(words: _Words) -> int:
    """Payload, then the older extension (``gbytes``), then ours. Each is bounded on its own."""
    size = natural(words[3], MAX_PROMPT_BYTES)
    numbers, options = _split_options(words)
    if len(numbers) > 7:
        size += natural(numbers[7], MAX_EXTENSION_BYTES)
    return size + _extension_size(options)


def _tokenize_size(words: _Words) -> int:
    return natural(words[2], MAX_PROMPT_BYTES) + _extension_size(words[3:])


def _third_word(words: _Words) -> int:
    return natural(words[2], MAX_PROMPT_BYTES)


def _fourth_word(words: _Words) -> int:
    return natural(words[3], MAX_PROMPT_BYTES)


COMMAND_SIZES: Final[Mapping[bytes, SizeReader | None]] = {
    b"SUBMIT": _submit_size,
    b"IMAGE": _third_word,
    b"STOP": None,
    b"CANCEL": None,
    b"TOKENIZE": _tokenize_size,
    b"DETOKENIZE": _third_word,
    b"DECIDE": _fourth_word,
}
"""Commands and how long their payload is. Any other word ends the session."""


def _extension_size(options: Sequence[bytes]) -> int:
    values = [value for word in options if (value := option(word, b"ext")) is not None]
    if len(values) > 1:
        raise ValueError("two lengths of one extension")
    return natural(values[0], MAX_EXTENSION_BYTES) if values else 0


def _split_options(words: _Words) -> tuple[_Words, _Words]:
    """The positional words, and the ``key=value`` words after them."""
    for index, word in enumerate(words):
        if b"=" in word:
            return words[:index], words[index:]
    return words, []


# --- decoding --------------------------------------------------------------------------------------------------------


def _submit(number: int, words: _Words, payload: bytes) -> Submit:
    numbers, option_words = _split_options(words)
    if len(numbers) > 9:
        raise ValueError("too many fields")
    options = _options(option_words)
    extension_size = natural(options[b"ext"]) if b"ext" in options else 0
    end = len(payload) - extension_size
    if len(numbers) > 7 and natural(numbers[7]):
        raise _Refusal("NOT_SUPPORTED", "grammars and audio after the payload")
    if len(numbers) > 8:
        natural(numbers[8])  # a hint for another engine's cache
    command = Submit(
        id=number,
        slot=natural(numbers[2]),
        payload=payload[:end],
        max_tokens=natural(numbers[4]),
        temperature=real(numbers[5]),
        top_p=real(numbers[6]),
        logprobs=natural(options[b"logprobs"], MAX_TOP_LOGPROBS) if b"logprobs" in options else None,
        ids=flag(options.get(b"ids", b"0")),
        pin=flag(options.get(b"pin", b"0")),
        extension=_json(payload[end:]) if b"ext" in options else None,
    )
    check_submit(command)
    _check_text(command.payload)
    return command


def _image(number: int, words: _Words, payload: bytes) -> Image:
    options = _options(words[5:], known=(b"rgb",))
    image = Image(
        id=number,
        payload=payload,
        grid_h=natural(words[3]),
        grid_w=natural(words[4]),
        rgb=flag(options.get(b"rgb", b"0")),
    )
    try:
        check_image(image)
    except ValueError as error:
        raise _Refusal("BAD_FRAME", str(error)) from None
    return image


def _stop(number: int, _words: _Words, _payload: bytes) -> Stop:
    return Stop(number)


def _cancel(number: int, _words: _Words, _payload: bytes) -> Cancel:
    return Cancel(number)


def _tokenize(number: int, words: _Words, payload: bytes) -> TokenizeCommand:
    size = natural(words[2])
    _check_text(payload[:size])
    if _options(words[3:], known=(b"ext",)):
        return TokenizeCommand(id=number, payload=payload[:size], options=_json(payload[size:]))
    return TokenizeCommand(id=number, payload=payload)


def _detokenize(number: int, words: _Words, payload: bytes) -> DetokenizeCommand:
    options = _options(words[3:], known=(b"special",))
    try:
        ids = parse_ids(payload)
    except ValueError as error:
        raise _Refusal("BAD_FRAME", str(error)) from None
    return DetokenizeCommand(id=number, ids=ids, special=flag(options.get(b"special", b"1")))


def _decide(_number: int, _words: _Words, _payload: bytes) -> Command:
    raise _Refusal("NOT_SUPPORTED", "DECIDE")


_DECODERS: Final[Mapping[bytes, Callable[[int, _Words, bytes], Command | Image]]] = {
    b"SUBMIT": _submit,
    b"IMAGE": _image,
    b"STOP": _stop,
    b"CANCEL": _cancel,
    b"TOKENIZE": _tokenize,
    b"DETOKENIZE": _detokenize,
    b"DECIDE": _decide,
}


def check_submit(command: Submit) -> None:
    """The ranges of a SUBMIT's numbers, for both sides. Raises ``ValueError``."""
    if not 0 <= command.temperature <= 2:
        raise ValueError(f"temperature {command.temperature:.8g} is not from 0 to 2")
    if not 0 < command.top_p <= 1:
        raise ValueError(f"top_p {command.top_p:.8g} is not above 0 and up to 1")
    if command.max_tokens == 0 and not command.logprobs and command.extension is None:
        raise ValueError("max_tokens 0 is for requests that are only scored, or extended")


def check_image(image: Image) -> None:
    """That an RGB picture has just its pixels, for both sides. What patches are is between an older engine and its model.

    Raises ``ValueError``.
    """
    pixels = image.grid_h * image.grid_w
    if image.rgb and not 0 < 3 * pixels == len(image.payload):
        raise ValueError(f"{len(image.payload)} bytes are no picture of {image.grid_w} by {image.grid_h} pixels")


def _options(words: Sequence[bytes], known: Sequence[bytes] = SUBMIT_OPTIONS) -> dict[bytes, bytes]:
    """``key=value`` words. An unknown or repeated key rejects the whole command."""
    if sum(map(len, words)) + len(words) - 1 > MAX_OPTION_CHARS:
        raise ValueError(f"more than {MAX_OPTION_CHARS} characters of options")
    options: dict[bytes, bytes] = {}
    for word in words:
        key, equals, value = word.partition(b"=")
        if not equals or key not in known:
            raise ValueError(f"unknown option {show(word)}")
        if key in options:
            raise ValueError(f"repeated option {show(key)}")
        options[key] = value
    return options


def _json(payload: bytes) -> JsonObject:
    try:
        return parse_json(payload)
    except ValueError as error:
        raise _Refusal("BAD_FRAME", f"the extension can not be read: {error}") from None


def _check_text(payload: bytes) -> None:
    if b"\0" in payload:
        raise _Refusal("BAD_FRAME", "a NUL byte in the text")
