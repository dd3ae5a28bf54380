"""Kimi-K2, whose calls have ids that hold the tool's name.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>
    <|tool_calls_section_end|>

(one line in truth).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import Final

from dragoman.core.request import Conversation, Message, ToolSpec
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written, arguments_value
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.lark import Lark
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_ID: Final = re.compile(r"\s*(?:functions\.)?(?P<name>.*?)(?::\d+)?\s*", re.DOTALL)


def named(call_id: str) -> str:
    """The tool's name in an id: ``functions.get_weather:0`` calls ``get_weather``."""
    match = _ID.fullmatch(call_id)
    assert match is not None
    return match["name"]


_NEXT: Final[dict[Terminal, Edge]] = {
    "<|tool_call_begin|>": Edge("id"),
    "<|tool_call_end|>": Edge("section"),
    "<|tool_calls_section_end|>": Edge("opening"),
}

_TABLE: Final = Table(
    {
        **prose({"<|tool_calls_section_begin|>": Edge("section", tentative=True)}),
        "section": State(holds=Holds.SPACE, edges=_NEXT),
        "id": State(holds=Holds.NAME, read=named, edges={"<|tool_call_argument_begin|>": Edge("body")}),
        "body": State(holds=Holds.BODY, body=lambda _: JsonArguments(), then=Edge("section", ends=True), edges=_NEXT),
    }
)


@dataclass(frozen=True, slots=True)
class IdForm:
    """A call's id, in which the model counts, and its arguments as JSON."""

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """One rule."""
        call_id = f"{lark.text(f'<|tool_call_begin|>functions.{tool.name}:')} /[0-9]{{1,4}}/"
        arguments = f"{lark.text('<|tool_call_argument_begin|>')} {arguments_value(tool, lark)}"
        return f"{name}: {call_id} {arguments} {lark.text('<|tool_call_end|>')}\n"


def renamed(conversation: Conversation) -> Conversation:
    """Past calls have ids as the model writes them, counted through the conversation, or it would imitate those of strangers."""
    ids: dict[str, str] = {}
    count = itertools.count()
    messages: list[Message] = []
    for message in conversation.messages:
        for call in message.tool_calls:
            ids[call.id] = f"functions.{call.name}:{next(count)}"
        calls = tuple(replace(call, id=ids[call.id]) for call in message.tool_calls)
        answered = message.tool_call_id
        messages.append(
            replace(message, tool_calls=calls, tool_call_id=None if answered is None else ids.get(answered, answered))
        )
    return replace(conversation, messages=tuple(messages))


SYNTAX: Final = Syntax(
    table=_TABLE,
    asking=renamed,
    written=Written(opener="<|tool_calls_section_begin|>", call=IdForm(), after="<|tool_calls_section_end|>"),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="kimi_k2")
