"""Inkling, which says before each message what it is.

    <|content_thinking|>They ask about rain.<|end_message|><|message_model|><|content_text|>Yes.<|end_message|>

Efforts are numbers, which its template makes of words. Tools are refused by name (S120, S163).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dragoman.core.grammar import rule_of
from dragoman.core.request import Conversation, OutputFormat, TextPrompt
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import ANYTHING
from dragoman.dialects.family import build_family
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Control, Edge, Holds, State, Table, Terminal
from dragoman.dialects.toolless import ToollessDialect

_EDGES: Final[dict[Terminal, Edge]] = {
    Control("<|content_text|>"): Edge("text"),
    Control("<|content_thinking|>"): Edge("reasoning"),
    Control("<|content_invoke_tool_json|>"): Edge("call"),
    Control("<|end_message|>"): Edge("text"),
}

TABLE: Final = Table(
    {
        "start": State(holds=Holds.TEXT, edges=_EDGES),
        "text": State(holds=Holds.TEXT, edges=_EDGES),
        "reasoning": State(holds=Holds.REASONING, edges=_EDGES),
        # No tool was declared, so this calls none.
        "call": State(holds=Holds.SYNTAX, edges=_EDGES),
    }
)
SYNTAX: Final = Syntax(table=TABLE, silent=TABLE, think=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class InklingDialect(ToollessDialect):
    """Frames what is constrained as the model frames its answers."""

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """The format within a message, after thoughts in another."""
        if output is None:
            return None
        text = self.lark.text
        opened = text("<|content_text|>") if self.syntax.start(conversation, prompt) == "start" else ""
        return (
            f"start: thought* {opened} output {text('<|end_message|>')}\n"
            f"thought: {text('<|content_thinking|>')} {ANYTHING} {text('<|end_message|><|message_model|>')}\n"
            f"{rule_of(output, 'output')}"
        )


def build(traits: ModelTraits) -> InklingDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="inkling", dialect=InklingDialect)
