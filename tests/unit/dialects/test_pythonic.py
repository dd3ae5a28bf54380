"""The grammar of calls in Python where they are the model's choice; what it takes is read by the family's own parser."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dragoman.core.request import Conversation, ToolChoice, ToolSpec
from support.dialect_tapes import answer, ask, parse, speak
from support.grammars import accepts, longest_beginning
from support.tools import TOOLS

SPACED = ToolSpec(
    name="f", parameters={"type": "object", "properties": {"a b": {"type": "string"}}, "required": ["a b"]}
)
"""Its argument cannot be a keyword."""

FAMILIES = pytest.mark.parametrize("family", ["llama4", "llama3_pythonic"])


def grammar(family: str, asked: Conversation) -> str:
    dialect = speak(family)
    text = dialect.grammar(asked, dialect.render(asked), None)
    assert text is not None
    return text


@FAMILIES
def test_arguments_that_are_no_keywords_are_one_object_in_the_first_call_as_in_others(family: str):
    asked = ask([SPACED])
    text = '[f(**{"a b": "x"}), f(**{"a b": "y"})]'
    assert accepts(grammar(family, asked), text)
    dialect = speak(family)
    found = answer(parse(dialect.parser(asked, dialect.render(asked)), [(text, False)]))
    assert [json.loads(arguments) for _, arguments, _ in found.calls] == [{"a b": "x"}, {"a b": "y"}]
    assert longest_beginning(grammar(family, asked), "[f((**")[0] == "[f("


@FAMILIES
def test_no_answer_has_more_than_sixteen_calls(family: str):
    asked = ask([TOOLS["now"]])
    calls = [f"[{', '.join(['now()'] * count)}]" for count in (16, 17)]
    held = _without_text(grammar(family, asked))
    assert accepts(held, calls[0])
    assert not accepts(held, calls[1])


@FAMILIES
def test_one_call_at_most_is_one(family: str):
    asked = replace(ask([TOOLS["now"]]), tool_choice=ToolChoice(parallel=False))
    held = _without_text(grammar(family, asked))
    assert accepts(held, "[now()]")
    assert longest_beginning(held, "[now(), now()]")[0] == "[now()"


def _without_text(grammar: str) -> str:
    """The same where a call must come: as text, any list would do."""
    return grammar.replace("start: free | ", "start: ")
