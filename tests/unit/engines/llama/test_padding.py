"""Padding against llama.cpp's own cutting of batches, followed row by row: no micro-batch ends up too small.

The rules are those of ``split_simple`` and of a sequential ``split_equal`` in llama.cpp's ``llama-batch.cpp``.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines.llama.padding import pad_split, pad_unified


def split_equal(rows: list[int], micro_batch: int) -> list[list[int]]:
    """Cut a batch, given as the sequence of each of its rows, into micro-batches of row indices."""
    used = [False] * len(rows)
    micro_batches = []
    while not all(used):
        gathered: list[int] = []
        for index, sequence in enumerate(rows):
            if used[index] or sequence in gathered:
                continue
            if gathered and sequence != gathered[-1] + 1:
                continue
            gathered.append(sequence)
            if len(gathered) > micro_batch:
                break
        queues = [[i for i, s in enumerate(rows) if s == sequence and not used[i]] for sequence in gathered]
        taken: list[int] = []
        rounds = 0
        while all(queues):
            for queue in queues:
                taken.append(queue.pop(0))
            rounds += 1
            if (rounds + 1) * len(gathered) > micro_batch:
                break
        for index in taken:
            used[index] = True
        micro_batches.append(taken)
    return micro_batches


def split_simple(rows: list[int], micro_batch: int) -> list[list[int]]:
    left, micro_batches = list(range(len(rows))), []
    while left:
        micro_batches.append([left.pop(0) for _ in range(min(micro_batch, len(left)))])
    return micro_batches


def padded(counts, padding) -> list[int]:
    return [sequence for (sequence, count), more in zip(counts, padding, strict=True) for _ in range(count + more)]


@st.composite
def batches(draw, longest=12):
    sequences = draw(st.lists(st.integers(0, 15), min_size=1, max_size=10, unique=True))
    return [(sequence, draw(st.integers(1, longest))) for sequence in sorted(sequences)]


def shares(counts, padding, micro_batch) -> list[int]:
    """Rows that a sequence has in a micro-batch, for each pair of them."""
    rows = padded(counts, padding)
    parts = split_equal(rows, micro_batch)
    return [share for part in parts for share in Counter(rows[index] for index in part).values()]


@given(counts=batches(), micro_batch=st.integers(20, 40), minimum=st.sampled_from([1, 2]))
def test_each_sequence_has_the_minimum_of_rows_in_every_micro_batch_of_a_split_cache(counts, micro_batch, minimum):
    assert min(shares(counts, pad_split(counts, micro_batch, minimum), micro_batch)) >= minimum


@given(counts=batches(), micro_batch=st.integers(20, 40))
def test_a_split_cache_is_padded_only_where_a_sequence_has_a_lone_row(counts, micro_batch) -> None:
    padding = pad_split(counts, micro_batch, 2)
    assert max(padding) <= 1
    if min(shares(counts, [0] * len(counts), micro_batch)) >= 2:
        assert sum(padding) == 0


@pytest.mark.parametrize(
    ("counts", "padding"),
    [
        ([(0, 1)], [1]),
        ([(3, 2)], [0]),
        ([(0, 1), (1, 1)], [1, 1]),  # attention sees one row of each
        ([(0, 1), (2, 1)], [1, 1]),
        ([(0, 64)], [0]),
        ([(0, 65)], [1]),  # 64 and 1
        ([(0, 4), (1, 3)], [1, 0]),  # three of each, then one of the first
        ([(0, 3), (1, 1), (2, 3)], [1, 1, 1]),  # two of each, then one of the first and one of the third
        ([(0, 2), (1, 1), (2, 2)], [0, 1, 0]),
    ],
)
def test_padding_of_small_batches_by_hand(counts, padding) -> None:
    assert pad_split(counts, 64, 2) == padding
    assert pad_split(counts, 64, 1) == [0] * len(counts)


@given(counts=batches(), micro_batch=st.integers(2, 9), data=st.data())
def test_a_unified_cache_gets_no_micro_batch_below_the_minimum(counts, micro_batch, data) -> None:
    minimum = data.draw(st.integers(1, micro_batch))
    padding = pad_unified(counts, micro_batch, minimum)
    parts = split_simple(padded(counts, padding), micro_batch)
    assert all(len(part) >= minimum for part in parts)
    assert len(parts) == len(split_simple(padded(counts, [0] * len(counts)), micro_batch))
    assert padding[:-1] == [0] * (len(counts) - 1)
