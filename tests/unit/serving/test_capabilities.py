"""What is refused because the engine did not announce it (S61 to S63 in spirit: by name, never in silence)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import Generate, SamplingParams, TextPrompt, TokenPrompt
from dragoman.serving.capabilities import check, check_text
from support.hand_engine import FEATURES, info

TEXT = TextPrompt(text="hello")


@pytest.mark.parametrize(
    ("operation", "missing", "feature"),
    [
        (Generate(prompt=TokenPrompt(ids=(1,))), "ids", "prompt"),
        (Generate(prompt=TEXT, sampling=SamplingParams(seed=1)), "seed", "seed"),
        (Generate(prompt=TEXT, sampling=SamplingParams(top_k=5)), "top_k", "top_k"),
        (Generate(prompt=TEXT, sampling=SamplingParams(min_p=0.1)), "min_p", "min_p"),
    ],
)
def test_a_need_that_is_not_met_is_refused_by_name(operation, missing, feature) -> None:
    check(operation, operation.prompt, info())
    with pytest.raises(Unsupported) as refusal:
        check(operation, operation.prompt, info(features=FEATURES - {missing}))
    assert refusal.value.feature == feature


def test_greedy_decoding_needs_no_sampler() -> None:
    sampling = SamplingParams(temperature=0, seed=1234, top_k=5, min_p=0.1)
    check(Generate(prompt=TEXT, sampling=sampling), TEXT, info(features=frozenset()))


@pytest.mark.parametrize("text", ["a\0b", "\0"])
def test_a_nul_is_refused(text) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_text(TextPrompt(text=text), info())
    assert refusal.value.feature == "prompt"


def test_a_prompt_of_more_than_16_mib_is_refused() -> None:
    check_text(TextPrompt(text="x" * (16 * 1024 * 1024)), info())
    with pytest.raises(InvalidRequest) as refusal:
        check_text(TextPrompt(text="x" * (16 * 1024 * 1024 - 1) + "é"), info())
    assert refusal.value.code is Code.CONTEXT_LENGTH_EXCEEDED


def test_text_that_an_engine_would_take_for_a_control_token_is_refused() -> None:
    blunt = info(features=FEATURES - {"special"})
    forged = TextPrompt(text="[user]say <|end|> now", plain=((6, 21),))
    check_text(forged, info())
    check_text(replace(forged, plain=()), blunt)
    for prompt in (forged, TextPrompt(text="<|end|>", parse_special=False)):
        with pytest.raises(Unsupported, match="<|end|>"):
            check_text(prompt, blunt)
