"""Stretches of a prompt that can not be divided: computed in one piece, and no prefix ends in one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.scheduler.scheduler import SchedulerOptions
from dragoman.scheduler.sequence import Sequence, Stretch
from support.scheduling import Loop


def stretch(start: int, end: int) -> Stretch:
    return Stretch(start=start, end=end, content=(start, end))


def pictured(*parts: int | tuple[int, int]) -> tuple[tuple[int, ...], tuple[Stretch, ...]]:
    """Tokens of a prompt: a number is one token, a pair a picture with that number and so many positions."""
    tokens: list[int] = []
    stretches = []
    for part in parts:
        if isinstance(part, int):
            tokens.append(part)
        else:
            number, count = part
            stretches.append(stretch(len(tokens), len(tokens) + count))
            tokens += [number] * count
    return tuple(tokens), tuple(stretches)


def add(loop: Loop, *parts: int | tuple[int, int], limit: int = 1, **options) -> Sequence:
    tokens, stretches = pictured(*parts)
    return loop.add(tokens, limit, stretches=stretches, **options)


@pytest.mark.parametrize(("length", "border"), [(0, 0), (2, 2), (3, 2), (5, 2), (6, 6), (7, 7), (8, 7), (9, 9)])
def test_a_border_is_the_last_place_where_a_prompt_can_be_cut(length: int, border: int) -> None:
    sequence = Sequence(id=1, prompt=(0,) * 10, limit=1, stretches=(stretch(2, 6), stretch(7, 9)))
    assert sequence.border(length) == border


def test_a_prompt_is_computed_in_chunks_of_text_and_whole_pictures() -> None:
    loop = Loop(SchedulerOptions(sequences=2, prefill_chunk=4))
    sequence = add(loop, *range(6), (-9, 7), 1, 2)
    runs = [(run.start, run.end) for plan in loop.run(sequence) for run in plan.runs]
    assert runs == [(0, 4), (4, 6), (6, 13), (13, 15)]


def test_a_picture_that_does_not_fit_the_rest_of_a_step_waits_for_the_next_and_others_decode_meanwhile() -> None:
    loop = Loop(SchedulerOptions(sequences=3, prefill_chunk=4, copy_cost=100))
    other = add(loop, 5, limit=10)
    loop.step()
    text, seen = add(loop, 1, 2, 3), add(loop, (-9, 7), 1)
    first, second = loop.step(), loop.step()
    assert {run.sequence: len(run.tokens) for run in first.runs} == {other: 1, text: 3}
    assert {run.sequence: len(run.tokens) for run in second.runs} == {other: 1, seen: 7}


@pytest.mark.seeds("S134")
def test_an_equal_picture_is_found_and_what_follows_it_is_computed() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    loop.run(add(loop, 1, 2, (-9, 8), 3, 4))
    second = add(loop, 1, 2, (-9, 8), 3, 5)
    loop.run(second)
    assert (second.cached, loop.fed(second)) == (11, 1)


def test_a_different_picture_ends_the_prefix_before_it() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    loop.run(add(loop, 1, 2, (-9, 8), 3))
    second = add(loop, 1, 2, (-10, 8), 3)
    loop.run(second)
    assert (second.cached, loop.fed(second)) == (2, 9)


def test_no_prefix_ends_in_a_picture_even_where_more_of_it_is_equal() -> None:
    """The first two parts of both pictures have one number; what holds it has eight positions of it, and this one needs nine."""
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    loop.run(add(loop, 1, 2, (-9, 8), 3))
    second = add(loop, 1, 2, (-9, 9), 3)
    loop.run(second)
    assert (second.cached, loop.fed(second)) == (2, 10)


def test_a_preempted_prompt_computes_its_pictures_again_whole() -> None:
    loop = Loop(SchedulerOptions(sequences=2, prefill_chunk=4, cells=24, copy_cost=100))
    first = add(loop, 1, 2, (-9, 6), 3, limit=12, bounded=False)
    second = add(loop, 5, 6, (-8, 6), 7, limit=12, bounded=False)
    loop.run(first, second)
    assert loop.full
    assert len(first.generated) == len(second.generated) == 12


pictures = st.tuples(st.integers(-4, -1), st.integers(1, 9))
prompts = st.lists(st.integers(0, 2) | pictures, min_size=0, max_size=8)


@given(
    st.lists(prompts, min_size=1, max_size=8),
    st.integers(2, 9),
    st.sampled_from([None, 40]),
    st.lists(st.integers(0, 12), max_size=6),
)
def test_whatever_prompts_share_the_cache_holds_what_the_scheduler_believes(asked, chunk, cells, interrupts) -> None:
    loop = Loop(SchedulerOptions(sequences=3, prefill_chunk=chunk, cells=cells, copy_cost=1))
    # The size of a picture follows from its number, as it does from its bytes.
    sized = [[part if isinstance(part, int) else (part[0], 1 - 2 * part[0]) for part in parts] for parts in asked]
    for parts in sized:
        add(loop, *parts[:4], 1, limit=2)
    for after in interrupts:
        if loop.live:
            loop.step(interrupt_after=after)
    loop.run()
