from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dragoman.core.errors import Code, EngineFailed
from dragoman.engines.base import EngineInfo
from dragoman.engines.description import describe, read_description
from dragoman.engines.simulated import INFO


@pytest.mark.parametrize("info", [INFO, replace(INFO, build={"cpu": "avx2"}, bos_token="<s>", fill_in=None)])
def test_a_description_survives_the_wire(info):
    assert read_description(json.loads(json.dumps(describe(info)))) == info


def test_three_numbers_and_a_name_are_enough():
    small = {"name": "m", "context_length": 8, "vocabulary_size": 4, "slots": 1, "from_the_future": [1]}
    assert read_description(small) == EngineInfo(model="m", context_length=8, vocabulary_size=4, slots=1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("context_length", None),
        ("slots", "4"),
        ("slots", True),
        ("name", 1),
        ("special_tokens", [5]),
        ("build", []),
        ("fill_in", "x"),
    ],
)
def test_a_broken_description_is_named_by_its_key(key, value):
    with pytest.raises(EngineFailed, match=key) as failure:
        read_description({**describe(INFO), key: value})
    assert failure.value.code is Code.ENGINE_PROTOCOL


@pytest.mark.parametrize("missing", ["prefix", "suffix", "middle"])
def test_two_of_the_three_tokens_around_a_gap_are_a_broken_description(missing):
    texts = {"prefix": "<a>", "suffix": "<b>", "middle": "<c>"}
    del texts[missing]
    with pytest.raises(EngineFailed, match=missing):
        read_description({**describe(INFO), "fill_in": texts})
