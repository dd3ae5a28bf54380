"""One check for everything that is fed in pieces: how the input is cut must not show in what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Piece = TypeVar("Piece", str, bytes)
Out = TypeVar("Out")


def check_chunking(
    start: Callable[[], Callable[[Piece], Sequence[Out]]],
    data: Piece,
    expected: Sequence[Out],
    *,
    joined: Callable[[Sequence[Out]], Sequence[Out]] = list,
) -> None:
    """Feed ``data`` whole, cut in two at each place, and unit by unit; each time ``expected`` must come out.

    ``start`` makes a fresh machine and returns its feed, which returns what is out so far unseen. ``joined`` brings outputs into one
    form, for machines that may cut their output where their input was cut.
    """
    wanted = list(joined(expected))

    def run(pieces: Sequence[Piece]) -> list[Out]:
        feed = start()
        return list(joined([out for piece in pieces for out in feed(piece)]))

    assert run([data]) == wanted, "whole"
    for cut in range(1, len(data)):
        assert run([data[:cut], data[cut:]]) == wanted, f"cut at {cut}: {data[:cut]!r} | {data[cut:]!r}"
    assert run([data[at : at + 1] for at in range(len(data))]) == wanted, "unit by unit"
