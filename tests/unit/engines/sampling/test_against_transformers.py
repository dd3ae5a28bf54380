"""Scores that Transformers' processors made of random logits, recorded in ``sampling_vectors.json``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.request import SamplingParams
from dragoman.engines.sampling import draw
from dragoman.engines.sampling.masks import BadWords, Unended
from dragoman.engines.sampling.sampler import _changes
from support.words import Words

CASES = json.loads((Path(__file__).parents[3] / "fixtures" / "sampling_vectors.json").read_text())["cases"]
POINTS = 4000


def cases(*processors: str):
    return [
        pytest.param(case, id=f"{case['processor']}-{index}")
        for index, case in enumerate(CASES)
        if case["processor"] in processors
    ]


def row_of(case):
    return np.array(case["logits"], np.float32)


def finite(case) -> dict[int, float]:
    return {token: score for token, score in enumerate(case["scores"]) if score is not None}


@pytest.mark.seeds("S34", "S35")
@pytest.mark.parametrize("case", cases("RepetitionPenaltyLogitsProcessor", "SequenceBiasLogitsProcessor"))
def test_changed_logits_are_those_of_transformers(case) -> None:
    row = row_of(case)
    for change in _changes(SamplingParams(**case["params"]), Words((), len(row))):
        change.apply(row, case["prompt"], case["generated"])
    assert row.tolist() == pytest.approx(case["scores"], abs=1e-5)


@pytest.mark.seeds("S36")
@pytest.mark.parametrize("case", cases("MinNewTokensLengthLogitsProcessor"))
def test_the_end_is_vetoed_as_long_as_by_transformers(case) -> None:
    vetoed = Unended(case["min_tokens"], case["ends"]).vetoed(case["generated"])
    assert set(vetoed) == set(range(len(case["logits"]))) - set(finite(case))


@pytest.mark.parametrize("case", cases("NoBadWordsLogitsProcessor"))
def test_bad_sequences_are_completed_as_little_as_by_transformers(case) -> None:
    letters = [chr(ord("A") + token) for token in range(len(case["logits"]))]
    words = ["".join(letters[token] for token in sequence) for sequence in case["bad"]]
    vocabulary = Words([*letters, " "])
    vetoed = set(BadWords(words, vocabulary).vetoed(case["generated"]).tolist())
    assert vetoed == set(range(len(case["logits"]))) - set(finite(case))


@pytest.mark.seeds("S32")
@pytest.mark.parametrize(
    "case",
    cases("TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper", "MinPLogitsWarper", "TypicalLogitsWarper"),
)
def test_a_fine_grid_of_uniforms_draws_the_softmax_of_what_transformers_leaves(case) -> None:
    params, row = SamplingParams(**case["params"]), row_of(case)
    drawn = np.bincount([draw(row, params, (index + 0.5) / POINTS) for index in range(POINTS)], minlength=len(row))
    left = finite(case)
    total = math.fsum(math.exp(score) for score in left.values())
    for token, count in enumerate(drawn):
        probability = math.exp(left[token]) / total if token in left else 0.0
        assert abs(count / POINTS - probability) <= (1.5 / POINTS if probability else 0), token
