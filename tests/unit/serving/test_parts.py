"""Operations as the sequences that they need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import Code, Unsupported
from dragoman.core.request import (
    FillIn,
    Generate,
    OutputLimits,
    PromptBatch,
    Readout,
    SamplingParams,
    TextPrompt,
    TokenPrompt,
)
from dragoman.engines.base import FillInTokens
from dragoman.serving.parts import parts_of, prompts_of
from support.hand_engine import info
from support.tag_dialect import TagDialect

RAW = TextPrompt(text="Once")


def parts(operation: Generate):
    prompts = prompts_of(operation, TagDialect(), info())
    return parts_of(operation, prompts, info(), "key")


def test_one_answer_is_one_part_with_all_that_was_asked() -> None:
    operation = Generate(
        prompt=RAW,
        sampling=SamplingParams(seed=1, presence_penalty=0.5),
        limits=OutputLimits(max_tokens=9, min_tokens=3, stop_token_ids=(4,), ignore_eos=True),
        readout=Readout(logprobs=2),
    )
    (part,) = parts(operation)
    request = part.request
    assert (request.prompt, request.sampling, request.isolation) == (RAW, operation.sampling, "key")
    assert (request.max_tokens, request.min_tokens, request.stop_token_ids, request.ignore_eos) == (9, 3, (4,), True)
    assert (request.logprobs, request.echo) == (2, None)


@pytest.mark.seeds("S42")
def test_every_part_reports_so_that_usage_can_be_true() -> None:
    (plain,) = parts(Generate(prompt=RAW))
    assert (plain.request.reports, plain.request.token_ids, plain.request.special_tokens) == (True, False, False)
    (telling,) = parts(Generate(prompt=RAW, readout=Readout(token_ids=True, special_tokens=True)))
    assert (telling.request.token_ids, telling.request.special_tokens) == (True, True)


def test_choices_are_numbered_prompt_by_prompt() -> None:
    batch = PromptBatch(prompts=(RAW, TokenPrompt(ids=(1,))))
    found = parts(Generate(prompt=batch, n=2))
    assert [(part.choice, part.prompt, part.fork) for part in found] == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]


def test_only_the_first_answer_reads_the_prompt_out() -> None:
    found = parts(Generate(prompt=RAW, n=3, readout=Readout(prompt_logprobs=4)))
    assert [part.request.echo for part in found] == [4, None, None]


def test_the_likeliest_of_several_needs_their_probabilities() -> None:
    assert [part.request.logprobs for part in parts(Generate(prompt=RAW, best_of=2))] == [0, 0]
    assert [part.request.logprobs for part in parts(Generate(prompt=RAW, n=2, best_of=2))] == [None, None]


FIM = FillInTokens(prefix="<p>", suffix="<s>", middle="<m>")


@pytest.mark.seeds("S48")
def test_a_gap_is_written_with_the_models_own_tokens() -> None:
    operation = Generate(prompt=FillIn(before=TextPrompt(text="def f():"), after="\n"))
    (prompt,) = prompts_of(operation, TagDialect(), replace(info(), fill_in=FIM))
    assert prompt == TextPrompt(text="<p>def f():<s>\n<m>")


@pytest.mark.seeds("S48")
def test_text_around_a_gap_can_be_kept_from_becoming_control_tokens() -> None:
    before = TextPrompt(text="ab", parse_special=False, add_special=False)
    operation = Generate(prompt=FillIn(before=before, after="cde"))
    (prompt,) = prompts_of(operation, TagDialect(), replace(info(), fill_in=FIM))
    assert isinstance(prompt, TextPrompt)
    assert [prompt.text[start:end] for start, end in prompt.plain] == ["ab", "cde"]
    assert (prompt.parse_special, prompt.add_special) == (True, False)


@pytest.mark.seeds("S44", "S48")
def test_a_model_without_such_tokens_refuses_the_suffix_by_name() -> None:
    with pytest.raises(Unsupported) as refusal:
        prompts_of(Generate(prompt=FillIn(before=RAW, after="x")), TagDialect(), info())
    assert (refusal.value.code, refusal.value.feature) == (Code.UNSUPPORTED_FIELD, "suffix")
