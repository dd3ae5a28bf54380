"""A SUBMIT as the worker understands it: checked, tokenised, looked at, and with its budget clamped to the context."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_GRAMMAR_BYTES, MAX_TOKENS, MAX_TOP_LOGPROBS
from dragoman.core.request import SamplingParams, TextPrompt
from dragoman.engines.backend import Vocabulary
from dragoman.engines.eyes import BadImage, Eyes
from dragoman.engines.option_values import BadOption, boolean, bounded_text, integer, token_ids
from dragoman.engines.pictured import Pictured, read_pictured, read_places, shown
from dragoman.engines.sampling_options import read_sampling
from dragoman.protocol.frames import DetokenizeCommand, Image, Submit, TokenizeCommand
from dragoman.protocol.words import parse_ids
from dragoman.scheduler.sequence import Stretch


class Refused(Exception):
    """The engine will not run this: an ERROR code of the protocol, and details."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """``limit``: tokens that may be generated. ``bounded``: the client asked for less than the context has left.

    ``logprobs`` and ``echo`` are numbers of alternatives, of generated tokens and of the prompt's; None is off. ``stretches`` are the
    positions of the prompt's pictures. ``kept``: the prompt should leave the cache late.
    """

    slot: int
    prompt: tuple[int, ...]
    stretches: tuple[Stretch, ...]
    kept: bool
    limit: int
    bounded: bool
    sampling: SamplingParams
    min_tokens: int
    stop_token_ids: tuple[int, ...]
    ignore_eos: bool
    grammar: str | None
    logprobs: int | None
    echo: int | None
    isolation: str
    extended: bool


def read_submit(command: Submit, vocabulary: Vocabulary, context: int, eyes: Eyes | None = None) -> Intake:
    """Check and tokenise a SUBMIT. Raises ``Refused``."""
    try:
        return _read_submit(command, vocabulary, context, eyes)
    except BadOption as error:
        raise Refused("BAD_REQUEST", str(error)) from None


def _read_submit(command: Submit, vocabulary: Vocabulary, context: int, eyes: Eyes | None) -> Intake:
    options = command.extension or {}
    sampling = read_sampling(
        options, temperature=command.temperature, top_p=command.top_p, vocabulary_size=vocabulary.size
    )
    if command.ids:
        if command.images or "images" in options:
            raise Refused("BAD_REQUEST", "images can not stand between ids")
        pictured = Pictured(tokens=_ids(command.payload, vocabulary.size))
    else:
        pictured = _look(command.payload, options, command.images, vocabulary, eyes)
    prompt, stretches = pictured.tokens, pictured.stretches
    if not prompt:
        raise Refused("EMPTY_PROMPT")
    if prompt[-1] < 0:
        raise Refused("BAD_REQUEST", "images is the end of the prompt, which must be text")
    room = context - len(prompt)
    if room < min(1, command.max_tokens):
        raise Refused("CONTEXT_EXCEEDED", f"{len(prompt)} {context}")
    logprobs = _alternatives(options, "logprobs")
    # In the older form one word asks for both, and 0 is off (S87).
    older = command.logprobs or None
    echo = older if command.extension is None else _alternatives(options, "echo")
    if stretches and echo is not None:
        raise Refused("BAD_REQUEST", "echo is not told of pictures")
    return Intake(
        slot=command.slot,
        prompt=prompt,
        stretches=stretches,
        kept=command.pin,
        limit=min(command.max_tokens, room),
        bounded=command.max_tokens < room,
        sampling=sampling,
        min_tokens=integer(options, "min_tokens", 0, minimum=0, maximum=MAX_TOKENS),
        stop_token_ids=token_ids(options, "stop_token_ids", vocabulary.size),
        ignore_eos=boolean(options, "ignore_eos"),
        grammar=bounded_text(options, "grammar", most_bytes=MAX_GRAMMAR_BYTES),
        logprobs=older if logprobs is None else logprobs,
        echo=echo,
        isolation=str(options.get("isolation", "")),
        extended=command.extension is not None,
    )


def read_tokenize(command: TokenizeCommand, vocabulary: Vocabulary, eyes: Eyes | None = None) -> tuple[int, ...]:
    """The tokens of a TOKENIZE; each position of a picture is the first number that is none. Raises ``Refused``."""
    try:
        pictured = _look(command.payload, command.options, command.images, vocabulary, eyes)
    except BadOption as error:
        raise Refused("BAD_REQUEST", str(error)) from None
    return shown(pictured.tokens, vocabulary.size)


def read_detokenize(command: DetokenizeCommand, vocabulary: Vocabulary) -> tuple[bytes, ...]:
    """The bytes of each id of a DETOKENIZE. Raises ``Refused``."""
    if any(not 0 <= token < vocabulary.size for token in command.ids):
        raise Refused("BAD_REQUEST", "invalid token id")
    return tuple(
        b"" if vocabulary.is_control(token) and not command.special else vocabulary.piece(token)
        for token in command.ids
    )


def _look(
    payload: bytes, options: JsonObject, frames: tuple[Image, ...], vocabulary: Vocabulary, eyes: Eyes | None
) -> Pictured:
    """Text and pictures as the model takes them."""
    prompt = _text(payload, options)
    if eyes is None:
        if frames or "images" in options:
            raise Refused("NOT_SUPPORTED", "images")
        return Pictured(tokens=tuple(vocabulary.tokenize(prompt)))
    try:
        return read_pictured(prompt, read_places(payload, options, frames), vocabulary.tokenize, eyes.look)
    except BadImage as error:
        raise Refused("BAD_IMAGE", str(error)) from None


def _ids(payload: bytes, size: int) -> tuple[int, ...]:
    try:
        ids = parse_ids(payload)
    except ValueError:
        raise Refused("BAD_REQUEST", "invalid token id") from None
    if any(token >= size for token in ids):
        raise Refused("BAD_REQUEST", "invalid token id")
    return ids


def _alternatives(options: JsonObject, key: str) -> int | None:
    """How many alternatives of each token: 0 asks for the token alone, and nothing for nothing."""
    if options.get(key) is None:
        return None
    return integer(options, key, 0, minimum=0, maximum=MAX_TOP_LOGPROBS)


def _text(payload: bytes, options: JsonObject) -> TextPrompt:
    try:
        text = payload.decode("utf-8")
        spans = _characters(payload, options.get("plain", ()))
    except (ValueError, TypeError):
        raise Refused("BAD_REQUEST", "invalid text or plain span") from None
    return TextPrompt(
        text=text,
        plain=spans,
        parse_special=boolean(options, "parse_special", True),
        add_special=boolean(options, "add_special", True),
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
