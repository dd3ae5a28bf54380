"""Memory shared out among sequences, worked out by hand: one cell is 1,000 bytes throughout."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines.llama.budget import Budget, plan_budget

CELL = 1000


def plan(*, available: int | None, slots: int = 4, trained: int = 8192, **wishes: int) -> Budget | None:
    """``available`` in cells, as if the whole memory were cache."""
    memory = None if available is None else available * CELL
    return plan_budget(trained=trained, slots=slots, cell_bytes=CELL, available=memory, **wishes)


def test_where_memory_is_unknown_every_sequence_has_the_trained_context() -> None:
    assert plan(available=None) == Budget(8192, 4 * 8192, True)


def test_a_default_context_is_at_most_the_ceiling() -> None:
    assert plan(available=None, trained=131_072) == Budget(32_768, 4 * 32_768, True)


def test_a_default_cache_takes_a_quarter_of_the_memory() -> None:
    exactly = 4 * 4 * 8192
    assert plan(available=exactly) == Budget(8192, 4 * 8192, True)
    assert plan(available=exactly - 4) == Budget(4096, 4 * 4096, True)


def test_a_default_context_is_halved_down_to_the_floor_and_no_further() -> None:
    assert plan(available=4 * 4 * 4096, trained=32_768) == Budget(4096, 4 * 4096, True)
    assert plan(available=4 * 4 * 4096 - 4, trained=32_768) == Budget(4096, 4 * 4096 - 1, False)
    # Half of 6,000 would be below the floor.
    assert plan(available=4 * 4 * 4096, trained=6000) == Budget(4096, 4 * 4096, True)


def test_a_model_with_a_context_below_the_floor_keeps_it() -> None:
    assert plan(available=4 * 4 * 2048, trained=2048) == Budget(2048, 4 * 2048, True)
    assert plan(available=4 * 2048, trained=2048) == Budget(2048, 2048, False)


def test_memory_for_less_than_one_context_of_the_floor_is_too_little() -> None:
    assert plan(available=4 * 4096) == Budget(4096, 4096, False)
    assert plan(available=4 * 4096 - 4) is None
    assert plan(available=0) is None


def test_a_context_that_was_asked_for_is_given_whole_or_refused() -> None:
    # 85 % of 40,000 cells are 34,000.
    assert plan(available=40_000, context=8000) == Budget(8000, 32_000, True)
    assert plan(available=40_000, context=9000) == Budget(9000, 34_000, False)
    assert plan(available=40_000, context=34_000) == Budget(34_000, 34_000, False)
    assert plan(available=40_000, context=34_001) is None
    assert plan(available=40_000, context=100) == Budget(100, 400, True)


def test_cells_that_were_asked_for_are_given_whole_or_refused() -> None:
    assert plan(available=40_000, cells=34_000) == Budget(8192, 34_000, True)
    assert plan(available=40_000, cells=32_000) == Budget(8192, 32_000, False)
    assert plan(available=40_000, cells=34_001) is None
    assert plan(available=40_000, cells=1000) == Budget(1000, 1000, False)
    assert plan(available=None, cells=10**9) == Budget(8192, 10**9, True)


@given(
    available=st.none() | st.integers(0, 10**6),
    slots=st.integers(1, 32),
    trained=st.integers(1, 200_000),
    context=st.none() | st.integers(1, 200_000),
    cells=st.none() | st.integers(1, 10**6),
)
def test_a_plan_never_takes_more_than_its_share_and_a_split_cache_only_where_it_fits(
    available, slots, trained, context, cells
) -> None:
    wishes = {name: value for name, value in (("context", context), ("cells", cells)) if value is not None}
    budget = plan(available=available, slots=slots, trained=trained, **wishes)
    if budget is None:
        assert available is not None
        return
    assert 1 <= budget.context <= budget.cells
    if available is not None:
        assert budget.cells <= available * (0.85 if wishes else 0.25)
    if budget.split_fits:
        assert budget.cells >= slots * budget.context
    if context is not None and cells is None:
        assert budget.context == context
