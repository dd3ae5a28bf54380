"""What a request needs of an engine, against what the engine announced: the one place that compares the two.

Nothing is dropped in silence: what can not be done is refused by name, before the request waits for anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.limits import MAX_PROMPT_BYTES
from dragoman.core.request import (
    Conversation,
    FillIn,
    Generate,
    Prompt,
    PromptBatch,
    SamplingParams,
    TextPrompt,
    TokenPrompt,
)
from dragoman.engines.base import IMAGES, EngineInfo
from dragoman.serving.attribution import attributed
from dragoman.serving.constraint import enforced
from dragoman.serving.prompts import reads_out

Need: TypeAlias = tuple[str, str]
"""An engine's feature, and the feature of the request that needs it."""

_PROCESSORS: Final = (
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "allowed_token_ids",
    "bad_words",
    "dry",
)
"""Sampling parameters that change logits, and so greedy decoding, too."""


def check(operation: Generate, prompts: tuple[Prompt, ...], info: EngineInfo) -> None:
    """Raise ``Unsupported`` for the first need that is not met, ``InvalidRequest`` for what no engine may get."""
    for number, prompt in enumerate(prompts):
        try:
            check_text(prompt, info)
        except InvalidRequest as error:
            raise (attributed(error, number) if len(prompts) > 1 else error) from None
    if isinstance(operation.prompt, FillIn) and operation.readout.echo and reads_out(operation.readout) is not None:
        raise Unsupported(
            "beside a suffix the prompt is read as another text than it was sent, so it can not be echoed with log-probabilities",
            code=Code.UNSUPPORTED_VALUE,
            feature="echo",
        )
    if reads_out(operation.readout) is not None and any(_pictured(prompt) for prompt in prompts):
        raise Unsupported(
            "what stands for a picture are no tokens, so a prompt that shows one can not be read out",
            code=Code.UNSUPPORTED_VALUE,
            feature="echo" if operation.readout.echo else "prompt_logprobs",
        )
    for engine_feature, feature in _needs(operation, prompts):
        if engine_feature not in info.features:
            raise Unsupported(
                f"the engine of {info.model} can not do this", code=Code.UNSUPPORTED_FIELD, feature=feature
            )
    for feature, ids in _named_tokens(operation):
        for token in ids:
            if token >= info.vocabulary_size:
                raise InvalidRequest(
                    f"{token} is not a token of {info.model}, whose ids are 0 to {info.vocabulary_size - 1}",
                    code=Code.INVALID_VALUE,
                    feature=feature,
                )


def check_sight(source: Conversation | FillIn | PromptBatch | Prompt, info: EngineInfo) -> None:
    """Raise ``Unsupported``, naming the first picture, where the model reads text alone; a template might mind something else first."""
    if not isinstance(source, Conversation) or IMAGES in info.features:
        return
    for message in source.messages:
        for picture in message.images:
            raise Unsupported(
                f"{picture.place or 'a picture'}: {info.model} reads text only, so it cannot be shown pictures",
                code=Code.UNSUPPORTED_VALUE,
                feature="messages",
                param=picture.place or None,
            )


def check_text(prompt: Prompt, info: EngineInfo) -> None:
    """Raise ``InvalidRequest`` for text that may not be sent: NUL (seeds.md 2.6), too much, or a forged control token."""
    if not isinstance(prompt, TextPrompt):
        return
    if "\0" in prompt.text:
        raise InvalidRequest("a prompt can not hold the NUL character", code=Code.INVALID_VALUE, feature="prompt")
    if len(prompt.text) * 4 > MAX_PROMPT_BYTES and len(prompt.text.encode()) > MAX_PROMPT_BYTES:
        raise InvalidRequest(
            f"the prompt has more than {MAX_PROMPT_BYTES} bytes", code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt"
        )
    if "special" not in info.features:
        _refuse_forgery(prompt, info)


def _pictured(prompt: Prompt) -> bool:
    return isinstance(prompt, TextPrompt) and bool(prompt.images)


def _named_tokens(operation: Generate) -> Iterator[tuple[str, Iterable[int]]]:
    yield "logit_bias", (token for token, _ in operation.sampling.logit_bias)
    yield "allowed_token_ids", operation.sampling.allowed_token_ids
    yield "stop_token_ids", operation.limits.stop_token_ids


def _needs(operation: Generate, prompts: tuple[Prompt, ...]) -> Iterator[Need]:
    if any(isinstance(prompt, TokenPrompt) for prompt in prompts):
        yield "ids", "prompt"
    readout = operation.readout
    if readout.logprobs is not None or (operation.best_of or 0) > operation.n:
        yield "logprobs", "logprobs" if readout.logprobs is not None else "best_of"
    if reads_out(readout) is not None:
        yield "echo", "echo" if readout.echo else "prompt_logprobs"
    if readout.token_ids:
        yield "tokenize", "token_ids"
    if operation.limits.stop_token_ids:
        yield "stop_ids", "stop_token_ids"
    if operation.limits.ignore_eos:
        yield "ignore_eos", "ignore_eos"
    for feature in enforced(operation):
        yield "grammar", feature
    yield from _sampling_needs(operation)


def _sampling_needs(operation: Generate) -> Iterator[Need]:
    sampling, plain = operation.sampling, SamplingParams()
    for name in _PROCESSORS:
        if getattr(sampling, name) != getattr(plain, name):
            yield "processors", name
    if operation.limits.min_tokens:
        yield "processors", "min_tokens"
    if sampling.temperature == 0:  # greedy: there is nothing that the others could change
        return
    if sampling.seed is not None:
        yield "seed", "seed"
    if sampling.top_k > 0:
        yield "top_k", "top_k"
    if sampling.min_p > 0:
        yield "min_p", "min_p"
    if sampling.typical_p < 1:
        yield "processors", "typical_p"
    if sampling.xtc is not None:
        yield "processors", "xtc"


def _refuse_forgery(prompt: TextPrompt, info: EngineInfo) -> None:
    """An engine that can not read text as mere text must not be given a user's text that spells a control token."""
    ranges = prompt.plain if prompt.parse_special else ((0, len(prompt.text)),)
    for start, end in ranges:
        written = prompt.text[start:end]
        for token in info.special_tokens:
            if token.text and token.text in written:
                raise Unsupported(
                    f"the engine can not tell {token.text!r} in a text from the control token",
                    code=Code.UNSUPPORTED_VALUE,
                    feature="prompt",
                )
