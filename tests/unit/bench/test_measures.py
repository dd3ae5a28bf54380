from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.measures import first_token, percentile, ratio, summarise, throughput
from bench.streams import Stream


def stream(sent, *arrivals, tokens=None, prompt=10, cached=0):
    return Stream(
        sent=sent,
        arrivals=arrivals,
        text="x",
        prompt_tokens=prompt,
        cached_tokens=cached,
        output_tokens=len(arrivals) if tokens is None else tokens,
    )


@pytest.mark.parametrize(
    "share, expected",
    [(0.0, 15.0), (0.05, 16.0), (0.3, 23.0), (0.5, 35.0), (0.95, 48.0), (1.0, 50.0)],
)
def test_percentiles_are_linear_between_neighbours(share, expected):
    # R's quantile(c(15, 20, 35, 40, 50), share), whose default is type 7.
    assert percentile([40, 15, 50, 20, 35], share) == pytest.approx(expected)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.integers(1, 99))
def test_percentiles_agree_with_the_standard_library(values, percent):
    cut = statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
    assert percentile(values, percent / 100) == pytest.approx(cut, abs=1e-6)


def test_a_percentile_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_throughput_runs_from_the_first_request_to_the_last_token():
    # 6 tokens between 1 s and 4 s.
    assert throughput([stream(1.0, 2.0, 3.0), stream(2.0, 3.0, 3.5, 3.75, 4.0)]) == 2.0


def test_throughput_counts_tokens_that_came_in_one_event():
    assert throughput([stream(0.0, 1.0, 2.0, tokens=8)]) == 4.0


def test_a_ratio_is_the_median_of_the_rounds_so_one_slow_round_does_not_decide():
    fast, slow = [stream(0.0, 1.0)], [stream(0.0, 4.0)]  # 1 and 0.25 tokens per second
    assert ratio([(fast, slow)], throughput) == 4.0
    assert ratio([(slow, slow), (fast, fast), (slow, fast)], throughput) == 1.0


def test_a_machine_that_slows_down_in_both_halves_of_a_round_changes_no_ratio():
    before = ([stream(0.0, 1.0)], [stream(0.0, 2.0)])
    after = ([stream(0.0, 3.0)], [stream(0.0, 6.0)])
    assert ratio([before, after], first_token) == 0.5


def test_a_summary_takes_the_median_round_and_the_latencies_of_all():
    rounds = [
        [stream(0.0, 1.0, 2.0, prompt=100, cached=0)],  # 1 token per second
        [stream(0.0, 0.25, 0.5, prompt=100, cached=90)],  # 4
        [stream(0.0, 0.5, 1.0, prompt=100, cached=60)],  # 2
    ]
    summary = summarise(rounds)
    assert summary.tokens_per_second == 2.0
    assert summary.first_token_p50 == 0.5
    assert summary.first_token_p95 == pytest.approx(0.95)
    assert summary.between_p50 == 0.5
    assert summary.prompt_tokens == 100
    assert summary.cached_share == 0.5
    assert summary.rounds == 3
