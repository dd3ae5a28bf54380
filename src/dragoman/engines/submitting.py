"""An ``EngineRequest`` as a SUBMIT, and a refusal by name of what this engine did not announce. Pure.

A request that asks for nothing beyond the older form has no extension, so its bytes are those of the older form (S106).
An extension holds only what was asked for:

``top_k``, ``min_p``, ``seed``, ``ignore_eos``   as in ``SamplingParams`` and ``OutputLimits``
``logprobs``, ``echo``                     as in ``EngineRequest``; the word ``logprobs=`` alone asks older engines for both
``plain``                                  half-open byte ranges of the payload in which no special token is recognised
``parse_special``, ``add_special``         as in ``TextPrompt``, when false
``isolation``                              key of the prefix cache
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dragoman.core import limits
from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import TextPrompt, TokenPrompt
from dragoman.engines.base import EngineInfo, EngineRequest
from dragoman.protocol.frames import Submit


def submit_command(request_id: int, request: EngineRequest, info: EngineInfo, *, extended: bool) -> Submit:
    """The command for ``request``; ``extended`` engines announced ``ext=1``.

    Raises ``Unsupported`` naming the feature, or ``InvalidRequest`` for a prompt that cannot be sent.
    """
    _refuse(request, info, extended=extended)
    return Submit(
        id=request_id,
        slot=request.slot,
        payload=payload_of(request.prompt),
        max_tokens=request.max_tokens,
        temperature=request.sampling.temperature,
        top_p=request.sampling.top_p,
        logprobs=_logprobs(request, extended=extended),
        ids=isinstance(request.prompt, TokenPrompt),
        extension=_extension(request) if extended else None,
    )


def payload_of(prompt: TextPrompt | TokenPrompt) -> bytes:
    """The bytes of a prompt. Raises ``InvalidRequest`` where the pipe cannot carry it."""
    match prompt:
        case TokenPrompt(ids=ids):
            payload = b" ".join([b"%d" % token for token in ids])
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


def _logprobs(request: EngineRequest, *, extended: bool) -> int | None:
    """0 alternatives is off to an older engine, which is asked for one that nobody then looks at."""
    return 1 if request.logprobs == 0 and not extended else request.logprobs


def _extension(request: EngineRequest) -> JsonObject | None:
    sampling = request.sampling
    extension: dict[str, Json] = {}
    if sampling.top_k:
        extension["top_k"] = sampling.top_k
    if sampling.min_p:
        extension["min_p"] = sampling.min_p
    if sampling.seed is not None:
        extension["seed"] = sampling.seed
    if request.ignore_eos:
        extension["ignore_eos"] = True
    if request.logprobs is not None:
        extension["logprobs"] = request.logprobs
    if request.echo is not None:
        extension["echo"] = True
    if request.isolation:
        extension["isolation"] = request.isolation
    if isinstance(request.prompt, TextPrompt):
        extension |= text_options(request.prompt)
    # The older form knows no request that generates nothing, so the extension may be empty, but must be there.
    return extension if extension or request.max_tokens == 0 else None


def _refuse(request: EngineRequest, info: EngineInfo, *, extended: bool) -> None:
    needs = {
        "ids": isinstance(request.prompt, TokenPrompt),
        "logprobs": request.logprobs is not None,
        "echo": request.echo is not None,
        "top_k": request.sampling.top_k > 0,
        "min_p": request.sampling.min_p > 0,
        "seed": request.sampling.seed is not None,
    }
    for feature, needed in needs.items():
        if needed and feature not in info.features:
            raise _unsupported(feature)
    if request.ignore_eos and not extended:
        raise _unsupported("ignore_eos")
    if request.max_tokens == 0 and request.logprobs is None and not extended:
        raise _unsupported("output_budget")
    if isinstance(request.prompt, TextPrompt) and not extended:
        _refuse_forgery(request.prompt, info)


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
