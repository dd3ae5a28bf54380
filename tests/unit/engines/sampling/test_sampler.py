"""A request's sampler: the order of S41, what the vetoes leave, and what a plain request does not pay."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.request import Dry, SamplingParams, TextPrompt, Xtc
from dragoman.engines.sampling import draw, prepare, uniform
from support.words import Words

GREEDY = {"temperature": 0.0}
EVERYTHING = SamplingParams(
    temperature=0.9,
    top_p=0.95,
    top_k=30,
    min_p=0.001,
    typical_p=0.99,
    repetition_penalty=1.2,
    presence_penalty=0.3,
    frequency_penalty=0.2,
    logit_bias=((1, 2.0),),
    bad_words=("ab",),
    xtc=Xtc(probability=0.5, threshold=0.1),
    dry=Dry(multiplier=0.8),
)
LETTERS = Words("abcdefghijklmnopqrstuvwxyz \n<")


def row(*logits: float):
    return np.array(logits, np.float32)


def sampler(vocabulary: Words | None = None, *, size: int = 3, min_tokens: int = 0, stops=(), **params):
    return prepare(
        SamplingParams(**params),
        min_tokens=min_tokens,
        stop_token_ids=stops,
        vocabulary=vocabulary or Words((), size),
    )


def pick(logits, *, prompt=(0,), generated=(), at: float = 0.5, **params) -> int:
    return sampler(size=len(logits), **params).pick(logits, prompt, list(generated), at)


def support(logits, *, generated=(), **params) -> set[int]:
    """Every token that may be drawn."""
    return {pick(logits, generated=generated, at=(index + 0.5) / 500, **params) for index in range(500)}


# --- order ---------------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S41")
@pytest.mark.parametrize(
    "penalty", [{"presence_penalty": 0.8}, {"frequency_penalty": 0.8}, {"logit_bias": ((0, -0.8),)}], ids=str
)
def test_repetition_comes_before_what_is_subtracted(penalty) -> None:
    # 1 / 2 - 0.8 is under the other's 0; (1 - 0.8) / 2 would be over it.
    assert pick(row(1, 0, -9), generated=[0], repetition_penalty=2.0, **penalty, **GREEDY) == 1


@pytest.mark.seeds("S41")
def test_a_bias_of_a_hundred_does_not_undo_the_mask_of_min_tokens() -> None:
    assert pick(row(0, 1, 5), min_tokens=1, logit_bias=((2, 100.0),), **GREEDY) == 1


@pytest.mark.seeds("S41")
def test_min_p_measures_against_the_likeliest_after_the_mask() -> None:
    # Beside the end, at 9, both others have less than half; without it the second has e**-0.5 of the first.
    assert support(row(0, -0.5, 9), min_tokens=1, min_p=0.5) == {0, 1}


@pytest.mark.seeds("S41")
def test_min_p_measures_after_penalties_and_bias() -> None:
    assert support(row(3, 0, 0), generated=[0], presence_penalty=3.0, min_p=0.5) == {0, 1, 2}
    assert support(row(0, 0, 0), logit_bias=((1, 3.0),), min_p=0.5) == {1}


@pytest.mark.seeds("S41")
def test_min_p_comes_before_temperature_and_top_p_after_it() -> None:
    # A third of the peak, and at temperature 2 its root, 0.58, would be over the half.
    third = row(0, math.log(1 / 3), -30)
    assert support(third, temperature=2.0, min_p=0.5) == {0}
    # 3/4 of the mass are enough for 0.7; at temperature 2 it is 0.63, and not.
    assert support(third, top_p=0.7) == {0}
    assert support(third, temperature=2.0, top_p=0.7) == {0, 1}


def test_typical_p_is_blind_to_the_temperature() -> None:
    logits = np.log(np.array([0.6, 0.2, 0.1, 0.1], np.float64)).astype(np.float32)
    # H is 1.089; surprises are 0.51, 1.61, 2.30 and 2.30, so the second is the most typical, then the first.
    for temperature in (0.1, 1.0, 5.0):
        assert support(logits, temperature=temperature, typical_p=0.15) == {1}
        assert support(logits, temperature=temperature, typical_p=0.7) <= {0, 1}
    assert support(logits, temperature=5.0, typical_p=0.7) == {0, 1}


def test_typical_p_before_top_k() -> None:
    logits = np.log(np.array([0.6, 0.2, 0.1, 0.1], np.float64)).astype(np.float32)
    assert support(logits, typical_p=0.15, top_k=1) == {1}


def test_xtc_looks_at_what_top_p_left() -> None:
    logits = np.log(np.array([0.4, 0.35, 0.25], np.float64)).astype(np.float32)
    always = Xtc(probability=1.0, threshold=0.3)
    assert support(logits, xtc=always) == {1, 2}
    # Of the first two alone both have over half; the less likely stays.
    assert support(logits, top_p=0.7, xtc=always) == {1}


def test_xtc_happens_as_often_as_it_says_and_leaves_the_rest_of_the_number_fair() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], np.float64)).astype(np.float32)
    count = 20_000
    drawn = Counter(
        pick(logits, at=(index + 0.5) / count, xtc=Xtc(probability=0.25, threshold=0.25)) for index in range(count)
    )
    # Three times in four all three; once the first is dropped, and 0.3 to 0.2 remain.
    wanted = {0: 0.75 * 0.5, 1: 0.75 * 0.3 + 0.25 * 0.6, 2: 0.75 * 0.2 + 0.25 * 0.4}
    assert {token: drawn[token] / count for token in drawn} == pytest.approx(wanted, abs=3 / count)


@pytest.mark.parametrize("filters", [{"typical_p": 0.01}, {"xtc": Xtc(probability=1.0, threshold=0.01)}], ids=str)
def test_greedy_takes_the_likeliest_whatever_the_filters(filters) -> None:
    assert pick(row(2, 1.9, 1.8), **filters, **GREEDY) == 0


# --- what each field does at the end --------------------------------------------------------------------------------------


@pytest.mark.seeds("S33", "S34")
@pytest.mark.parametrize(
    "penalty",
    [
        {"repetition_penalty": 3.0},
        {"presence_penalty": 1.0},
        {"frequency_penalty": 0.5},
        {"dry": Dry(multiplier=2.0, allowed_length=1, breakers=())},
    ],
    ids=str,
)
def test_a_greedy_answer_that_would_repeat_itself_forever_does_not(penalty) -> None:
    plain, penalised = sampler(**GREEDY), sampler(**penalty, **GREEDY)
    answers: tuple[list[int], list[int]] = ([], [])
    for one, answer in zip((plain, penalised), answers, strict=True):
        for _ in range(6):
            answer.append(one.pick(row(1.0, 0.5, -8), (2,), answer, 0.0))
    assert answers[0] == [0] * 6
    assert 1 in answers[1]


@pytest.mark.seeds("S35")
def test_a_bias_of_a_hundred_produces_the_token_and_of_minus_a_hundred_never() -> None:
    logits = row(20, 0, -20)
    assert support(logits, logit_bias=((2, 100.0),)) == {2}
    assert support(logits, logit_bias=((0, -100.0),)) == {1}


@pytest.mark.seeds("S36")
def test_the_model_cannot_end_before_min_tokens_and_can_at_them() -> None:
    ending = sampler(min_tokens=3, stops=(1,), **GREEDY)
    generated: list[int] = []
    while len(generated) < 4:
        generated.append(ending.pick(row(0, 8, 9), (0,), generated, 0.0))
    assert generated == [0, 0, 0, 2]


@pytest.mark.seeds("S36", "S37")
def test_stop_tokens_are_masked_as_the_end_is() -> None:
    assert pick(row(0, 8, 9), min_tokens=1, stops=(1,), **GREEDY) == 0
    assert pick(row(0, 8, 9), min_tokens=1, **GREEDY) == 1


def test_only_allowed_tokens_are_drawn() -> None:
    assert support(row(9, 1, 1), allowed_token_ids=(1, 2)) == {1, 2}


def test_bad_words_do_not_come_about() -> None:
    logits = np.full(LETTERS.size, -50.0, np.float32)
    logits[:2] = 5, 4  # a and b
    picking = sampler(LETTERS, bad_words=("ab", "aa"), **GREEDY)
    logits[2] = 1  # c
    generated: list[int] = []
    for _ in range(4):
        generated.append(picking.pick(logits, (0,), generated, 0.0))
    assert generated == [0, 2, 0, 2]


# --- vetoes that leave nobody ---------------------------------------------------------------------------------------------


def test_vetoes_that_leave_nobody_are_lifted_for_that_token_and_the_allowed_ones_stay() -> None:
    params = {"allowed_token_ids": (0, 3), "min_tokens": 2, "bad_words": ("a",)}
    vocabulary = Words(["a", "b", " ", "<"])
    one = sampler(vocabulary, **params, **GREEDY)
    assert one.pick(row(1, 50, 60, 2), (1,), [], 0.0) == 3  # the end, the likelier of the two
    assert one.pick(row(3, 50, 60, 2), (1,), [3], 0.0) == 0
    assert one.pick(row(3, 50, 60, 2), (1,), [3, 0], 0.0) == 3  # min_tokens is over, so only the bad word is vetoed


@pytest.mark.parametrize("params", [{}, {"min_tokens": 1}, {"repetition_penalty": 1.5}, {"allowed_token_ids": (1,)}])
@pytest.mark.parametrize("logits", [row(np.nan, np.nan, np.nan), row(-np.inf, -np.inf, -np.inf), row(0, np.inf, 1)])
def test_a_row_without_a_distribution_gives_a_logit_that_shows_it(params, logits) -> None:
    token = pick(logits, generated=(), top_p=0.9, **params)
    assert not np.isfinite(logits[token])


# --- what does not change -------------------------------------------------------------------------------------------------


def test_the_models_own_row_is_never_changed() -> None:
    logits = np.random.default_rng(1).normal(0, 3, LETTERS.size).astype(np.float32)
    before = logits.copy()
    logits.setflags(write=False)
    picking = prepare(EVERYTHING, min_tokens=5, stop_token_ids=(4,), vocabulary=LETTERS)
    prompt = tuple(LETTERS.tokenize(TextPrompt(text="hello hello")))
    generated: list[int] = []
    for position in range(40):
        generated.append(picking.pick(logits, prompt, generated, uniform(3, position)))
    assert logits.tobytes() == before.tobytes()


@pytest.mark.seeds("S41", "S164")
@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(),
        SamplingParams(temperature=0.0),
        SamplingParams(temperature=0.7, top_p=0.9, top_k=20, min_p=0.05),
        SamplingParams(repetition_penalty=1.0, dry=Dry(multiplier=0.0), repetition_window=64),
        SamplingParams(repetition_penalty=1.5, repetition_window=0),
    ],
    ids=str,
)
def test_a_request_without_extras_goes_the_old_way(params) -> None:
    logits = np.random.default_rng(2).normal(0, 3, 100).astype(np.float32)
    plain = prepare(params, min_tokens=0, stop_token_ids=(5,), vocabulary=Words((), 100))
    assert plain._plain
    for index in range(50):
        assert plain.pick(logits, (1, 2), [3], index / 50) == draw(logits, params, index / 50)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_same_history_gives_the_same_token_whether_it_came_at_once_or_bit_by_bit(seed) -> None:
    rng = np.random.default_rng(seed)
    prompt = tuple(rng.integers(0, 6, 30).tolist())
    generated = rng.integers(0, 6, 12).tolist()
    logits = rng.normal(0, 2, LETTERS.size).astype(np.float32)
    slowly, at_once = (
        prepare(EVERYTHING, min_tokens=20, stop_token_ids=(), vocabulary=LETTERS) for _ in ("slowly", "at once")
    )
    for length in range(12):
        slowly.pick(logits, prompt, generated[:length], 0.3)
    for at in (0.1, 0.6, 0.95):
        assert slowly.pick(logits, prompt, generated, at) == at_once.pick(logits, prompt, generated, at)


def test_tokens_come_as_often_as_the_penalised_distribution_says() -> None:
    logits = row(1.0, 0.5, 0.0, -0.5, -1.0, 0.2)
    generated = [0, 0, 1]
    picking = sampler(
        size=6,
        repetition_penalty=1.25,
        presence_penalty=0.2,
        frequency_penalty=0.3,
        logit_bias=((4, 1.0),),
        allowed_token_ids=(0, 1, 2, 4),
        temperature=0.8,
    )
    # 1 / 1.25 - 0.2 - 2 * 0.3; 0.5 / 1.25 - 0.2 - 0.3; 0 (in the prompt); -1 + 1
    exact = {0: 0.0, 1: -0.1, 2: 0.0, 4: 0.0}
    weights = {token: math.exp(logit / 0.8) for token, logit in exact.items()}
    total = sum(weights.values())
    count = 20_000
    drawn = Counter(picking.pick(logits, (2,), generated, uniform(11, position)) for position in range(count))
    assert set(drawn) == set(exact)
    squares = sum(
        (drawn[token] - count * weight / total) ** 2 / (count * weight / total) for token, weight in weights.items()
    )
    assert squares < 16.3  # chi-squared with 3 degrees of freedom is above it once in a thousand


# --- a grammar -----------------------------------------------------------------------------------------------------------


def under(*allowed: int, size: int = 3):
    """The ceiling that leaves these."""
    return np.array([np.inf if token in allowed else -np.inf for token in range(size)], np.float32)


@pytest.mark.seeds("S41")
def test_a_grammar_comes_before_min_p_which_then_sees_only_what_it_allows():
    logits = row(10.0, 1.0, 0.9)  # beside token 0 the others are far below a tenth
    drawn = {sampler(min_p=0.1).pick(logits, (0,), [], (n + 0.5) / 100, under(1, 2)) for n in range(100)}
    assert drawn == {1, 2}


@pytest.mark.parametrize(
    "wish", [{"logit_bias": ((0, 100.0),)}, {"allowed_token_ids": (0,)}, {"bad_words": ("b", "c")}]
)
def test_what_a_grammar_forbids_never_comes_whatever_else_is_wished(wish):
    greedy = sampler(Words("abc "), temperature=0.0, **wish)
    assert greedy.pick(row(5.0, 1.0, 2.0, 0.0), (0,), [], 0.5, under(1, 2, size=4)) == 2


def test_the_end_comes_before_min_tokens_only_where_the_grammar_allows_nothing_else():
    words = Words("abc")
    end = min(words.end_tokens)
    patient = sampler(words, temperature=0.0, min_tokens=5)
    logits = np.zeros(words.size, np.float32)
    logits[end] = 9.0
    assert patient.pick(logits, (0,), [], 0.5, under(end, 1, size=words.size)) == 1
    assert patient.pick(logits, (0,), [], 0.5, under(end, size=words.size)) == end


def test_a_ceiling_changes_neither_the_row_nor_the_next_pick():
    logits = row(3.0, 2.0, 1.0)
    greedy = sampler(temperature=0.0)
    assert [greedy.pick(logits, (0,), [], 0.5, ceiling) for ceiling in (under(2), None, under(1), None)] == [2, 0, 1, 0]
    assert logits.tolist() == [3.0, 2.0, 1.0]


def test_a_row_that_is_no_number_is_seen_through_a_ceiling():
    logits = row(1.0, math.nan, 2.0)
    assert math.isnan(logits[sampler(temperature=0.0).pick(logits, (0,), [], 0.5, under(0, 1))])
