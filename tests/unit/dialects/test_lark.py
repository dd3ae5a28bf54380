from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import Unsupported
from dragoman.dialects.lark import Lark, expression
from support.grammars import accepts


@given(st.text(min_size=1, max_size=20).filter(lambda text: "␟" not in text and "\0" not in text))
def test_an_expression_matches_its_text_and_nothing_longer(text):
    grammar = f"start: /{expression(text)}/"
    assert accepts(grammar, text)
    assert not accepts(grammar, f"{text}x")
    assert not accepts(grammar, text[:-1])


def test_control_tokens_are_named_and_the_rest_is_spelled():
    lark = Lark(("<|a|>", "[B]"), {"[B]": 7})
    assert lark.text('x<|a|>"[B]') == '"x" <|a|> "\\"" <[7]>'
    assert lark.text("") == '""'
    assert lark.is_control("[B]")
    assert not lark.is_control("x[B]")
    assert lark.begins_with_control("[B]x")
    assert not lark.begins_with_control("x[B]")


def test_a_control_token_that_no_grammar_can_name_is_refused():
    with pytest.raises(Unsupported, match=r"\[B\]"):
        Lark(("[B]",), {}).text("[B]")
