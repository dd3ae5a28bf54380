"""Each sampler, and the whole chain in our order, against llama.cpp's own on random logits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dragoman.core.request import Dry, SamplingParams, Xtc
from dragoman.engines.sampling import draw, prepare
from dragoman.engines.sampling.truncation import largest, nucleus, typical, without_top_choices
from support.words import Words

samplers = pytest.importorskip("support.llama_samplers", exc_type=ImportError)

SIZES = [7, 300, 8_192]


def rows(size: int, seed: int):
    """A wide distribution, and one that a few tokens have nearly for themselves.

    No probability is 0 in float32: llama.cpp's entropy is then not a number, and typical_p keeps whom it comes upon.
    """
    rng = np.random.default_rng([size, seed])
    yield rng.normal(0, 1, size).astype(np.float32)
    heavy = (rng.standard_t(2, size) * 2).astype(np.float32)
    yield heavy * np.float32(60 / max(60, np.ptp(heavy)))


def weights(row):
    return np.exp(row.astype(np.float64) - float(row.max()))


def changed(params: SamplingParams, row, prompt: Sequence[int], generated: Sequence[int]) -> dict[int, float]:
    """The row that a sampler's changes make, read off its sampler one call at a time, as an answer grows."""
    sampler = prepare(params, min_tokens=0, stop_token_ids=(), vocabulary=Words((), len(row)))
    (change,) = sampler._changes
    for length in range(len(generated)):
        change.apply(row.copy(), prompt, generated[:length])
    result = row.copy()
    change.apply(result, prompt, generated)
    return dict(enumerate(result.tolist()))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_truncations_leave_whom_llama_cpp_leaves(size, seed) -> None:
    for row in rows(size, seed):
        for count in (1, 3, 40):
            assert set(largest(row, count)) == set(samplers.left_by([samplers.top_k(count)], row))
        for mass in (0.1, 0.5, 0.9, 0.97):
            assert set(nucleus(weights(row), mass)) == set(samplers.left_by([samplers.top_p(mass)], row))
            differing = set(typical(row, mass).tolist()) ^ set(samplers.left_by([samplers.typical(mass)], row))
            assert len(differing) <= (
                size > 1000
            )  # llama.cpp sums in float32, which may end one token earlier or later
        for threshold in (0.001, 0.01, 0.1, 0.3, 0.6):
            kept = without_top_choices(weights(row), threshold)
            assert set(kept) == set(samplers.left_by([samplers.xtc(threshold)], row))


@pytest.mark.seeds("S32")
@pytest.mark.parametrize("min_p", [0.003, 0.02, 0.1, 0.5, 1.0])
def test_min_p_leaves_whom_llama_cpp_leaves(min_p) -> None:
    for row in rows(40, 5):
        params = SamplingParams(min_p=min_p, temperature=20)  # hot, so that each that is left gets its turn
        drawn = {draw(row, params, index / 1000) for index in range(1000)}
        assert drawn == set(samplers.left_by([samplers.min_p(min_p)], row))


@pytest.mark.seeds("S34")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("penalty", [1.1, 0.8, 3.0])
@pytest.mark.parametrize("window", [-1, 1, 8, 64])
def test_repetition_penalty_is_that_of_llama_cpp(size, penalty, window) -> None:
    rng = np.random.default_rng([size, 9])
    prompt, generated = rng.integers(0, size // 2, 70).tolist(), rng.integers(0, size // 2, 30).tolist()
    for row in rows(size, 1):
        params = SamplingParams(repetition_penalty=penalty, repetition_window=window)
        theirs = samplers.penalties(size, 100 if window < 0 else window, repeat=penalty)
        wanted = samplers.left_by([theirs], row, prompt + generated)
        assert changed(params, row, prompt, generated) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.seeds("S33")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("presence,frequency", [(0.5, 0.0), (0.0, 0.7), (1.5, -0.3)])
def test_presence_and_frequency_penalties_are_those_of_llama_cpp_over_the_answer(size, presence, frequency) -> None:
    rng = np.random.default_rng([size, 10])
    prompt, generated = rng.integers(0, size, 30).tolist(), rng.integers(0, min(size, 40), 50).tolist()
    for row in rows(size, 2):
        params = SamplingParams(presence_penalty=presence, frequency_penalty=frequency)
        theirs = samplers.penalties(size, len(generated), presence=presence, frequency=frequency)
        wanted = samplers.left_by([theirs], row, generated)
        assert changed(params, row, prompt, generated) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@pytest.mark.seeds("S35")
@pytest.mark.parametrize("size", SIZES)
def test_logit_bias_is_that_of_llama_cpp(size) -> None:
    pairs = ((0, 100.0), (size - 1, -100.0), (3, 0.25))
    for row in rows(size, 3):
        wanted = samplers.left_by([samplers.logit_bias(size, pairs)], row)
        assert changed(SamplingParams(logit_bias=pairs), row, [1], []) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("alphabet", [1, 2, 4, 30])
@pytest.mark.parametrize("allowed_length,window", [(0, 50), (1, 9), (2, -1), (2, 40), (5, -1), (2, 1)])
@pytest.mark.parametrize("base,multiplier", [(1.75, 0.8), (1.0, 1.0), (1.05, 2.0)])
def test_dry_is_that_of_llama_cpp(alphabet, allowed_length, window, base, multiplier) -> None:
    rng = np.random.default_rng([alphabet, allowed_length])
    prompt, generated = rng.integers(0, alphabet, 80).tolist(), rng.integers(0, alphabet, 60).tolist()
    generated[20:40] = prompt[30:50]  # a long repetition at least
    for length in (0, 1, 39, 40, 60):
        row = rng.normal(0, 2, 64).astype(np.float32)
        dry = Dry(multiplier=multiplier, base=base, allowed_length=allowed_length, window=window, breakers=())
        theirs = samplers.dry(multiplier, base, allowed_length, 1000 if window < 0 else window)
        wanted = samplers.left_by([theirs], row, prompt + generated[:length])
        assert changed(SamplingParams(dry=dry), row, prompt, generated[:length]) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.seeds("S41")
@pytest.mark.parametrize("seed", range(6))
def test_the_whole_chain_draws_from_what_llama_cpp_leaves_when_it_is_put_in_the_same_order(seed) -> None:
    rng = np.random.default_rng(seed)
    size, points = 50, 5000
    prompt, generated = rng.integers(0, size, 40).tolist(), rng.integers(0, size, 30).tolist()
    row = rng.normal(0, 2, size).astype(np.float32)
    bias = ((3, 2.5), (4, -1.0))
    params = SamplingParams(
        temperature=1.4,
        top_p=0.93,
        top_k=18,
        min_p=0.01,
        typical_p=0.97,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=0.2,
        logit_bias=bias,
        xtc=Xtc(probability=1.0, threshold=0.12),
        dry=Dry(multiplier=0.9, allowed_length=1, breakers=()),
    )
    first = samplers.left_by([samplers.penalties(size, 70, repeat=1.2)], row, prompt + generated)
    second = samplers.left_by([samplers.penalties(size, 30, presence=0.3, frequency=0.2)], in_order(first), generated)
    third = samplers.left_by([samplers.dry(0.9, 1.75, 1, 1000)], in_order(second), prompt + generated)
    chain = [
        samplers.logit_bias(size, bias),
        samplers.typical(0.97),
        samplers.min_p(0.01),
        samplers.temperature(1.4),
        samplers.top_k(18),
        samplers.top_p(0.93),
        samplers.xtc(0.12),
    ]
    wanted = samplers.probabilities(samplers.left_by(chain, in_order(third)))
    sampler = prepare(params, min_tokens=0, stop_token_ids=(), vocabulary=Words((), size))
    drawn = [sampler.pick(row, prompt, generated, (index + 0.5) / points) for index in range(points)]
    assert set(drawn) == set(wanted)
    for token, probability in wanted.items():
        assert abs(drawn.count(token) / points - probability) <= 2 / points


def in_order(left: dict[int, float]):
    return np.array([left[token] for token in sorted(left)], np.float32)
