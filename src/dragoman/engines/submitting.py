"""An ``EngineRequest`` as a SUBMIT, and a refusal by name of what this engine did not announce. Pure.

A request that asks for nothing beyond the older form has no extension, so its bytes are those of the older form (S106). The server asks
for reports, which only an extension brings, wherever there are extensions.
An extension holds only what was asked for:

``top_k`` ... ``dry``                      as in ``sampling_options``
``min_tokens``, ``stop_token_ids``, ``ignore_eos``  as in ``EngineRequest``
``grammar``                                Lark as llguidance reads it; the answer is a sentence of it
``logprobs``, ``echo``                     alternatives per generated token, and per position of the prompt: each alone, or both
``plain``                                  half-open byte ranges of the payload in which no special token is recognised
``parse_special``, ``add_special``         as in ``TextPrompt``, when false
``isolation``                              key of the prefix cache
``images``                                 bytes of the payload before which the pictures stand, one for each IMAGE frame

An older engine has one word for ``logprobs`` and ``echo``, so it gets the larger number and answers both. Its pictures are patches that
only its own gateway knows to cut, so it gets none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from dragoman.core import limits
from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import TextPrompt, TokenPrompt
from dragoman.engines.base import IMAGES, EngineImage, EngineInfo, EngineRequest
from dragoman.engines.sampling_options import write_sampling
from dragoman.protocol.frames import Image, Submit, TokenizeCommand
from dragoman.protocol.words import format_ids, format_json

NEEDS: Final[Mapping[str, str]] = {
    "logprobs": "logprobs",
    "echo": "echo",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "stop_token_ids": "stop_ids",
    "ignore_eos": "ignore_eos",
    "grammar": "grammar",
    "images": IMAGES,
} | dict.fromkeys(
    (
        "typical_p",
        "repetition_penalty",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "allowed_token_ids",
        "bad_words",
        "xtc",
        "dry",
        "min_tokens",
    ),
    "processors",
)
"""Keys of an extension, and what an engine must have announced for each."""

_DRAWING: Final = ("seed", "top_k", "min_p", "typical_p", "xtc")
"""Keys that mean nothing to a greedy request, which draws nothing: an engine need not know them for it."""

_OLDER: Final = frozenset({"logprobs", "echo", "isolation", "plain", "parse_special", "add_special"})
"""Keys that an older engine can do without: it has other words for them, or one model and one tenant."""

_MANY_SPANS: Final = limits.MAX_EXTENSION_BYTES // 64
"""Spans of a prompt up to which there is no doubt that an extension holds them."""


def submit_command(request_id: int, request: EngineRequest, info: EngineInfo, *, extended: bool) -> Submit:
    """The command for ``request``; ``extended`` engines announced ``ext=1``.

    Raises ``Unsupported`` naming the feature, or ``InvalidRequest`` for a prompt that cannot be sent.
    """
    extension = _extension(request, info, extended=extended)
    _refuse(request, extension, info, extended=extended)
    return Submit(
        id=request_id,
        slot=request.slot,
        payload=payload_of(request.prompt),
        max_tokens=request.max_tokens,
        temperature=request.sampling.temperature,
        top_p=request.sampling.top_p,
        logprobs=_logprobs(request, extended=extended),
        ids=isinstance(request.prompt, TokenPrompt),
        pin=request.keep_prefix and "pin" in info.features,  # a wish: an engine that can not do it is not asked
        images=_frames(request_id, request.images),
        # The older form knows no request that generates nothing, and tells less: there an extension may be empty, but must be there.
        extension=extension if extended and (extension or _asks_for_more(request)) else None,
    )


def tokenize_command(
    request_id: int, prompt: TextPrompt, images: tuple[EngineImage, ...], info: EngineInfo
) -> TokenizeCommand:
    """The command that asks for the tokens of ``prompt``. Raises as ``submit_command`` does."""
    if prompt.images and IMAGES not in info.features:
        raise _unsupported(IMAGES)
    _match(prompt, images)
    return TokenizeCommand(
        id=request_id, payload=payload_of(prompt), options=text_options(prompt), images=_frames(request_id, images)
    )


def payload_of(prompt: TextPrompt | TokenPrompt) -> bytes:
    """The bytes of a prompt. Raises ``InvalidRequest`` where the pipe cannot carry it."""
    match prompt:
        case TokenPrompt(ids=ids):
            payload = format_ids(ids)
        case TextPrompt(text=text):
            try:
                payload = text.encode()
            except UnicodeEncodeError as error:
                raise _bad_prompt("The prompt contains half of a surrogate pair.") from error
            if b"\0" in payload:  # seeds.md 2.6, rule 5
                raise _bad_prompt("The prompt contains a NUL character.")
        case _:
            assert_never(prompt)
    if len(payload) > limits.MAX_PROMPT_BYTES:
        raise _bad_prompt(f"The prompt is longer than {limits.MAX_PROMPT_BYTES} bytes.")
    return payload


def text_options(prompt: TextPrompt) -> dict[str, Json]:
    """How to tokenise a text, where it differs from the older form: for SUBMIT and for TOKENIZE."""
    options: dict[str, Json] = {}
    if prompt.plain:
        options["plain"] = [list(span) for span in byte_spans(prompt.text, prompt.plain)]
    if not prompt.parse_special:
        options["parse_special"] = False
    if not prompt.add_special:
        options["add_special"] = False
    if prompt.images:
        options["images"] = [byte for byte, _ in byte_spans(prompt.text, [(at, at) for at, _ in prompt.images])]
    return options


def byte_spans(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of characters, in order and disjoint, as ranges of UTF-8 bytes."""
    if text.isascii():
        return list(spans)
    found = []
    character = byte = 0
    for start, end in spans:
        first = byte + len(text[character:start].encode())
        byte = first + len(text[start:end].encode())
        character = end
        found.append((first, byte))
    return found


def _match(prompt: TextPrompt | TokenPrompt, images: tuple[EngineImage, ...]) -> None:
    """One picture for each place. Raises ``ValueError``: whoever built the request is wrong, no client."""
    places = len(prompt.images) if isinstance(prompt, TextPrompt) else 0
    if places != len(images):
        raise ValueError(f"{len(images)} pictures for {places} places of the prompt")


def _frames(request_id: int, images: tuple[EngineImage, ...]) -> tuple[Image, ...]:
    return tuple(
        Image(id=request_id, payload=image.rgb, grid_h=image.height, grid_w=image.width, rgb=True) for image in images
    )


def _logprobs(request: EngineRequest, *, extended: bool) -> int | None:
    """The word of the header. 0 alternatives is off to an older engine, which is asked for one that nobody then looks at."""
    if extended:
        return request.logprobs
    asked = [count for count in (request.logprobs, request.echo) if count is not None]
    return max(1, *asked) if asked else None


def _extension(request: EngineRequest, info: EngineInfo, *, extended: bool) -> JsonObject:
    extension = write_sampling(request.sampling)
    if request.sampling.temperature == 0:
        idle = {key for key in _DRAWING if not (extended and NEEDS[key] in info.features)}
        extension = {key: value for key, value in extension.items() if key not in idle}
    if request.min_tokens:
        extension["min_tokens"] = request.min_tokens
    if request.stop_token_ids:
        extension["stop_token_ids"] = list(request.stop_token_ids)
    if request.ignore_eos:
        extension["ignore_eos"] = True
    if request.grammar is not None:
        extension["grammar"] = request.grammar
    if request.logprobs is not None:
        extension["logprobs"] = request.logprobs
    if request.echo is not None:
        extension["echo"] = request.echo
    if request.isolation:
        extension["isolation"] = request.isolation
    if isinstance(request.prompt, TextPrompt):
        extension |= text_options(request.prompt)
    return extension


def _asks_for_more(request: EngineRequest) -> bool:
    return request.max_tokens == 0 or request.token_ids or request.special_tokens or request.reports


def _refuse(request: EngineRequest, extension: JsonObject, info: EngineInfo, *, extended: bool) -> None:
    if isinstance(request.prompt, TokenPrompt) and "ids" not in info.features:
        raise _unsupported("ids")
    _match(request.prompt, request.images)
    for key in extension:
        announced = key not in NEEDS or NEEDS[key] in info.features
        if not announced or not (extended or key in _OLDER):
            raise _unsupported(key)
    if request.images and request.echo is not None:
        message = (
            "The log-probabilities of a prompt with pictures can not be told: most of its positions have no token."
        )
        raise Unsupported(message, code=Code.UNSUPPORTED_VALUE, feature="echo")
    if extended:
        _refuse_bulk(extension)
        return
    if request.max_tokens == 0 and request.logprobs is None and request.echo is None:
        raise _unsupported("output_budget")
    for feature, asked in (("token_ids", request.token_ids), ("special_tokens", request.special_tokens)):
        if asked:
            raise _unsupported(feature)
    if isinstance(request.prompt, TextPrompt):
        _refuse_forgery(request.prompt, info)


def _refuse_bulk(extension: JsonObject) -> None:
    """What no extension can hold is the client's doing, and the longest of its lists and texts is to blame."""
    lists = {key: value for key, value in extension.items() if isinstance(value, list | dict)}
    texts = {key: value for key, value in extension.items() if key == "grammar"}
    if not texts and all(key == "plain" and len(value) <= _MANY_SPANS for key, value in lists.items()):
        return  # nearly every request: it need not be written twice
    sizes = {key: len(format_json({key: value})) for key, value in (lists | texts).items()}
    if sum(sizes.values()) > limits.MAX_EXTENSION_BYTES - limits.MAX_HEADER_BYTES:
        key = max(sizes, key=lambda key: sizes[key])
        raise InvalidRequest(
            f"This is more than {limits.MAX_EXTENSION_BYTES} bytes can tell the engine.",
            code=Code.INVALID_VALUE,
            feature="prompt" if key == "plain" else key,
        )


def _refuse_forgery(prompt: TextPrompt, info: EngineInfo) -> None:
    """An older engine sees control tokens wherever their text stands, so a user may not write any there."""
    spans = prompt.plain if prompt.parse_special else ((0, len(prompt.text)),)
    for start, end in spans:
        written = prompt.text[start:end]
        for token in info.special_tokens:
            if token.text in written:
                raise _bad_prompt(f"This engine can not take the text {token.text!r} other than as a control token.")


def _unsupported(feature: str) -> Unsupported:
    return Unsupported(f"This engine does not support {feature}.", code=Code.UNSUPPORTED_FIELD, feature=feature)


def _bad_prompt(message: str) -> InvalidRequest:
    return InvalidRequest(message, code=Code.INVALID_VALUE, feature="prompt")
