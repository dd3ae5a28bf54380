"""Llama 4, and Llama 3.2 where its template asks for it: calls in Python.

    [get_weather(city="Paris", days=3), now()]

An answer may begin like this and be a list or a link, so only the names of declared tools are calls. Llama 4 may put the list between
``<|python_start|>`` and ``<|python_end|>``; Llama 3 may write ``<|python_tag|>`` before it, or before one call as its own tools have it:
``brave_search.call(query="rain")``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dragoman.core.grammar import literal
from dragoman.core.request import Conversation, OutputFormat, TextPrompt, ToolMode
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import ANYTHING, MAX_CALLS, Written, offered
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.notation import PYTHON, ArgumentsReader
from dragoman.dialects.notation_grammar import KEYWORDS, NotationForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Control, Edge, Holds, State, Table, Terminal


def _tool(text: str) -> str:
    return text.strip().removesuffix(".call")


_OPENERS: Final[dict[Terminal, Edge]] = {
    "[": Edge("name", tentative=True),
    Control("<|python_tag|>"): Edge("tagged", tentative=True),
}

SYNTAX: Final = Syntax(
    table=Table(
        {
            **prose(_OPENERS, think=None),
            "tagged": State(holds=Holds.SPACE, edges={"[": Edge("name")}, otherwise="name"),
            "name": State(holds=Holds.NAME, edges={"(": Edge("arguments")}, read=_tool),
            "arguments": State(
                holds=Holds.BODY, body=lambda _: ArgumentsReader(PYTHON), then=Edge("called", ends=True)
            ),
            "called": State(holds=Holds.SPACE, edges={",": Edge("name"), "]": Edge("opening")}, otherwise="text"),
        }
    ),
    think=None,
    declared_only=True,
    written=Written(opener="[", call=NotationForm(writing=KEYWORDS), between=", ", after="]", leads=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonicDialect(FamilyDialect):
    """Leaves text its brackets: where calls are the model's choice, only a tool's name behind one begins a list of calls."""

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """As for others, but for the beginning of calls in text."""
        choice, tools = conversation.tool_choice, offered(conversation.tools, conversation.tool_choice)
        if not tools or output is not None or choice.mode is ToolMode.REQUIRED:
            return FamilyDialect.grammar(self, conversation, prompt, output)
        called = replace(KEYWORDS, opener="", whole=("**", ")"))
        firsts: list[str] = []
        rules: list[str] = []
        for place, tool in enumerate(tools):
            name = f"first_{place}"
            rules += [
                f"lead_{place}[lazy]: FREE {literal(f'[{tool.name}(')}\n",
                NotationForm(writing=called, named=False).rules(tool, name, self.lark),
                f"call_{place}: {literal(f'{tool.name}(')} {name}\n",
            ]
            firsts.append(f"lead_{place} {name}")
        calls = " | ".join(f"call_{place}" for place in range(len(tools)))
        more = f' (", " ({calls})){{0,{MAX_CALLS - 1}}}' if choice.parallel else ""
        start = f'start: free | ({" | ".join(firsts)}){more} "]"\nfree: FREE\nFREE: {ANYTHING}\n'
        return start + "".join(rules)


def build_llama3(traits: ModelTraits) -> PythonicDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="llama3_pythonic", dialect=PythonicDialect)


def build_llama4(traits: ModelTraits) -> PythonicDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="llama4", dialect=PythonicDialect)
