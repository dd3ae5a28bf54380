"""Inkling, which says before each message what it is.

    <|content_thinking|>They ask about rain.<|end_message|><|message_model|><|content_text|>Yes.<|end_message|>

Efforts are numbers, which its template makes of words. Tools are refused by name (S120, S163).
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.table import Control, Edge, Holds, State, Table, Terminal

_KINDS: Final[dict[Terminal, Edge]] = {
    Control("<|content_text|>"): Edge("text"),
    Control("<|content_thinking|>"): Edge("reasoning"),
    Control("<|content_invoke_tool_json|>"): Edge("call"),
}

TABLE: Final = Table(
    {
        "text": State(holds=Holds.TEXT, edges={**_KINDS, Control("<|end_message|>"): Edge("text")}),
        "reasoning": State(holds=Holds.REASONING, edges={**_KINDS, Control("<|end_message|>"): Edge("text")}),
        # No tool was declared, so this calls none.
        "call": State(holds=Holds.SYNTAX, edges={**_KINDS, Control("<|end_message|>"): Edge("text")}),
    }
)
