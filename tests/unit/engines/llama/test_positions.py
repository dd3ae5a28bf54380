"""Positions after pictures whose tokens lie in a plane (M-RoPE): the numbers are worked out by hand from the Qwen2-VL paper."""

from __future__ import annotations

import pytest

from dragoman.engines.llama.positions import Positions


@pytest.fixture
def positions() -> Positions:
    """Sequence 3: 5 of text, a picture of 8 by 8 (64 tokens that move what follows by 8), 2 of text, one of 2 by 6, text."""
    positions = Positions()
    positions.add(3, 69, 64 - 8)
    positions.add(3, 83, 12 - 6)
    return positions


@pytest.mark.parametrize(("index", "position"), [(0, 0), (5, 5), (69, 13), (71, 15), (83, 21), (90, 28)])
def test_what_follows_a_picture_goes_on_after_its_longer_side(positions: Positions, index: int, position: int) -> None:
    assert positions.of(3, index) == position


def test_other_sequences_have_their_own(positions: Positions) -> None:
    assert positions.of(4, 90) == 90


def test_a_picture_with_a_position_for_each_token_moves_nothing() -> None:
    positions = Positions()
    positions.add(1, 20, 0)
    assert positions.of(1, 30) == 30


def test_a_cut_forgets_the_pictures_behind_it(positions: Positions) -> None:
    positions.cut(3, 71)
    assert [positions.of(3, index) for index in (69, 90)] == [13, 34]
    positions.cut(3, 0)
    assert positions.of(3, 90) == 90


def test_a_copy_has_the_pictures_before_its_end_and_nothing_of_what_was_there(positions: Positions) -> None:
    positions.add(7, 30, 20)
    positions.copy(3, 7, 69)
    assert [positions.of(7, index) for index in (40, 69, 90)] == [40, 13, 34]
    positions.copy(5, 7, 10)
    assert positions.of(7, 90) == 90
    assert positions.of(3, 90) == 28
