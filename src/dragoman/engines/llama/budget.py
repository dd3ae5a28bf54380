"""How many tokens the cache may hold, and how they are shared out: arithmetic on memory, with no model loaded.

A split cache gives each sequence a fixed part, so it is possible only where every sequence can have a whole context. A
unified one is a pool, and needs no more cells than the memory allows.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_CONTEXT_FLOOR = 4096
"""A default context is not made smaller than this to fit a split cache."""

DEFAULT_CONTEXT_CEILING = 32_768
"""A default context is not made larger than this: long contexts are asked for by flag."""

DEFAULT_SHARE = 0.25
"""Part of the available memory that a cache takes by default."""

ASKED_SHARE = 0.85
"""Part of the available memory that a cache may take when the user gave its size."""


@dataclass(frozen=True, slots=True)
class Budget:
    """``context``: tokens of one sequence. ``cells``: tokens of all; ``split_fits``: each sequence can have a whole context."""

    context: int
    cells: int
    split_fits: bool


def plan_budget(
    *,
    trained: int,
    slots: int,
    cell_bytes: int,
    available: int | None,
    context: int | None = None,
    cells: int | None = None,
) -> Budget | None:
    """Choose context and cells. ``None`` in place of a wish means the default; None is returned when the wish cannot be met."""
    longest = context or min(trained, DEFAULT_CONTEXT_CEILING)
    asked = context is not None or cells is not None
    affordable = None if available is None else int(available * (ASKED_SHARE if asked else DEFAULT_SHARE)) // cell_bytes
    if cells is not None:
        if affordable is not None and cells > affordable:
            return None
        return Budget(min(longest, cells), cells, cells >= slots * longest)
    if affordable is None:
        return Budget(longest, slots * longest, True)
    if context is None:
        while longest > DEFAULT_CONTEXT_FLOOR and slots * longest > affordable:
            longest = max(DEFAULT_CONTEXT_FLOOR, longest // 2)
    if slots * longest <= affordable:
        return Budget(longest, slots * longest, True)
    if affordable < (context or min(longest, DEFAULT_CONTEXT_FLOOR)):
        return None
    return Budget(min(longest, affordable), affordable, False)
