"""Gemma 3, which knows no tokens for tools: calls are Python in a fence, as Google's examples have them.

    ```tool_code
    get_weather(city="Paris", days=3)
    ```

Its template says nothing of tools and takes only two roles, so declarations, past calls and results are told in texts. Any other fence
is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dragoman.core.request import ToolCall
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import build_family
from dragoman.dialects.generic import GenericDialect
from dragoman.dialects.notation import PYTHON, ArgumentsReader, keyword_call
from dragoman.dialects.notation_grammar import KEYWORDS, NotationForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table
from dragoman.dialects.tool_prompt import ToolWords

_FENCE: Final = "```tool_code"

SYNTAX: Final = Syntax(
    table=Table(
        {
            **prose({_FENCE: Edge("fence", tentative=True)}, think=None),
            "fence": State(holds=Holds.SPACE, otherwise="name"),
            "name": State(holds=Holds.NAME, edges={"(": Edge("arguments")}),
            "arguments": State(
                holds=Holds.BODY, body=lambda _: ArgumentsReader(PYTHON), then=Edge("called", ends=True)
            ),
            "called": State(holds=Holds.SPACE, edges={"```": Edge("opening")}, otherwise="name"),
        }
    ),
    think=None,
    declared_only=True,
    written=Written(opener=f"{_FENCE}\n", call=NotationForm(writing=KEYWORDS), between="\n", after="\n```"),
)


def _fenced_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join([_FENCE, *(keyword_call(call.name, call.arguments) for call in calls), "```"])


def _fenced_results(results: Sequence[str]) -> str:
    return "\n".join(map(_fenced_result, results))


def _fenced_result(result: str) -> str:
    """In a fence that is longer than those in the result, as Markdown has it, so that it cannot end it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", result)), default=0))
    return f"{fence}tool_output\n{result}\n{fence}"


FENCES: Final = ToolWords(
    how=(
        "To call tools, write only this, one call a line:\n"
        '```tool_code\nits_name(key="value")\n```\n'
        "The results come back as tool_output."
    ),
    calls=_fenced_calls,
    results=_fenced_results,
)


def build(traits: ModelTraits) -> GenericDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return replace(build_family(traits, SYNTAX, name="gemma3", dialect=GenericDialect), words=FENCES)
