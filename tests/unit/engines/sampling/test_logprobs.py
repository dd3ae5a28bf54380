"""Log-probabilities against sums in exact floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.engines.sampling import log_softmax, numeric


def row(*logits: float):
    return np.array(logits, np.float32)


def of(*probabilities: float):
    """Logits of a distribution."""
    return np.log(np.array(probabilities, np.float64)).astype(np.float32)


@pytest.mark.parametrize("size", [49_152, 262_144])
def test_probabilities_sum_to_one(size) -> None:
    logits = np.random.default_rng(size).normal(0, 5, size).astype(np.float32)
    assert math.fsum(map(math.exp, log_softmax(logits))) == pytest.approx(1, abs=1e-5)


def test_log_softmax_is_the_logarithm_of_each_share() -> None:
    assert log_softmax(of(0.5, 0.25, 0.125, 0.125)) == pytest.approx(np.log([0.5, 0.25, 0.125, 0.125]), abs=1e-6)
    assert log_softmax(row(1000, 1000, -1000)) == pytest.approx([-math.log(2), -math.log(2), -2000 - math.log(2)])


@pytest.mark.parametrize("size", [49_152, 262_144])
def test_numeric_agrees_with_log_softmax_of_the_whole_vocabulary(size) -> None:
    logits = np.random.default_rng(7).normal(0, 5, size).astype(np.float32)
    exact = [float(value) for value in logits]
    peak = max(exact)
    norm = peak + math.log(math.fsum(math.exp(value - peak) for value in exact))
    described = numeric(logits, 17, 20)
    assert described.logprob == pytest.approx(exact[17] - norm, abs=1e-5)
    assert described.logprob == pytest.approx(float(log_softmax(logits)[17]), abs=1e-5)
    order = sorted(range(size), key=lambda token: (-exact[token], token))[:20]
    assert [token for token, _ in described.top] == order
    assert [value for _, value in described.top] == pytest.approx([exact[token] - norm for token in order], abs=1e-5)


def test_alternatives_are_sorted_by_value_and_then_by_id() -> None:
    assert [token for token, _ in numeric(row(2, 3, 1, 3, 2), 0, 4).top] == [1, 3, 0, 4]
    assert [token for token, _ in numeric(row(2, 3, 1, 3, 2), 0, 3).top] == [1, 3, 0]
    assert [token for token, _ in numeric(row(2, 3, 1, 3, 2), 0, 9).top] == [1, 3, 0, 4, 2]


def test_no_alternatives_are_described_when_none_are_wanted() -> None:
    assert numeric(of(0.5, 0.5), 1, 0).top == ()
