"""Biases, allowed tokens and vetoes, done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.engines.sampling.masks import BadWords, Bias, Only, Unended
from support.words import Words

INF = float("inf")
VOCABULARY = Words(["he", "ll", "o", " hell", " ", "h", "e", "x", "<end>", "\n"])
HE, LL, LAST, HELL, BLANK, H, E, X, END, LINE = range(10)


def changed(change, *logits: float) -> list[float]:
    row = np.array(logits, np.float32)
    change.apply(row, (), [])
    return row.tolist()


@pytest.mark.seeds("S35")
def test_a_bias_is_added_to_the_logits_it_names() -> None:
    assert changed(Bias([(0, 100.0), (2, -0.5)]), 1, 2, 3) == [101, 2, 2.5]


def test_only_the_allowed_tokens_keep_their_logits() -> None:
    assert changed(Only([2, 0, 2]), 1, 2, 3, 4) == [1, -INF, 3, -INF]


@pytest.mark.seeds("S36")
@pytest.mark.parametrize("length,vetoed", [(0, {3, 7}), (2, {3, 7}), (3, set())])
def test_what_ends_an_answer_is_vetoed_until_it_is_long_enough(length, vetoed) -> None:
    assert set(Unended(3, frozenset({3, 7})).vetoed([1] * length)) == vetoed


@pytest.mark.parametrize(
    "words,generated,vetoed",
    [
        (["o"], [], {LAST}),  # a word of one token is never possible; " o" would be two
        (["o"], [X, BLANK], {LAST}),
        (["hell"], [], {HELL}),  # " hell" is one token
        (["hell"], [X, HE], {HELL, LL}),
        (["hell"], [HE, X], {HELL}),
        ([" hell"], [HE], {HELL, LL}),  # blanks before a word say nothing
        (["hello"], [HE, LL], {LAST}),
        (["hello"], [HELL], {LAST}),
        (["hello"], [LL], set()),
        (["hello", "hexo"], [HE, X], {LAST}),
        (["hello", "llx"], [HE, LL], {LAST, X}),
        ([" "], [], {BLANK}),
        (["\n"], [], {LINE}),  # white space alone is itself, and no blank
        (["<end>"], [], {END}),
    ],
)
def test_the_token_that_would_complete_a_bad_word_is_vetoed(words, generated, vetoed) -> None:
    assert set(BadWords(words, VOCABULARY).vetoed(generated).tolist()) == vetoed


def test_a_bad_word_begins_in_the_answer_and_not_in_the_prompt() -> None:
    # vLLM looks at the output alone; what the prompt said was the client's own word.
    assert LL not in BadWords(["hell"], VOCABULARY).vetoed([])
