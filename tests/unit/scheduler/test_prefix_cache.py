"""Named cases of the prefix tree; tests/properties/test_prefix_cache.py has the law."""

from __future__ import annotations

import pytest

from dragoman.scheduler.prefix_cache import Match, NoReuse, PrefixCache


def lengths(cache: PrefixCache, tokens, namespace: str = "") -> dict[int, int]:
    return {match.seq_id: match.length for match in cache.match(tokens, namespace)}


@pytest.fixture
def cache() -> PrefixCache:
    return PrefixCache()


def test_an_empty_cache_matches_nothing(cache) -> None:
    assert cache.match([1, 2]) == []
    assert cache.match([]) == []
    assert cache.held(0) == ()


def test_matches_come_longest_first_and_each_sequence_once(cache) -> None:
    cache.insert(0, [1, 2])
    cache.insert(1, [1, 2, 3, 4])
    cache.insert(2, [1, 2, 3, 9])
    cache.insert(3, [7])
    found = cache.match([1, 2, 3, 4, 5])
    assert found[0] == Match(1, 4)
    assert [(match.seq_id, match.length) for match in found] == [(1, 4), (2, 3), (0, 2)]


@pytest.mark.parametrize("at", range(6))
def test_an_edge_is_split_where_two_sequences_part(cache, at) -> None:
    first, second = (1, 2, 3, 4, 5), (*range(1, at + 1), 9, 9)
    cache.insert(0, first)
    cache.insert(1, second)
    assert lengths(cache, first) == {0: 5} | ({1: at} if at else {})
    assert lengths(cache, second) == {1: at + 2} | ({0: at} if at else {})


def test_a_shorter_prompt_matches_inside_an_edge(cache) -> None:
    cache.insert(0, range(1000))
    assert cache.match(range(400)) == [Match(0, 400)]
    assert cache.match([*range(999), -1]) == [Match(0, 999)]


def test_a_sequence_that_is_filled_anew_has_lost_what_it_held(cache) -> None:
    cache.insert(0, [1, 2, 3])
    cache.insert(0, [4])
    assert cache.match([1, 2, 3]) == []
    assert cache.match([4, 5]) == [Match(0, 1)]
    assert cache.held(0) == (4,)
    cache.insert(0, [])
    assert cache.match([4]) == []


def test_removing_one_leaves_the_others(cache) -> None:
    for seq_id, tokens in enumerate([(1, 2, 3), (1, 2, 4), (1, 2)]):
        cache.insert(seq_id, tokens)
    cache.remove(0)
    cache.remove(0)
    assert lengths(cache, (1, 2, 3)) == {1: 2, 2: 2}
    cache.remove(1)
    cache.remove(2)
    assert cache.match((1, 2, 4)) == []


def test_truncation_keeps_the_front_and_never_lengthens(cache) -> None:
    cache.insert(0, [1, 2, 3, 4], "key")
    cache.truncate(0, 2)
    assert cache.held(0) == (1, 2)
    assert cache.match([1, 2, 3, 4], "key") == [Match(0, 2)]
    cache.truncate(0, 9)
    cache.truncate(5, 1)
    assert cache.held(0) == (1, 2)
    cache.truncate(0, 0)
    assert cache.match([1], "key") == []


def test_namespaces_never_meet(cache) -> None:
    cache.insert(0, [1, 2, 3], "a")
    cache.insert(1, [1, 2], "b")
    assert cache.match([1, 2, 3], "a") == [Match(0, 3)]
    assert cache.match([1, 2, 3], "b") == [Match(1, 2)]
    assert cache.match([1, 2, 3]) == []
    cache.insert(0, [1, 2, 3], "b")
    assert cache.match([1, 2, 3], "a") == []


def test_the_off_switch_knows_what_is_held_and_matches_nothing() -> None:
    cache = NoReuse()
    cache.insert(0, [1, 2])
    assert cache.held(0) == (1, 2)
    assert cache.match([1, 2]) == []
