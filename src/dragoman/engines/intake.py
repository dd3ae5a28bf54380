"""A SUBMIT as the worker understands it: checked, tokenised, and with its budget clamped to the context."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_SEED, MAX_TOP_LOGPROBS
from dragoman.core.request import SamplingParams, TextPrompt
from dragoman.engines.backend import Vocabulary
from dragoman.protocol.frames import DetokenizeCommand, Submit, TokenizeCommand
from dragoman.protocol.words import parse_ids


class Refused(Exception):
    """The engine will not run this: an ERROR code of the protocol, and details."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """``limit``: tokens that may be generated. ``bounded``: the client asked for less than the context has left."""

    slot: int
    prompt: tuple[int, ...]
    limit: int
    bounded: bool
    sampling: SamplingParams
    ignore_eos: bool
    logprobs: int | None
    echo: bool
    isolation: str
    extended: bool


def read_submit(command: Submit, vocabulary: Vocabulary, context: int) -> Intake:
    """Check and tokenise a SUBMIT. Raises ``Refused``."""
    options = command.extension or {}
    if command.ids:
        prompt = _ids(command.payload, vocabulary.size)
    else:
        prompt = tuple(vocabulary.tokenize(_text(command.payload, options)))
    if not prompt:
        raise Refused("EMPTY_PROMPT")
    room = context - len(prompt)
    if room < min(1, command.max_tokens):
        raise Refused("CONTEXT_EXCEEDED", f"{len(prompt)} {context}")
    return Intake(
        slot=command.slot,
        prompt=prompt,
        limit=min(command.max_tokens, room),
        bounded=command.max_tokens < room,
        sampling=SamplingParams(
            temperature=command.temperature,
            top_p=command.top_p,
            top_k=_integer(options, "top_k", minimum=0),
            min_p=_fraction(options, "min_p"),
            seed=None
            if options.get("seed") is None
            else _integer(options, "seed", minimum=-MAX_SEED - 1, maximum=MAX_SEED),
        ),
        ignore_eos=_boolean(options, "ignore_eos"),
        logprobs=_logprobs(command, options),
        echo=_boolean(options, "echo") if command.extension is not None else bool(command.logprobs),
        isolation=str(options.get("isolation", "")),
        extended=command.extension is not None,
    )


def read_tokenize(command: TokenizeCommand) -> TextPrompt:
    """The text of a TOKENIZE. Raises ``Refused``."""
    return _text(command.payload, command.options)


def read_detokenize(command: DetokenizeCommand, vocabulary: Vocabulary) -> tuple[bytes, ...]:
    """The bytes of each id of a DETOKENIZE. Raises ``Refused``."""
    if any(not 0 <= token < vocabulary.size for token in command.ids):
        raise Refused("BAD_REQUEST", "invalid token id")
    return tuple(
        b"" if vocabulary.is_control(token) and not command.special else vocabulary.piece(token)
        for token in command.ids
    )


def _ids(payload: bytes, size: int) -> tuple[int, ...]:
    try:
        ids = parse_ids(payload)
    except ValueError:
        raise Refused("BAD_REQUEST", "invalid token id") from None
    if any(token >= size for token in ids):
        raise Refused("BAD_REQUEST", "invalid token id")
    return ids


def _logprobs(command: Submit, options: JsonObject) -> int | None:
    """Alternatives per token. In the older form 0 is off; in an extension it asks for the chosen token alone."""
    if options.get("logprobs") is None:
        return command.logprobs or None
    return _integer(options, "logprobs", minimum=0, maximum=MAX_TOP_LOGPROBS)


def _text(payload: bytes, options: JsonObject) -> TextPrompt:
    try:
        text = payload.decode("utf-8")
        spans = _characters(payload, options.get("plain", ()))
    except (ValueError, TypeError):
        raise Refused("BAD_REQUEST", "invalid text or plain span") from None
    return TextPrompt(
        text=text,
        plain=spans,
        parse_special=_boolean(options, "parse_special", True),
        add_special=_boolean(options, "add_special", True),
    )


def _characters(payload: bytes, spans: object) -> tuple[tuple[int, int], ...]:
    """The wire counts spans in bytes, so that they need no agreement on characters; we count in characters.

    Ordered spans make this one pass: each byte is decoded once.
    """
    if not isinstance(spans, list | tuple):
        raise TypeError(spans)
    found = []
    at_byte = at_character = 0
    for start, end in spans:
        if not at_byte <= start <= end <= len(payload):
            raise ValueError(spans)
        first = at_character + len(payload[at_byte:start].decode("utf-8"))
        at_byte, at_character = end, first + len(payload[start:end].decode("utf-8"))
        found.append((first, at_character))
    return tuple(found)


def _integer(options: JsonObject, name: str, *, minimum: int, maximum: float = math.inf) -> int:
    value = options.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise Refused("BAD_REQUEST", name)
    return value


def _fraction(options: JsonObject, name: str) -> float:
    value = options.get(name, 0.0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not (math.isfinite(value) and 0 <= value <= 1):
        raise Refused("BAD_REQUEST", name)
    return float(value)


def _boolean(options: JsonObject, name: str, default: bool = False) -> bool:
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise Refused("BAD_REQUEST", name)
    return value
