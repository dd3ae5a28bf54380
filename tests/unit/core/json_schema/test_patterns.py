from __future__ import annotations

import pytest

from dragoman.core.grammar import grammar_of
from dragoman.core.json_schema import PatternFault, rust_pattern
from dragoman.core.json_schema.patterns import MAX_PATTERN_CHARS, MAX_PATTERN_DEPTH
from dragoman.core.request import RegexFormat
from support.grammars import accepts


def matching(pattern: str, text: str) -> bool:
    """Whether ECMA-262's pattern finds the whole text, asked of the grammar."""
    return accepts(grammar_of(RegexFormat(pattern=rust_pattern(pattern))), text)


@pytest.mark.parametrize(
    "pattern, texts, others",
    [
        ("[[a]", ["[", "a"], ["b"]),
        ("[a&&b]", ["a", "&", "b"], ["c"]),
        ("[a[b]c]", ["bc]", "[c]", "ac]"], ["b"]),
        ("[~/]+", ["~/"], ["a"]),
        (".", ["a", "é"], ["\n", "\r", "\u2028", "\u2029"]),
        (r"\s", [" ", "\ufeff", "\u00a0", "\v"], ["\u0085", "a"]),
        (r"\S", ["a", "\u0085"], [" ", "\ufeff"]),
        (r"[\sx]", [" ", "x"], ["y"]),
        (r"[\Sx]", ["y"], [" "]),
        (r"[^\s]", ["a"], ["\t"]),
        ("a{,3}", ["a{,3}"], ["aa", ""]),
        ("a{2}b{1,}c{0,1}", ["aab", "aabbc"], ["ab"]),
        ("{}", ["{}"], [""]),
        (r"\cA\0", ["\x01\0"], ["A0"]),
        (r"[\b\cJ\0]", ["\b", "\n", "\0"], ["b"]),
        (r"[a\-z]", ["a", "-", "z"], ["b"]),
        (r"\u00e9\x41\/\-\_", ["éA/-_"], ["e"]),
        ("[^]", ["a", "\n"], [""]),
        ("(?:a|b)+(?<n>c)", ["abc"], ["c"]),
    ],
)
def test_an_expression_keeps_its_meaning_in_the_other_syntax(pattern, texts, others):
    """The right values are ECMA-262's."""
    assert [text for text in texts if not matching(pattern, text)] == []
    assert [text for text in others if matching(pattern, text)] == []


@pytest.mark.parametrize(
    "pattern, said",
    [
        ("(?=a)b", "look-ahead"),
        ("(?!a)b", "look-ahead"),
        ("(?<=x)+", "look-behind"),
        ("(?<!x)y", "look-behind"),
        (r"(a)\1", "references"),
        (r"(?<n>a)\k<n>", "references"),
        (r"\bfoo\b", "boundaries"),
        (r"\B", "boundaries"),
        ("a\\", "backslash"),
        ("[a", "class"),
        ("[a--z]", "hyphens"),
        ("(a", "not closed"),
        ("a)", "not opened"),
        ("(" * 10_000, f"{MAX_PATTERN_DEPTH} deep"),
        ("a" * (MAX_PATTERN_CHARS + 1), "characters"),
    ],
)
def test_what_can_not_be_enforced_is_named(pattern, said):
    """llama.cpp#25308: ``(?<=x)+`` and ten thousand parentheses."""
    with pytest.raises(PatternFault, match=said):
        rust_pattern(pattern)
