"""What a request needs of an engine, against what the engine announced: the one place that compares the two.

Nothing is dropped in silence: what can not be done is refused by name, before the request waits for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.limits import MAX_PROMPT_BYTES
from dragoman.core.request import Generate, Prompt, TextPrompt, TokenPrompt
from dragoman.engines.base import EngineInfo

Need: TypeAlias = tuple[str, str]
"""An engine's feature, and the feature of the request that needs it."""


def check(operation: Generate, prompt: Prompt, info: EngineInfo) -> None:
    """Raise ``Unsupported`` for the first need that is not met, ``InvalidRequest`` for a prompt that no engine may get."""
    check_text(prompt, info)
    for engine_feature, feature in _needs(operation, prompt):
        if engine_feature not in info.features:
            raise Unsupported(
                f"the engine of {info.model} can not do this", code=Code.UNSUPPORTED_FIELD, feature=feature
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


def _needs(operation: Generate, prompt: Prompt) -> Iterator[Need]:
    if isinstance(prompt, TokenPrompt):
        yield "ids", "prompt"
    sampling = operation.sampling
    if sampling.temperature == 0:  # greedy: there is nothing that these could change
        return
    if sampling.seed is not None:
        yield "seed", "seed"
    if sampling.top_k > 0:
        yield "top_k", "top_k"
    if sampling.min_p > 0:
        yield "min_p", "min_p"


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
