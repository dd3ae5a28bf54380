from __future__ import annotations

from dragoman.scheduler.ghosts import Ghosts
from dragoman.scheduler.miss import Miss


def test_the_longest_loss_is_told_with_its_cause():
    ghosts = Ghosts()
    ghosts.lose((1, 2, 3), "", Miss.EVICTED)
    ghosts.lose((1, 2, 3, 4, 5), "", Miss.ANSWER)
    assert ghosts.longest((1, 2, 3, 4, 9), "") == (4, Miss.ANSWER)
    assert ghosts.longest((9,), "") == (0, Miss.EVICTED)
    assert ghosts.longest((1, 2, 3), "another") == (0, Miss.EVICTED)


def test_the_oldest_are_forgotten_when_there_are_too_many():
    ghosts = Ghosts(most=2)
    for first in (10, 20, 30):
        ghosts.lose((first, 1), "", Miss.EVICTED)
    assert [ghosts.longest((first, 1), "")[0] for first in (10, 20, 30)] == [0, 2, 2]


def test_the_oldest_are_forgotten_when_they_are_too_long_together():
    ghosts = Ghosts(tokens=10)
    ghosts.lose(range(100, 106), "", Miss.EVICTED)
    ghosts.lose(range(200, 204), "", Miss.EVICTED)
    assert ghosts.longest((100, 101), "")[0] == 2
    ghosts.lose((300,), "", Miss.EVICTED)
    assert [ghosts.longest((start,), "")[0] for start in (100, 200, 300)] == [0, 1, 1]


def test_one_that_is_longer_than_all_room_pushes_nobody_out():
    ghosts = Ghosts(tokens=4)
    ghosts.lose((1, 2), "", Miss.EVICTED)
    ghosts.lose(range(10, 15), "", Miss.EVICTED)
    assert ghosts.longest((1, 2), "") == (2, Miss.EVICTED)
    assert ghosts.longest((10,), "")[0] == 0
