"""How many rows each run of a step must be padded with, so that nothing is computed in too small a piece.

llama.cpp cuts a batch into micro-batches by its own rules, and picks its kernels by their size. The two functions follow the rules for
its two cache layouts. ``counts`` are (sequence, tokens) pairs in sequence order; the results are rows to add after each run.
"""

from __future__ import annotations


def pad_unified(counts: list[tuple[int, int]], micro_batch: int, minimum: int) -> list[int]:
    """A unified cache takes rows as they come, ``micro_batch`` at a time: only the last one can be small."""
    rows = sum(count for _, count in counts)
    last = (rows - 1) % micro_batch + 1
    return [0] * (len(counts) - 1) + [max(0, minimum - last)]


def pad_split(counts: list[tuple[int, int]], micro_batch: int, minimum: int) -> list[int]:
    """A split cache takes equally many rows of each of some neighbouring sequences, as many as the shortest still has.

    Attention looks at each sequence by itself, so each must have ``minimum`` rows in every micro-batch that it is in.
    """
    padding = [0] * len(counts)
    left = [count for _, count in counts]
    first = 0
    while first < len(left):
        if not left[first]:
            first += 1
            continue
        last = first
        # llama.cpp stops to gather when there are more sequences than rows to give them, so one more than those.
        while (
            last - first < micro_batch
            and last + 1 < len(left)
            and left[last + 1]
            and counts[last + 1][0] == counts[last][0] + 1
        ):
            last += 1
        group = range(first, last + 1)
        for index in group:
            more = max(0, minimum - left[index])
            padding[index] += more
            left[index] += more
        taken = min([max(1, micro_batch // len(group)), *(left[index] for index in group)])
        for index in group:
            left[index] -= taken
    return padding
