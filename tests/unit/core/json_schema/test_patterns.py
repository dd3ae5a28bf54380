from __future__ import annotations

import json

import jsonschema_rs
import pytest

from dragoman.core.grammar import grammar_of
from dragoman.core.json_schema import PatternFault, rust_pattern
from dragoman.core.json_schema.patterns import MAX_PATTERN_CHARS, MAX_PATTERN_DEPTH
from dragoman.core.request import JsonFormat, RegexFormat
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
        (r"\cA\cz", ["\x01\x1a"], ["Az"]),
        (r"[\b\cJ]", ["\b", "\n"], ["b"]),
        ("[^-a]", ["A", "b"], ["-", "a"]),
        ("[^a-]", ["A", "b"], ["-", "a"]),
        ("[^^a]", ["A", "b"], ["^", "a"]),
        (r"[^\0]", ["a", "\x01"], []),
        (r"[^\0-\x1f]", ["a", " "], ["\x01"]),
        (r"[\0-\x1f]", ["\x01", "\x1f"], [" "]),
        (r"[\p{Lu}\d]", ["É", "1"], ["é"]),
        (r"\P{Lu}", ["é", '"'], ["É"]),
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
        (r"a\0", r"U\+0000"),
        (r"\u0000|[\x01-\x1f]", r"U\+0000"),
        ("\0", r"U\+0000"),
        (r"[a\x00]", r"U\+0000"),
        (r"[\0-]", r"U\+0000"),
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


@pytest.mark.parametrize(
    "pattern",
    [
        r'^[^"]$',
        r"^[^\\]$",
        r'^[^"\\]$',
        r'^[^"\n]$',
        r'^[^\x00"]$',
        r"^[^\x22]$",
        r'^[^"é]$',
        r"^[^ -/]$",
        r"^[\x00-!#-\uffff]$",
        r"^(?:[\x00-!]|[#-\uffff])$",
        r"^(?:[\x00-\x0f]|[\x10-\x1f]|[é-ü])$",
        r"^(?:a[\x00-\x0f]|a[\x10-\x1f])$",
        r"^\P{P}$",
        r"^[\P{P}]$",
        r"^[\p{Cc}é]$",
        r"^[^\p{P}]$",
        r'^a[^"]{1,3}$',
        r'^"[^"]*"$',
        r"^[^a]$",
        r"^[\s\S]$",
        r"^\W$",
    ],
)
def test_a_character_that_json_escapes_is_let_through_where_the_pattern_matches_it_and_nowhere_else(pattern):
    """llguidance 1.9 lets a quotation mark and a backslash through a set that has all control characters, and neither of them.

    Judged by jsonschema-rs, which reads the text that the grammar would let a model write.
    """
    schema = {"type": "string", "pattern": pattern}
    grammar = grammar_of(JsonFormat(schema=schema))
    texts = [
        '"',
        "\\",
        "\n",
        "\t",
        "\x01",
        "\x1f",
        "a",
        "!",
        "é",
        "😀",
        'a"',
        "a\\",
        "a\x01",
        "aé",
        '"a"',
        '"a"a"',
        'aa"a',
    ]
    allowed = {text: accepts(grammar, json.dumps(text, ensure_ascii=False)) for text in texts}
    assert allowed == {text: jsonschema_rs.is_valid(schema, text) for text in texts}
