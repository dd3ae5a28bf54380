from __future__ import annotations

import pytest

from dragoman.core.gbnf import GbnfFault, lark_of_gbnf
from support.grammars import accepts

LIST = r"""
# a list of words, as llama.cpp's own grammars are written
root  ::= "[" ws ( Word-1
                   ("," ws Word-1)* )? "]"   # items
Word-1 ::=
  "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
ws ::= | " " |
       "\n" [ \t]{0,20}
"""


@pytest.mark.parametrize(
    "source, sentences, others",
    [
        ('root ::= "yes" | "no"', ["yes", "no"], ["", "yesno"]),
        ('root ::= "a"? "b"* "c"+', ["c", "abbc", "ccc"], ["", "ab", "aac"]),
        ('root ::= "a"{2} "b"{1,} "c"{0,2}', ["aab", "aabbcc"], ["ab", "aa", "aabccc"]),
        ("root ::= [a-c-]+", ["a-c", "-"], ["d", ""]),
        ("root ::= [^a-c\\]^-]", ["d", "x"], ["a", "]", "^", "-", ""]),
        ("root ::= [\\u00e9\\U0001F600\\x41]+", ["éA😀"], ["e", "9"]),
        ('root ::= "\\u00e9\\x41\\n\\t\\"\\\\"', ['éA\n\t"\\'], ["é"]),
        ("root ::= [&~/[]+", ["&~/["], ["a"]),
        ("root ::= .", ["a", "\n", "😀"], ["", "ab"]),
        ('root ::= ("a" | ("b" "c"))+ "d"', ["abcd", "bcad"], ["bd", "abc"]),
        ('root ::= "" "a"', ["a"], [""]),
        ('root ::= "(" root ")" | "x"', ["((x))", "x"], ["((x)", "()"]),
        ('x ::= "1"\nroot ::= x y\ny ::= x x', ["111"], ["11"]),
        (LIST, ["[]", '["a", "\\u00e9\\n"]', '["b" ,"c"]'], ["[a]", '["\n"]', '["a" "b"]']),
    ],
)
def test_a_grammar_means_what_llama_cpp_says_it_means(source, sentences, others):
    lark = lark_of_gbnf(source)
    assert [text for text in sentences if not accepts(lark, text)] == []
    assert [text for text in others if accepts(lark, text)] == []


def test_repetition_gives_back_what_comes_after_it():
    """GBNF has no lexer: the ``b`` at the end is one of the letters, too."""
    assert accepts(lark_of_gbnf('root ::= [a-z]+ "b"'), "aab")


@pytest.mark.parametrize(
    "source, said",
    [
        ("root ::= (", "line 1"),
        ("", "root"),
        ('x ::= "a"', "root"),
        ('root ::= "a"\nroot ::= "b"', "line 2: root is defined twice"),
        ("root ::= x", "line 1: x is not defined"),
        ('root ::= "a" )', "line 1"),
        ('root ::= "a', "line 1"),
        ('\n\nroot ::= "a" ::= "b"', "line 3"),
        ("root ::= []", "empty"),
        ("root ::= [a", "line 1"),
        ('root ::= "\\q"', "line 1"),
        ('root ::= "\\ud800"', "U+D800"),
        ('root ::= "\\UFFFFFFFF"', "no character"),
        ("root ::= * x", "line 1"),
        ("root ::= " + "(" * 60_000, "too deep"),
    ],
)
def test_what_is_no_grammar_is_told_apart(source, said):
    """llama.cpp#24144 let an invalid one go; llama.cpp#26600 died of 60,000 groups."""
    with pytest.raises(GbnfFault) as caught:
        lark_of_gbnf(source)
    assert said in str(caught.value)
