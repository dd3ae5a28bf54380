"""A prompt whose client will come back outlives others under pressure, for five minutes, and never at the cost of all of them."""

from __future__ import annotations

from dragoman.scheduler.scheduler import SchedulerOptions
from dragoman.scheduler.sequence import Sequence
from support.scheduling import Loop


def prompt(number: int, length: int = 10) -> tuple[int, ...]:
    return tuple(range(100 * number, 100 * number + length))


def ask(loop: Loop, number: int, *, kept: bool = False, length: int = 10) -> Sequence:
    """One request to its end, a second after the last one."""
    sequence = loop.add(prompt(number, length), kept=kept)
    loop.run(sequence)
    loop.now += 1
    return sequence


def cached(loop: Loop, number: int) -> int:
    return ask(loop, number).cached


def test_a_kept_prompt_survives_what_evicts_others() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    ask(loop, 1, kept=True)
    ask(loop, 2)
    for number in range(3, 10):
        ask(loop, number)
    assert (cached(loop, 1), cached(loop, 2)) == (9, 0)


def test_it_survives_a_shortage_of_cells_too() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1, cells=25))
    ask(loop, 1, kept=True)
    ask(loop, 2)
    ask(loop, 3)
    assert loop.full == 1
    assert cached(loop, 1) == 9


def test_five_minutes_after_its_last_use_it_is_worth_no_more_than_others() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    ask(loop, 1, kept=True)
    loop.now = 299.0
    assert cached(loop, 1) == 9
    loop.now = 590.0
    for number in range(3, 10):
        ask(loop, number)
    assert cached(loop, 1) == 9
    loop.now += 300.0
    for number in range(13, 20):
        ask(loop, number)
    assert cached(loop, 1) == 0


def test_a_copy_of_its_beginning_is_a_use() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    ask(loop, 1, kept=True, length=20)
    loop.now = 250.0
    other = loop.add((*prompt(1, 10), 7, 7, 7))
    loop.run(other)
    assert other.cached == 10
    loop.now = 500.0
    for number in range(3, 10):
        ask(loop, number)
    assert ask(loop, 1, length=20).cached == 19


def test_clients_that_ask_for_it_each_time_take_nothing_from_those_who_never_do() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    ask(loop, 1)
    for number in range(10, 20):
        ask(loop, number, kept=True)
        assert cached(loop, 1) == 9


def test_kept_ones_give_way_where_nothing_else_is_left() -> None:
    loop = Loop(SchedulerOptions(sequences=2, copy_cost=1))
    ask(loop, 1, kept=True)
    first, second = loop.add(prompt(2)), loop.add(prompt(3))
    loop.run(first, second)
    assert len(first.generated) == len(second.generated) == 1
    assert cached(loop, 1) == 0


def test_a_kept_prompt_that_failed_is_not_kept() -> None:
    loop = Loop(SchedulerOptions(sequences=4, copy_cost=1))
    sequence = loop.add(prompt(1), 5, kept=True)
    loop.step()
    loop.end(sequence, keep=False)
    assert cached(loop, 1) == 0
