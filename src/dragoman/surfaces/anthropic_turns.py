"""Reads ``messages`` and ``system`` of the Messages surface, each turn by itself; ``anthropic_conversation`` says what they mean together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dragoman.core.json import Json
from dragoman.core.request import Role
from dragoman.surfaces.anthropic_block_readers import OF_ASSISTANTS, OF_SYSTEMS, OF_USERS, TEXT_FIELDS, text_block
from dragoman.surfaces.anthropic_content import Block, content, tagged
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record
from dragoman.surfaces.readers import OBJECT, PROMPT_TEXT, Place, Reader, array, word


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message as it was sent.

    ``fleeting``: it belongs to the user's turn before it, and is not shown any more once there is another (``clear_at``).
    """

    role: Role
    blocks: tuple[Block, ...] = ()
    fleeting: bool = False
    place: Place = field(compare=False, repr=False)


def _turn(value: Json, at: Place) -> Turn:
    place = at.child(ROLE.name)
    role = OBJECT.read(value, at).get(ROLE.name)
    if role is None:
        raise place.missing()
    form = Form(value, TURN_FIELDS[Role(ROLE.reader.read(role, place))], at)
    match form.require(ROLE):
        case Role.USER:
            return Turn(role=Role.USER, blocks=form.require(USER_CONTENT), place=at)
        case Role.ASSISTANT:
            return Turn(role=Role.ASSISTANT, blocks=form.require(ASSISTANT_CONTENT), place=at)
        case _:
            fleeting = form.read(CLEAR_AT, "never") == "next_user_message"
            return Turn(role=Role.SYSTEM, blocks=form.read(SYSTEM_CONTENT, ()), fleeting=fleeting, place=at)


def _system(value: Json, at: Place) -> tuple[str, ...]:
    return (PROMPT_TEXT.read(value, at),) if isinstance(value, str) else _SYSTEM_BLOCKS.read(value, at)


ROLE: Final = honoured("role", word(Role.USER, Role.ASSISTANT, Role.SYSTEM), "Who speaks.", required=True)
USER_CONTENT: Final = honoured(
    "content", content(OF_USERS, at_least=1), "What was said, shown, or answered.", required=True
)
ASSISTANT_CONTENT: Final = honoured(
    "content", content(OF_ASSISTANTS), "What was thought, said and called.", required=True
)
SYSTEM_CONTENT: Final = honoured("content", content(OF_SYSTEMS), "Instructions, read where they stand.")
CLEAR_AT: Final = honoured(
    "clear_at",
    word("next_user_message", "never"),
    "Default `never`. `next_user_message`: it is not shown any more once a later user message is there.",
)
TURN_FIELDS: Final[Mapping[Role, Table]] = MappingProxyType(
    {
        Role.USER: Table(ROLE, USER_CONTENT),
        Role.ASSISTANT: Table(ROLE, ASSISTANT_CONTENT),
        Role.SYSTEM: Table(
            ROLE,
            SYSTEM_CONTENT,
            CLEAR_AT,
            ignored("output_config", "An effort holds for a request: send it beside `messages`."),
        ),
    }
)
_TURNS: Final = array(
    Reader(
        OBJECT.wants, _turn, {"anyOf": [tagged(table.schema, ROLE.name, role) for role, table in TURN_FIELDS.items()]}
    ),
    at_least=1,
    of="messages",
)
_SYSTEM_BLOCKS: Final = array(record(TEXT_FIELDS, lambda form: text_block(form).text), of="text blocks")

MESSAGES: Final = honoured(
    "messages",
    _TURNS,
    "The conversation. A last one of the assistant is the beginning of the answer, which goes on from its last character (S64).",
    required=True,
)
SYSTEM: Final = honoured(
    "system",
    Reader("a string, or an array of text blocks", _system, {"anyOf": [{"type": "string"}, _SYSTEM_BLOCKS.schema]}),
    "Instructions, in front of everything.",
)
