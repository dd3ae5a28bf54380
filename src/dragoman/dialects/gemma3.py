"""Gemma 3, which knows no tokens for tools: calls are Python in a fence, as Google's examples have them.

    ```tool_code
    get_weather(city="Paris", days=3)
    ```

Its template says nothing of tools and takes only two roles, so declarations, past calls and results are written here. Any other fence
is text.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.notation import PYTHON, ArgumentsReader
from dragoman.dialects.notation_grammar import KEYWORDS, NotationForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table

SYNTAX: Final = Syntax(
    table=Table(
        {
            **prose({"```tool_code": Edge("fence", tentative=True)}, think=None),
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
    written=Written(opener="```tool_code\n", call=NotationForm(writing=KEYWORDS), between="\n", after="\n```"),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="gemma3")
