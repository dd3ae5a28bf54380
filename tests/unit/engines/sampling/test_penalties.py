"""Penalties: values done by hand, and counts that grow with the answer against counts from the start."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines.sampling.penalties import Occurrence, Repetition
from dragoman.engines.sampling.tally import Tally

tokens = st.lists(st.integers(0, 5), max_size=30)


def penalised(change, logits, prompt, generated) -> list[float]:
    row = np.array(logits, np.float32)
    change.apply(row, prompt, generated)
    return row.tolist()


@pytest.mark.seeds("S34")
def test_repetition_divides_what_is_positive_and_multiplies_what_is_negative_in_prompt_and_answer() -> None:
    assert penalised(Repetition(2.0, -1), [3, -3, 0, 5, -5], (0, 2, 0), [1]) == [1.5, -6, 0, 5, -5]


@pytest.mark.seeds("S34")
def test_a_repetition_penalty_does_not_count_how_often() -> None:
    assert penalised(Repetition(2.0, -1), [8, 8], (0, 0, 0), [0, 0]) == [4, 8]


def test_the_window_holds_the_last_tokens_of_prompt_and_answer_together() -> None:
    assert penalised(Repetition(2.0, 3), [8, 8, 8, 8], (0, 1, 2), [3]) == [8, 4, 4, 4]
    assert penalised(Repetition(2.0, 9), [8, 8, 8, 8], (0, 1), [3]) == [4, 4, 8, 4]


def test_a_token_that_left_the_window_and_came_back_is_penalised_again() -> None:
    change = Repetition(2.0, 2)
    generated: list[int] = []
    seen = []
    for token in (0, 1, 2, 0, 0):
        seen.append(penalised(change, [8, 8, 8, 8], (3,), generated))
        generated.append(token)
    assert seen == [[8, 8, 8, 4], [4, 8, 8, 4], [4, 4, 8, 8], [8, 4, 4, 8], [4, 8, 4, 8]]


@pytest.mark.seeds("S33")
def test_presence_counts_once_and_frequency_each_time_and_the_prompt_not_at_all() -> None:
    change = Occurrence(presence=0.5, frequency=0.25)
    assert penalised(change, [1, 1, 1], (0, 0, 2), [1, 1, 0]) == [0.25, 0.0, 1.0]


@pytest.mark.seeds("S33")
def test_negative_penalties_make_repetition_likelier() -> None:
    assert penalised(Occurrence(presence=-0.5, frequency=-1.0), [1, 1], (), [0, 0]) == [3.5, 1]


def test_nothing_is_penalised_before_there_is_an_answer() -> None:
    assert penalised(Occurrence(presence=1.0, frequency=1.0), [1, 2], (0, 1), []) == [1, 2]


@given(prompt=tokens, answer=tokens, window=st.sampled_from([-1, 1, 2, 7, 100]))
def test_counting_along_with_the_answer_is_counting_afresh(prompt, answer, window) -> None:
    logits = [2.0, -2.0, 1.0, -1.0, 0.5, -0.5]
    repetition, occurrence = Repetition(4.0, window), Occurrence(presence=0.5, frequency=0.25)
    for length in range(len(answer) + 1):
        history, count = prompt + answer[:length], Counter(answer[:length])
        recent = set(history if window < 0 else history[max(0, len(history) - window) :])
        wanted = [
            logit if token not in recent else logit / 4 if logit > 0 else logit * 4
            for token, logit in enumerate(logits)
        ]
        assert penalised(repetition, logits, tuple(prompt), answer[:length]) == wanted
        wanted = [logit - 0.25 * count[token] - 0.5 * (count[token] > 0) for token, logit in enumerate(logits)]
        assert penalised(occurrence, logits, tuple(prompt), answer[:length]) == wanted


@pytest.mark.parametrize("penalty", [1e-320, 1e-30, 1e4, 1e300])
def test_no_penalty_makes_a_logit_infinite(penalty) -> None:
    logits = penalised(Repetition(penalty, -1), [30, 0, -30], (0, 1, 2), [])
    assert np.isfinite(logits).all()
    assert logits[0] >= logits[1] >= logits[2]


@pytest.mark.parametrize("broken", [np.nan, -np.inf])
def test_what_is_not_a_number_or_forbidden_does_not_become_likely(broken) -> None:
    (logit,) = penalised(Repetition(2.0, -1), [broken], (0,), [])
    assert np.isnan(logit) if np.isnan(broken) else logit <= np.finfo(np.float32).min


def test_a_tally_grows_beyond_any_room_it_began_with() -> None:
    tally = Tally()
    for token in [*range(1000), 5, 5]:
        tally.add(token)
    tally.take(999)
    counts = dict(zip(tally.ids.tolist(), tally.counts.tolist(), strict=True))
    assert counts == {**dict.fromkeys(range(1000), 1), 5: 3, 999: 0}
