"""Sampling parameters on the wire. Ranges are those of OpenAI and of S32 to S40, or wider, since surfaces are stricter."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.request import Dry, SamplingParams, Xtc
from dragoman.engines.option_values import BadOption
from dragoman.engines.sampling_options import read_sampling, write_sampling

SIZE = 300

fractions = st.floats(0, 1)
positive = st.floats(0.01, 10)
texts = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=5), max_size=4).map(tuple)
ids = st.integers(0, SIZE - 1)

params = st.builds(
    SamplingParams,
    top_k=st.integers(0, 2**31 - 1),
    min_p=fractions,
    typical_p=st.floats(0.01, 1),
    seed=st.none() | st.integers(-(2**63), 2**63 - 1),
    repetition_penalty=positive,
    presence_penalty=st.floats(-2, 2),
    frequency_penalty=st.floats(-2, 2),
    logit_bias=st.dictionaries(ids, st.floats(-100, 100), max_size=4).map(lambda bias: tuple(bias.items())),
    allowed_token_ids=st.lists(ids, max_size=4).map(tuple),
    bad_words=texts,
    xtc=st.none() | st.builds(Xtc, probability=fractions, threshold=fractions),
    dry=st.none()
    | st.builds(
        Dry,
        multiplier=positive,
        base=positive,
        allowed_length=st.integers(0, 9),
        window=st.integers(-1, 9),
        breakers=texts,
    ),
)


def read(options) -> SamplingParams:
    return read_sampling(options, temperature=1.0, top_p=1.0, vocabulary_size=SIZE)


@given(params)
def test_parameters_survive_the_wire(sampling):
    assert read(json.loads(json.dumps(write_sampling(sampling)))) == sampling


def test_a_window_is_sent_with_its_penalty_and_not_without():
    assert write_sampling(SamplingParams(repetition_penalty=1.5, repetition_window=64)) == {
        "repetition_penalty": 1.5,
        "repetition_window": 64,
    }
    assert write_sampling(SamplingParams(repetition_window=64)) == {}


@pytest.mark.seeds("S106")
def test_what_is_at_its_default_is_not_sent():
    assert write_sampling(SamplingParams(temperature=0.5, top_p=0.5)) == {}
    assert read({}) == SamplingParams()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("top_k", -1),
        ("top_k", 2.0),
        ("min_p", 1.5),
        ("typical_p", 0),
        ("typical_p", 1.01),
        ("repetition_penalty", 0),
        ("repetition_penalty", -1),
        ("repetition_penalty", True),
        ("repetition_penalty", float("inf")),
        ("repetition_window", -2),
        ("presence_penalty", float("nan")),
        ("presence_penalty", "1"),
        ("frequency_penalty", float("-inf")),
        ("frequency_penalty", 10**400),
        ("logit_bias", {"5": 1}),
        ("logit_bias", [[5]]),
        ("logit_bias", [[5, 1, 1]]),
        ("logit_bias", [[5, 100.5]]),
        ("logit_bias", [[5, float("nan")]]),
        ("logit_bias", [[5, True]]),
        ("logit_bias", [["5", 1]]),
        ("logit_bias", [[SIZE, 1]]),
        ("logit_bias", [[-1, 1]]),
        ("logit_bias", [[5, 1], [5, 2]]),
        ("allowed_token_ids", [SIZE]),
        ("allowed_token_ids", [1.0]),
        ("allowed_token_ids", None),
        ("bad_words", "word"),
        ("bad_words", [""]),
        ("bad_words", [5]),
        ("bad_words", ["\ud800"]),
        ("bad_words", ["x"] * 257),
        ("xtc", 0.5),
        ("xtc.probability", {"probability": 2}),
        ("xtc.threshold", {"probability": 0.5, "threshold": None}),
        ("dry", [1]),
        ("dry.multiplier", {"multiplier": -1}),
        ("dry.base", {"multiplier": 1, "base": "2"}),
        ("dry.allowed_length", {"multiplier": 1, "allowed_length": -1}),
        ("dry.window", {"multiplier": 1, "window": -2}),
        ("dry.breakers", {"multiplier": 1, "breakers": ["\udfff"]}),
        ("dry.breakers", {"multiplier": 1, "breakers": ["x"] * 65}),
    ],
)
def test_a_value_that_is_none_is_named_by_its_key(key, value):
    with pytest.raises(BadOption) as refusal:
        read({key.partition(".")[0]: value})
    assert refusal.value.key == key
