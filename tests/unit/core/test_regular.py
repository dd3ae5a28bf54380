"""Expressions are judged by llguidance, as the ``pattern`` of a string within JSON, and by Python's ``re``."""

from __future__ import annotations

import json
import re

import pytest

from dragoman.core.grammar import json_value
from dragoman.core.regular import RegularFault, regular_expression, whole
from support.grammars import accepts

# Codex's grammar of a patch, which its apply_patch tool comes with.
PATCH = """
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"""

# The one of its exec tool.
EXEC = r"""
start: pragma_source | plain_source
pragma_source: PRAGMA_LINE NEWLINE SOURCE
plain_source: SOURCE

PRAGMA_LINE: /[ \t]*\/\/ @exec:[^\r\n]*/
NEWLINE: /\r?\n/
SOURCE: /[\s\S]+/
"""

UPDATE = "*** Begin Patch\n*** Update File: a b.py\n*** Move to: c.py\n@@ def f():\n-    return 'é'\n+    return \"\\n\"\n*** End Patch"
ADD = "*** Begin Patch\n*** Add File: x\n+one\n+\n*** Delete File: y\n*** End Patch\n"

CASES = [
    ('start: "yes" | "no"', ["yes", "no"], ["", "yesno"]),
    ('start: "a"? "b"* "c"+', ["c", "abbc", "ccc"], ["", "ab", "aac"]),
    ('start: "a"{2} "b"{1,} "c"{,2}', ["aab", "aabbcc"], ["ab", "aa", "aabccc"]),
    ('start: "a"~2 "b"~1..2', ["aab", "aabb"], ["ab", "aabbb"]),
    ('start: ["x"] "y"', ["y", "xy"], ["x", "xxy"]),
    ('start: ("a" | "b" "c")+ "d"', ["abcd", "bcad"], ["bd", "abc"]),
    ('start: "a" | ', ["a", ""], ["aa"]),
    ('start: "a".."c"+ "\\x41".."\\u0043"', ["abA", "cC"], ["dA", "aD"]),
    ('start: "yes"i', ["YES", "yEs"], ["no"]),
    ("start: /ab?/i /./", ["ABx", "aé"], ["ab\n", "b"]),
    ("start: /./s", ["\n", "x"], ["", "xx"]),
    ('start: "a.b*c(d)[e]{f}|\\\\"', ["a.b*c(d)[e]{f}|\\"], ["axb*c(d)[e]{f}|\\", "a.bbc(d)[e]{f}|\\"]),
    ('start: "\\t\\"\\n"', ['\t"\n'], ["t"]),
    ("start: /[^\\/\\]]+/", ["ab"], ["]", "a/"]),
    ("start: /[]a]+[^]b]/", ["]ac", "aa]]a"], ["a]", "ab", "bc"]),
    (r"start: /[a\[&~-]+/", ["a[&~-"], ["b"]),
    ('?start: _x\n_x.2: X -> seen\nX: /a|b/ "c"', ["ac", "bc"], ["a", "b", "abc"]),
    ('start: a\n     | b // or\n\n     | (\n  X\n )\na: "1"\nb: "2"\nX: "3"', ["1", "2", "3"], ["12", ""]),
    ("start: WORD WS_INLINE NUM\n%import common (WORD, WS_INLINE)\n%import common.INT -> NUM", ["ab  12"], ["ab12", "ab x"]),
    ("%import common.SIGNED_NUMBER\nstart: SIGNED_NUMBER", ["-1.5e3", "7", ".5"], ["e3", "", "1.2.3"]),
    ("%import common.ESCAPED_STRING\nstart: ESCAPED_STRING", ['"a\\"b"'], ["a", '"a']),
    (PATCH, [UPDATE, ADD], ["", UPDATE[:-3], ADD + "x", ADD.replace("+one", "one")]),
    (EXEC, ["// @exec: {}\nawait f()", "x\n\ny"], [""]),
]  # fmt: skip


@pytest.mark.parametrize("grammar, sentences, others", CASES)
def test_an_expression_matches_what_the_grammar_derives_and_nothing_else(grammar, sentences, others):
    pattern = regular_expression(grammar)
    # ECMA-262's dollar is the end; Python's also stands before a last line feed.
    judge = re.compile(pattern.removesuffix("$"))
    assert [text for text in sentences if not judge.fullmatch(text)] == []
    assert [text for text in others if judge.fullmatch(text)] == []


@pytest.mark.parametrize("grammar, sentences, others", CASES)
def test_the_engine_enforces_the_expression_within_json(grammar, sentences, others):
    schema = {"type": "string", "pattern": regular_expression(grammar)}
    lark = f"start: {json_value(schema)}\n"
    assert [text for text in sentences if not accepts(lark, json.dumps(text, ensure_ascii=False))] == []
    assert [text for text in others if accepts(lark, json.dumps(text, ensure_ascii=False))] == []


@pytest.mark.parametrize(
    "grammar, says",
    [
        ('start: "(" start ")" | "x"', "start by itself"),
        ('start: a\na: b\nb: "x" a', "a by itself"),
        ("start: a", "does not define a"),
        ('a: "x"', "does not define start"),
        ('start: "x"\nstart: "y"', "start twice"),
        ('start: "x"\n%ignore " "', "%ignore"),
        ("%import common.MOON\nstart: MOON", "common.MOON"),
        ("%import python.NAME\nstart: NAME", "other than terminals of common"),
        ("start: /(?=a)b/", "looks beyond"),
        (r"start: /a\b/", "looks beyond"),
        ("start: /^a$/", "looks beyond"),
        ("start: /a/x", "flags x"),
        ("start: /[[:alpha:]]/", "class within a class"),
        ("start: /[a[bc]]/", "class within a class"),
        (r"start: /[\[a&&b]/", "class within a class"),
        ("start: /[a-z--b]/", "class within a class"),
        ("start: a{b}", "line 1"),
        ('start: ("x"', "')'"),
        ('start: "x")', "where"),
        ("start: )", "where"),
        ('"x"', "where a rule should begin"),
        ('start "x"', "':'"),
        ('start: "b".."a"', "range"),
        ('start: "a".. b', "range"),
        ('start: "\\ud800"', "no character"),
        ('start: "\\d"', "no escape"),
        ('start: "a"{3,2}', "3 to 2"),
        ("start: " + "(" * 500 + '"x"' + ")" * 500, "deep"),
        ("start: r0\n" + "".join(f"r{n}: r{n + 1}\n" for n in range(500)) + 'r500: "x"', "deep"),
        ("start: r0\n" + "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(40)) + 'r40: "x"', "characters"),
        ('start: "' + "x" * 600_000 + '"', "bytes"),
    ],
)  # fmt: skip
def test_what_no_expression_can_say_is_refused_with_the_reason(grammar, says):
    with pytest.raises(RegularFault, match=re.escape(says)):
        regular_expression(grammar)


@pytest.mark.parametrize(
    "pattern, matching, others",
    [
        ("[a-c]+", ["abc"], ["abcd", ""]),
        ("^(a|b)$", ["a", "b"], ["ab"]),
        ("a|b", ["a", "b"], ["ab", "ax"]),
        (r"\d+ EUR\$", ["5 EUR$"], ["5 EUR"]),
        (".*", ["a\rb", ""], ["a\nb"]),
        ("(?P<year>[0-9]{4})-(?<month>[0-9]{2})", ["2026-11"], ["2026"]),
    ],
)
def test_a_whole_string_matches_an_expression(pattern, matching, others):
    judge = re.compile(whole(pattern).removesuffix("$"))
    assert [text for text in matching if not judge.fullmatch(text)] == []
    assert [text for text in others if judge.fullmatch(text)] == []


@pytest.mark.parametrize("pattern", ["^a|b$", "a\\", "(?<=a)b", "(?i)a", "a^b", "(a"])
def test_an_expression_that_cannot_be_enforced_is_refused(pattern):
    with pytest.raises(RegularFault):
        whole(pattern)


def test_a_reason_does_not_repeat_a_long_grammar():
    with pytest.raises(RegularFault) as caught:
        regular_expression("start: " + "x" * 10_000)
    assert len(str(caught.value)) < 300
