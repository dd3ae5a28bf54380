"""Draws against a reference that sorts everything and works in float64, one token at a time."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.request import SamplingParams
from dragoman.engines.sampling import draw, uniform
from dragoman.engines.sampling.truncation import typical

PLAIN = SamplingParams()


def row(*logits: float):
    return np.array(logits, np.float32)


def of(*probabilities: float):
    """Logits of a distribution."""
    return np.log(np.array(probabilities, np.float64)).astype(np.float32)


def reference(logits, params: SamplingParams) -> dict[int, float]:
    """Probability of each token that is left: filters one after another over a sorted list, by the definitions (S41)."""
    order = sorted(range(len(logits)), key=lambda token: (-float(logits[token]), token))
    top = float(logits[order[0]])
    if params.min_p:
        order = [token for token in order if math.exp(float(logits[token]) - top) >= params.min_p]
    scaled = {token: math.exp((float(logits[token]) - top) / params.temperature) for token in order}
    if params.top_k:
        order = order[: params.top_k]
    total = math.fsum(scaled[token] for token in order)
    kept, mass = [], 0.0
    for token in order:
        kept.append(token)
        mass += scaled[token] / total
        if mass >= params.top_p:
            break
    total = math.fsum(scaled[token] for token in kept)
    return {token: scaled[token] / total for token in kept}


def shares(logits, params: SamplingParams, points: int = 4000) -> dict[int, float]:
    """How much of [0, 1) leads to each token, by the middles of a fine grid."""
    drawn = [draw(logits, params, (index + 0.5) / points) for index in range(points)]
    return {token: drawn.count(token) / points for token in set(drawn)}


def assert_same_distribution(logits, params: SamplingParams, points: int = 4000) -> None:
    got, wanted = shares(logits, params, points), reference(logits, params)
    assert set(got) <= set(wanted)
    for token, probability in wanted.items():
        # An interval of length p holds p * points of the middles, give or take one.
        assert abs(got.get(token, 0.0) - probability) <= 1.5 / points, token


@pytest.mark.seeds("S26", "S32")
@pytest.mark.parametrize(
    "params",
    [
        PLAIN,
        SamplingParams(temperature=0.3),
        SamplingParams(temperature=2.0),
        SamplingParams(top_k=3),
        SamplingParams(top_p=0.7),
        SamplingParams(min_p=0.1),
        SamplingParams(temperature=1.7, top_k=5, top_p=0.6, min_p=0.02),
        SamplingParams(temperature=0.5, top_k=100, top_p=0.999),
    ],
    ids=str,
)
def test_a_grid_of_uniforms_draws_each_token_as_often_as_its_probability_says(params) -> None:
    logits = np.random.default_rng(4).normal(0, 2, 40).astype(np.float32)
    assert_same_distribution(logits, params)


EIGHTHS = st.integers(-64, 64).map(lambda eighths: eighths / 8)
"""Logits whose differences are exact in float32: what is apart in the reference is apart in the row, too."""


@settings(deadline=None, max_examples=60)
@given(
    logits=st.lists(EIGHTHS, min_size=1, max_size=12),
    temperature=st.floats(0.1, 2.0),
    top_p=st.floats(0.05, 1.0),
    top_k=st.integers(0, 14),
    min_p=st.sampled_from([0.0, 0.013, 0.21, 0.77]),
)
def test_any_row_and_any_parameters_give_the_distribution_of_the_reference(
    logits, temperature, top_p, top_k, min_p
) -> None:
    params = SamplingParams(temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p)
    values = np.array(logits, np.float32)
    wanted = reference(values, params)
    nearly = reference(
        values, SamplingParams(temperature=temperature, top_p=min(1.0, top_p + 1e-6), top_k=top_k, min_p=min_p)
    )
    if set(wanted) == set(nearly):  # else a sum lies on the edge itself, where float32 may decide either way
        assert_same_distribution(values, params, points=300)


def test_the_cells_of_an_exact_distribution_have_exact_edges() -> None:
    logits = of(0.25, 0.5, 0.125, 0.125)
    step = 2.0**-20
    edges = [0.25, 0.75, 0.875]
    assert [draw(logits, PLAIN, edge - step) for edge in edges] == [0, 1, 2]
    assert [draw(logits, PLAIN, edge + step) for edge in edges] == [1, 2, 3]
    assert draw(logits, PLAIN, 0.0) == 0
    assert draw(logits, PLAIN, 1 - 2.0**-53) == 3


@pytest.mark.parametrize("params", [SamplingParams(temperature=0), SamplingParams(top_k=1), SamplingParams(top_p=0)])
@pytest.mark.parametrize("uniform", [0.0, 0.999])
def test_greedy_takes_the_first_of_equal_logits(params, uniform) -> None:
    assert draw(row(1, 3, 3, 2), params, uniform) == 1


def test_top_k_keeps_exactly_k_of_equal_logits_the_lowest_ids_first() -> None:
    logits = row(5, 1, 2, 2, 2, 0)
    assert set(shares(logits, SamplingParams(temperature=2, top_k=3))) == {0, 2, 3}


@pytest.mark.parametrize("top_p", [0.5, 0.6, 0.75])
def test_top_p_counts_the_token_that_crosses_the_mass(top_p) -> None:
    logits = row(*np.log([4, 2, 1, 1]))  # halves and quarters: 0.5, 0.75, 0.875, 1
    wanted = {0.5: {0}, 0.6: {0, 1}, 0.75: {0, 1}}[top_p]
    # Mass that is reached exactly is enough; float32 logits sit within 1e-7 of it.
    assert set(shares(logits, SamplingParams(top_p=top_p - 1e-6))) == wanted


def test_top_p_is_content_with_a_mass_that_is_reached_exactly() -> None:
    assert set(shares(row(0, 0, 0, 0), SamplingParams(top_p=0.5))) == {0, 1}


def test_top_p_of_nearly_one_drops_nobody_but_the_tail() -> None:
    logits = row(*[0.0] * 1000, -30.0)
    assert set(shares(logits, SamplingParams(top_p=1 - 1e-9), points=5000)) == set(range(1000))


def test_top_p_of_equal_tokens_keeps_the_lowest_ids() -> None:
    assert set(shares(row(*[0.0] * 10), SamplingParams(top_p=0.35))) == {0, 1, 2, 3}


def test_min_p_looks_at_the_distribution_before_temperature() -> None:
    # 0.1 / 0.8 is under 0.2. At temperature 2 the ratio would be its root, 0.35, and the token would stay.
    assert set(shares(of(0.8, 0.1, 0.1), SamplingParams(temperature=2, min_p=0.2))) == {0}
    # 0.3 / 0.6 is over 0.4. At temperature 0.5 it would be 0.25, and the token would go.
    assert set(shares(of(0.6, 0.3, 0.1), SamplingParams(temperature=0.5, min_p=0.4))) == {0, 1}


def test_top_p_looks_at_what_temperature_and_top_k_left() -> None:
    logits = of(0.4, 0.3, 0.2, 0.1)
    # Of all four the first two have 0.7; among three they have 7/9, which is enough for 0.75.
    assert set(shares(logits, SamplingParams(top_p=0.75))) == {0, 1, 2}
    assert set(shares(logits, SamplingParams(top_p=0.75, top_k=3))) == {0, 1}
    # Squared, the first has 16/30.
    assert set(shares(logits, SamplingParams(top_p=0.5))) == {0, 1}
    assert set(shares(logits, SamplingParams(top_p=0.5, temperature=0.5))) == {0}


@pytest.mark.parametrize("temperature", [1e-3, 1e-12, 1e-50, 5e-324])
def test_a_temperature_near_zero_is_greedy(temperature) -> None:
    logits = row(1, 7, 6.5, -2)
    assert {draw(logits, SamplingParams(temperature=temperature), index / 50) for index in range(50)} == {1}


def test_a_min_p_near_zero_keeps_everything() -> None:
    assert set(shares(row(0, 0, -5), SamplingParams(min_p=1e-300))) == {0, 1, 2}


def test_masked_tokens_are_never_drawn() -> None:
    logits = row(-np.inf, 0, -np.inf, 0, -np.inf)
    assert draw(logits, PLAIN, 0.0) == 1
    assert shares(logits, PLAIN) == {1: 0.5, 3: 0.5}


@pytest.mark.parametrize(
    ("logits", "token"),
    [(row(1, np.nan, 2), 1), (row(1, 2, np.inf), 2), (row(-np.inf, -np.inf), 0), (row(np.nan, np.nan), 0)],
)
@pytest.mark.parametrize(
    "params", [PLAIN, SamplingParams(temperature=0), SamplingParams(top_k=2, top_p=0.5, min_p=0.1)]
)
def test_a_row_without_a_distribution_gives_the_logit_that_shows_it(logits, token, params) -> None:
    assert draw(logits, params, 0.5) == token
    assert not np.isfinite(logits[token])


# --- uniform -----------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S30")
@pytest.mark.parametrize(
    ("seed", "position", "top_bits"),
    # BLAKE2b of the position's 8 bytes, keyed by the seed's 16: the digest's 8 bytes as a number, less its 11 low bits.
    [
        (0, 0, 0x02D564AE05BB18),
        (0, 1, 0x1FE0A50AF2166A),
        (42, 37, 0x006BE9F6A7EB2C),
        (-1, 5, 0x0E3639BAFA280B),
        (2**63 - 1, 2**20, 0x054575F00C9B44),
    ],
)
def test_the_numbers_of_a_seed_never_change(seed, position, top_bits) -> None:
    assert uniform(seed, position) == top_bits / 2**53


def test_uniform_is_the_keyed_hash_as_a_fraction_of_two_to_the_53() -> None:
    for seed, position in [(3, 9), (-1, 0), (2**63 - 1, 4096)]:
        state = hashlib.blake2b(digest_size=8, key=(seed % 2**128).to_bytes(16, "little"))
        state.update(bytes([position % 256, position // 256, 0, 0, 0, 0, 0, 0]))
        whole = sum(byte << 8 * index for index, byte in enumerate(state.digest()))
        assert Fraction(uniform(seed, position)) == Fraction(whole // 2**11, 2**53)


def test_uniforms_fill_the_unit_interval_evenly_and_differ_by_seed_and_position() -> None:
    numbers = [uniform(seed, position) for seed in range(-20, 20) for position in range(250)]
    assert len(set(numbers)) == 10_000
    counts = np.bincount([int(number * 10) for number in numbers], minlength=10)
    # Chi-squared with 9 degrees of freedom is above 27.9 once in a thousand.
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 27.9


# --- typical_p ---------------------------------------------------------------------------------------------------------


def typical_by_definition(logits, mass: float) -> set[int]:
    """By sorting all of the vocabulary."""
    weights = [math.exp(float(logit) - float(max(logits))) for logit in logits]
    total = math.fsum(weights)
    shares = [weight / total for weight in weights]
    entropy = -math.fsum(share * math.log(share) for share in shares if share)
    order = sorted(
        (token for token in range(len(logits)) if shares[token]), key=lambda t: abs(-math.log(shares[t]) - entropy)
    )
    kept: list[int] = []
    while math.fsum(shares[token] for token in kept) < mass and len(kept) < len(order):
        kept.append(order[len(kept)])
    return set(kept)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("mass", [1e-9, 0.2, 0.6, 0.95, 0.9999])
def test_typical_keeps_the_set_of_the_definition_of_flat_and_of_sharp_distributions(scale, mass) -> None:
    logits = np.random.default_rng(6).normal(0, scale, 700).astype(np.float32)
    assert set(typical(logits, mass).tolist()) == typical_by_definition(logits, mass)


def test_typical_leaves_masked_tokens_out() -> None:
    logits = np.random.default_rng(8).normal(0, 1, 60).astype(np.float32)
    logits[::2] = -np.inf
    assert set(typical(logits, 0.9).tolist()) == typical_by_definition(logits, 0.9)


@pytest.mark.parametrize("logits", [row(3), row(1, 1, 1, 1), row(0, -np.inf), row(50, -50)])
def test_typical_leaves_somebody(logits) -> None:
    assert len(typical(logits, 0.5)) == math.ceil(0.5 * len(typical(logits, 1 - 1e-12)))
