"""Ceilings against bits counted by hand, and the life of a constraint over bytes."""

from __future__ import annotations

from queue import SimpleQueue

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines.backend import BadGrammar
from dragoman.engines.llama.grammar import Ceilings
from support.byte_grammars import byte_grammars
from support.hash_backend import END, PATIENCE


def compiled(grammar: str, compiler=None):
    answers: SimpleQueue = SimpleQueue()
    (compiler or byte_grammars()).compile(grammar, answers.put)
    return answers.get(timeout=PATIENCE)


def allowed(constraint) -> set[int]:
    return set(np.flatnonzero(constraint.ceiling() == np.inf).tolist())


@given(st.integers(1, 200), st.data())
def test_a_ceiling_is_infinite_at_the_set_bits_and_minus_infinite_at_all_others(size, data):
    chosen = data.draw(st.sets(st.integers(0, size - 1)))
    mask = np.zeros((size + 31) // 32, np.uint32)
    for token in chosen:
        mask[token // 32] |= np.uint32(1 << (token % 32))
    ceiling = Ceilings(size).of(mask)
    assert ceiling.tolist() == [float("inf") if token in chosen else float("-inf") for token in range(size)]


def test_a_ceiling_leaves_what_is_not_a_number_one():
    mask = np.array([0b01], np.uint32)
    lowered = np.minimum(np.array([np.nan, np.nan], np.float32), Ceilings(2).of(mask))
    assert np.isnan(lowered).all()


def test_a_constraint_goes_from_choice_to_choice_to_its_end():
    constraint = compiled('start: ("yes" | "no") "!"?')
    assert allowed(constraint) == {ord("y"), ord("n")}
    constraint.take(ord("n"))
    assert constraint.force() == [ord("o")]
    assert not constraint.complete
    assert allowed(constraint) == {ord("!"), END}
    constraint.take(ord("!"))
    assert constraint.complete


def test_a_token_that_was_not_allowed_is_an_error_for_ever():
    constraint = compiled('start: "a" | "b"')
    with pytest.raises(BadGrammar):
        constraint.take(ord("c"))
    for act in (constraint.ceiling, constraint.force, lambda: constraint.take(ord("a"))):
        with pytest.raises(BadGrammar):
            act()
    assert not constraint.complete


def test_words_of_a_failure_are_short_and_on_one_line():
    failure = compiled("start: /(" + "a" * 10_000)
    assert isinstance(failure, BadGrammar)
    assert 0 < len(str(failure)) <= 300
    assert "\n" not in str(failure)
