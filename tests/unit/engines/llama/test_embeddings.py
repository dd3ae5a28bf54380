"""Embeddings that are kept: within the room that they have, and the latest used longest."""

from __future__ import annotations

import numpy as np

from dragoman.engines.llama.embeddings import Embeddings


def four_bytes(value: float) -> np.ndarray:
    return np.array([value], np.float32)


def test_the_one_that_was_used_longest_ago_gives_way() -> None:
    kept = Embeddings(8)
    kept.keep("one", four_bytes(1))
    kept.keep("two", four_bytes(2))
    assert kept.find("one") == [1]
    kept.keep("three", four_bytes(3))
    assert [kept.find(name) is not None for name in ("one", "two", "three")] == [True, False, True]


def test_one_that_is_too_large_for_all_the_room_is_not_kept_and_the_next_is() -> None:
    kept = Embeddings(8)
    kept.keep("large", np.zeros(3, np.float32))
    assert kept.find("large") is None
    kept.keep("small", four_bytes(1))
    assert kept.find("small") == [1]
