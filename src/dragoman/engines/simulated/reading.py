"""Commands as the simulated engine understands them: as strict as a real one, so that what passes here passes there."""

from __future__ import annotations

from typing import Final

from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_GRAMMAR_BYTES, MAX_TOKENS, MAX_TOP_LOGPROBS
from dragoman.core.request import TextPrompt
from dragoman.engines.base import EngineImage
from dragoman.engines.eyes import Patch
from dragoman.engines.option_values import BadOption, boolean, bounded_text, integer, token_ids
from dragoman.engines.pictured import Placed, read_pictured, read_places, shown
from dragoman.engines.sampling_options import read_sampling
from dragoman.engines.simulated import vocabulary
from dragoman.engines.simulated.tape import SimulatedRequest
from dragoman.protocol.frames import DetokenizeCommand, Submit, TokenizeCommand

SIZE = len(vocabulary.PIECES)


class Refused(Exception):
    """A command gets ERROR: a code, and details."""


PICTURE_POSITIONS: Final = 4
"""Of every picture, whatever its size: it costs what it costs in a count that a person does by hand."""


def read_submit(command: Submit, *, spawn: int, capacity: int, sees: bool = False) -> SimulatedRequest:
    """The request of a SUBMIT; its budget may still be above ``capacity``, its prompt may not. Raises ``Refused``."""
    options = command.extension or {}
    pictures = _pictures(command, options, sees=sees)
    if command.ids:
        ids = _ids(command.payload)
    else:
        ids = read_pictured(read_text(command.payload, options), pictures, vocabulary.tokenize, _look).tokens
    if not ids:
        raise Refused("EMPTY_PROMPT")
    if ids[-1] < 0:
        raise Refused("BAD_REQUEST", "images is the end of the prompt, which must be text")
    if pictures and options.get("echo") is not None:
        raise Refused("BAD_REQUEST", "echo is not told of pictures")
    if len(ids) + min(1, command.max_tokens) > capacity:
        words = f"prompt_tokens={len(ids)} requested={command.max_tokens} capacity={capacity}"
        raise Refused("CONTEXT_EXCEEDED", words)
    older = command.logprobs or None
    try:
        return SimulatedRequest(
            id=command.id,
            slot=command.slot,
            text="" if command.ids else command.payload.decode(),
            ids=ids,
            max_tokens=command.max_tokens,
            sampling=read_sampling(options, temperature=command.temperature, top_p=command.top_p, vocabulary_size=SIZE),
            min_tokens=integer(options, "min_tokens", 0, minimum=0, maximum=MAX_TOKENS),
            stop_token_ids=token_ids(options, "stop_token_ids", SIZE),
            ignore_eos=boolean(options, "ignore_eos"),
            grammar=bounded_text(options, "grammar", most_bytes=MAX_GRAMMAR_BYTES),
            logprobs=_alternatives(options, "logprobs", older),
            echo=older if command.extension is None else _alternatives(options, "echo", None),
            isolation=str(options.get("isolation", "")),
            images=tuple(picture.image for picture in pictures),
            keep_prefix=command.pin,
            extended=command.extension is not None,
            options=options,
            spawn=spawn,
        )
    except BadOption as error:
        raise Refused("BAD_REQUEST", str(error)) from None


def read_tokens(command: TokenizeCommand, *, sees: bool = False) -> tuple[int, ...]:
    """The tokens of a TOKENIZE. Raises ``Refused``."""
    text = read_text(command.payload, command.options)
    pictures = _pictures(command, command.options, sees=sees)
    return shown(read_pictured(text, pictures, vocabulary.tokenize, _look).tokens, SIZE)


def _pictures(command: Submit | TokenizeCommand, options: JsonObject, *, sees: bool) -> tuple[Placed, ...]:
    if not sees and (command.images or "images" in options):
        raise Refused("NOT_SUPPORTED", "images")
    try:
        return read_places(command.payload, options, command.images)
    except BadOption as error:
        raise Refused("BAD_REQUEST", str(error)) from None


def _look(_image: EngineImage) -> list[Patch]:
    return [Patch(PICTURE_POSITIONS, None)]


def _ids(payload: bytes) -> tuple[int, ...]:
    ids = tuple(map(int, payload.split()))
    if any(token >= SIZE for token in ids):
        raise Refused("BAD_REQUEST", "invalid token id")
    return ids


def read_text(payload: bytes, options: JsonObject) -> TextPrompt:
    """The wire counts plain ranges in bytes, ``TextPrompt`` in characters. Raises ``Refused``."""
    spans = options.get("plain", ())
    try:
        text = payload.decode()
        if not isinstance(spans, list | tuple):
            raise TypeError(spans)
        plain = tuple((_characters(payload, start), _characters(payload, end)) for start, end in spans)
    except (UnicodeDecodeError, TypeError, ValueError):
        raise Refused("BAD_REQUEST", "invalid text or plain range") from None
    return TextPrompt(text=text, plain=plain, parse_special=options.get("parse_special", True) is True)


def read_pieces(command: DetokenizeCommand) -> tuple[bytes, ...]:
    """The bytes of each id. Raises ``Refused``."""
    try:
        return vocabulary.detokenize(command.ids, special=command.special)
    except ValueError as error:
        raise Refused("BAD_REQUEST", str(error)) from None


def _alternatives(options: JsonObject, key: str, older: int | None) -> int | None:
    if options.get(key) is None:
        return older
    return integer(options, key, 0, minimum=0, maximum=MAX_TOP_LOGPROBS)


def _characters(payload: bytes, end: int) -> int:
    return len(payload[:end].decode())
