"""DRY against a search from the start for every token, and by hand where breakers come in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.request import Dry
from dragoman.engines.sampling import dry as module
from dragoman.engines.sampling.dry import DontRepeat
from support.words import Words

LETTERS = Words("abcdefgh\n.")
A, B, C, D, E, F, G, H, NEWLINE, STOP = range(10)


def penalties(change: DontRepeat, prompt: Sequence[int], generated: Sequence[int], size: int = 10) -> list[float]:
    row = np.zeros(size, np.float32)
    change.apply(row, prompt, generated)
    return (-row).tolist()


def after(text: str, dry: Dry, vocabulary: Words = LETTERS) -> dict[str, float]:
    """Penalty of each letter that has one, after a prompt."""
    prompt = ["abcdefgh\n.".index(letter) for letter in text]
    found = penalties(DontRepeat(dry, vocabulary), prompt, [])
    return {"abcdefgh\n."[token]: penalty for token, penalty in enumerate(found) if penalty}


def by_definition(history: Sequence[int], dry: Dry, breakers: frozenset[int]) -> list[float]:
    """For each place where the last n tokens stand too, with the token that followed; the longest n counts."""
    seen = list(history if dry.window < 0 else history[max(0, len(history) - dry.window) :])
    longest: dict[int, int] = {}
    for end in range(1, len(seen)):
        n = 0
        while n < end and seen[end - 1 - n] == seen[-1 - n] and seen[-1 - n] not in breakers:
            n += 1
        longest[seen[end]] = max(longest.get(seen[end], 0), n)
    return [
        dry.multiplier * dry.base ** (longest[token] - dry.allowed_length)
        if longest.get(token, -1) >= dry.allowed_length and token not in breakers
        else 0.0
        for token in range(10)
    ]


def test_what_would_make_two_tokens_three_loses_the_multiplier_and_each_further_one_the_base() -> None:
    dry = Dry(multiplier=0.5, base=2.0, allowed_length=2)
    assert after("abcxab".replace("x", "h"), dry) == {"c": 0.5}
    assert after("abcdhabc", dry) == {"d": 1.0}
    assert after("abcdehabcd", dry) == {"e": 2.0}
    assert after("abhb", dry) == {}


def test_the_longest_of_several_repetitions_counts() -> None:
    # "bc" was followed by d, and "abc" as well; "bc" alone by e.
    assert after("abcdfbcdgbcehabc", Dry(multiplier=1.0, base=3.0)) == {"d": 3.0, "e": 1.0}


def test_a_repetition_may_overlap_itself() -> None:
    assert after("aaaaa", Dry(multiplier=1.0, base=2.0)) == {"a": 4.0}  # four a's were followed by an a


def test_no_repetition_reaches_back_over_a_breaker() -> None:
    dry = Dry(multiplier=1.0, base=2.0, allowed_length=2, breakers=("\n",))
    assert after("a\nbcdha\nbc", dry) == {"d": 1.0}  # "bc", and not "a\nbc"
    assert after("ab\nchab\n", dry) == {}


def test_a_token_that_holds_a_breaker_is_not_penalised() -> None:
    text = "ab.ab"
    assert after(text, Dry(multiplier=1.0, breakers=("\n",))) == {".": 1.0}
    assert after(text, Dry(multiplier=1.0, breakers=(".",))) == {}
    prompt = [0, 1, 2, 3, 0, 1]
    held = Words(["a", "b", "x\ny", "d"])
    assert penalties(DontRepeat(Dry(multiplier=1.0, breakers=("\n",)), held), prompt, [], 4) == [0] * 4
    assert penalties(DontRepeat(Dry(multiplier=1.0, breakers=("\t",)), held), prompt, [], 4) == [0, 0, 1, 0]


def test_a_breaker_may_lie_across_tokens() -> None:
    vocabulary = Words(["a", "b", "User", ":", "c", "d"])
    prompt = [0, 2, 3, 1, 4, 5, 0, 2, 3, 1, 4]  # a User : b c d a User : b c
    whole = penalties(DontRepeat(Dry(multiplier=1.0, base=2.0, breakers=()), vocabulary), prompt, [], 6)
    cut = penalties(DontRepeat(Dry(multiplier=1.0, base=2.0, breakers=("ser:",)), vocabulary), prompt, [], 6)
    assert (whole[5], cut[5]) == (8.0, 1.0)


def test_nothing_before_the_window_counts() -> None:
    # Of "abchabc" the last 6 have "bc" twice, the last 5 have it once and "c" twice.
    assert after("abcdabc", Dry(multiplier=1.0, base=2.0, allowed_length=1, window=7)) == {"d": 4.0}
    assert after("abcdabc", Dry(multiplier=1.0, base=2.0, allowed_length=1, window=6)) == {"d": 2.0}
    assert after("abcdabc", Dry(multiplier=1.0, base=2.0, allowed_length=1, window=5)) == {"d": 1.0}
    assert after("abcdabc", Dry(multiplier=1.0, base=2.0, allowed_length=1, window=4)) == {}


@given(
    prompt=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    answer=st.lists(st.integers(0, 4), max_size=25),
    window=st.sampled_from([-1, 3, 20]),
    allowed_length=st.integers(1, 3),
    breaker=st.sampled_from(["", "c"]),
)
def test_following_an_answer_is_searching_afresh(prompt, answer, window, allowed_length, breaker) -> None:
    dry = Dry(multiplier=0.5, base=2.0, allowed_length=allowed_length, window=window, breakers=(breaker,))
    change = DontRepeat(dry, LETTERS)
    for length in range(len(answer) + 1):
        wanted = by_definition(prompt + answer[:length], dry, frozenset({C} if breaker else ()))
        assert penalties(change, tuple(prompt), answer[:length]) == pytest.approx(wanted)


def test_a_long_repetition_stays_within_float32() -> None:
    change = DontRepeat(Dry(multiplier=10_000.0, base=1.75, breakers=()), LETTERS)
    (penalty, *_) = penalties(change, [A] * 2000, [])
    assert penalty == np.finfo(np.float32).max


def test_lengths_are_counted_up_to_their_bound() -> None:
    dry = Dry(multiplier=1.0, base=1.0001, allowed_length=2, breakers=())
    (penalty, *_) = penalties(DontRepeat(dry, LETTERS), [A] * (module.LONGEST + 500), [])
    assert penalty == pytest.approx(1.0001 ** (module.LONGEST - 2), rel=1e-6)
