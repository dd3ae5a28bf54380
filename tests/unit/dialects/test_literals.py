from __future__ import annotations

import pytest

from dragoman.dialects.literals import any_of


@pytest.mark.parametrize(
    "texts, found",
    [
        (("a", "ab", "abc"), ["abc", "ab", "a"]),
        (("<|x|>", "<|y|>", "<s>", "<|x|"), ["<|x|>", "<s>", "<|x|"]),
        (("a.c", "[b"), []),
        ((), []),
        (("",), []),
    ],
)
def test_the_longest_literal_at_each_place_is_found(texts: tuple[str, ...], found: list[str]):
    assert any_of(texts).findall("abc ab azc <|x|> <s> <|x|") == found


def test_a_long_literal_needs_no_deep_pattern():
    text = "<" * 5000
    assert any_of((text, text[:-1] + ">")).fullmatch(text) is not None
