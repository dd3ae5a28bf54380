"""An operation as the sequences that an engine must compute: one for each answer to each prompt (S42, S95)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from dragoman.core.errors import Code, Unsupported
from dragoman.core.limits import MAX_SEED
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
from dragoman.dialects.base import Dialect
from dragoman.engines.base import EngineInfo, EngineRequest, FillInTokens
from dragoman.serving.prompts import reads_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One sequence. ``prompt`` is the number of its prompt, of which it is the first answer, or another ``fork``.

    Its slot is set when there is one, and its pictures are decoded then.
    """

    choice: int
    prompt: int
    fork: int
    request: EngineRequest


def prompts_of(operation: Generate, dialect: Dialect, info: EngineInfo) -> tuple[Prompt, ...]:
    """The operation's prompts as the engine will read them. Raises ``InvalidRequest`` where one can not be written."""
    match operation.prompt:
        case Conversation() as conversation:
            return (dialect.render(conversation),)
        case FillIn() as gap:
            return (_fill_in(gap, info),)
        case PromptBatch(prompts=prompts):
            return prompts
        case TextPrompt() | TokenPrompt() as prompt:
            return (prompt,)
        case _:
            assert_never(operation.prompt)


def parts_of(
    operation: Generate, prompts: tuple[Prompt, ...], info: EngineInfo, isolation: str, grammar: str | None = None
) -> tuple[Part, ...]:
    """The sequences, in the order of their choices: all answers to the first prompt, then those to the second."""
    limits, readout = operation.limits, operation.readout
    answers = operation.best_of or operation.n
    request = EngineRequest(
        prompt=prompts[0],
        max_tokens=info.context_length if limits.max_tokens is None else limits.max_tokens,
        min_tokens=limits.min_tokens,
        stop_token_ids=limits.stop_token_ids,
        sampling=operation.sampling,
        ignore_eos=limits.ignore_eos,
        grammar=grammar,
        # The likeliest of several can only be told by their tokens' probabilities.
        logprobs=0 if readout.logprobs is None and answers > operation.n else readout.logprobs,
        token_ids=readout.token_ids,
        special_tokens=readout.special_tokens,
        reports=True,
        isolation=isolation,
        keep_prefix=operation.keep_prefix,
    )
    return tuple(
        Part(
            choice=index * answers + fork,
            prompt=index,
            fork=fork,
            request=replace(
                request,
                prompt=prompt,
                sampling=forked(operation.sampling, fork),
                echo=None if fork else reads_out(readout),  # the forks share what the first one read
            ),
        )
        for index, prompt in enumerate(prompts)
        for fork in range(answers)
    )


def forked(sampling: SamplingParams, fork: int) -> SamplingParams:
    """The parameters of the n-th answer to one prompt: with a seed of its own, so that equal requests get equal sets of answers."""
    if sampling.seed is None or not fork:
        return sampling
    span = 2 * (MAX_SEED + 1)
    return replace(sampling, seed=(sampling.seed + fork + MAX_SEED + 1) % span - MAX_SEED - 1)


def _fill_in(gap: FillIn, info: EngineInfo) -> TextPrompt:
    tokens = info.fill_in
    if tokens is None:
        raise Unsupported(
            f"{info.model} has no tokens for filling a gap", code=Code.UNSUPPORTED_FIELD, feature="suffix"
        )
    return _between(gap, tokens)


def _between(gap: FillIn, tokens: FillInTokens) -> TextPrompt:
    before, after = gap.before, gap.after
    start = len(tokens.prefix)
    end = start + len(before.text)
    then = end + len(tokens.suffix)
    plain = tuple((start + first, start + last) for first, last in before.plain)
    if not before.parse_special:  # ours must be recognised all the same
        plain = ((start, end), (then, then + len(after)))
    return TextPrompt(
        text=f"{tokens.prefix}{before.text}{tokens.suffix}{after}{tokens.middle}",
        plain=plain,
        add_special=before.add_special,
    )
