"""Formats of an answer as rules of a grammar: Lark, as llguidance 1.9 reads it.

A rule can stand in a larger grammar, whose names it does not touch: what a client wrote itself is a grammar within. JSON is
written without white space, as no model then spends tokens on it, unless it must read as a chat template will write it.
"""

from __future__ import annotations

import json
from typing import Final, assert_never

from dragoman.core.gbnf import lark_of_gbnf
from dragoman.core.json import Json, JsonObject
from dragoman.core.json_schema import enforceable
from dragoman.core.request import ChoiceFormat, GrammarFormat, JsonFormat, OutputFormat, RegexFormat

_JSON_OPTIONS: Final[JsonObject] = {
    "whitespace_flexible": False,
    "coerce_one_of": True,  # enforceable() has proven that the branches exclude each other, or was told to let it be
}


def grammar_of(output: OutputFormat) -> str:
    """A whole grammar for an answer that is the format and nothing else. Raises as ``rule_of`` does."""
    return rule_of(output, "start")


def rule_of(output: OutputFormat, name: str = "output") -> str:
    """One rule of that name. Raises ``SchemaFault``, ``GbnfFault`` or ``ValueError`` for what surfaces have refused."""
    match output:
        case JsonFormat(schema=schema):
            return f"{name}: {json_value({'type': 'object'} if schema is None else schema)}\n"
        case RegexFormat(pattern=pattern):
            return f"{name}: {_expression(pattern)}\n"
        case ChoiceFormat(options=options):
            return f"{name}: {' | '.join(literal(option) for option in options)}\n"
        case GrammarFormat(source=source, syntax=syntax):
            lark = source if syntax == "lark" else lark_of_gbnf(source)
            return f"{name}: %lark {{\n{lark}\n}}\n"
        case _:
            assert_never(output)


def json_value(schema: Json, *, lenient: bool = False, spaced: bool = False) -> str:
    """An expression: a JSON value that the schema allows. Raises ``SchemaFault``; see ``enforceable`` for ``lenient``.

    ``spaced``: with a space behind each comma and colon, as Python and Transformers write it.
    """
    space = " " if spaced else ""
    options: JsonObject = {**_JSON_OPTIONS, "item_separator": f",{space}", "key_separator": f":{space}"}
    enforced = enforceable(schema, lenient=lenient)
    return f"%json {json.dumps({'x-guidance': options, **enforced}, separators=(',', ':'))}"


def literal(text: str) -> str:
    """An expression: exactly this text."""
    return json.dumps(text)


def _expression(pattern: str) -> str:
    """A regular expression between slashes. Raises ``ValueError`` where it ends in the middle of an escape."""
    if not pattern:
        return '""'  # two slashes would be a comment
    written: list[str] = []
    characters = iter(pattern)
    for character in characters:
        match character:
            case "\\":
                escaped = next(characters, None)
                if escaped is None:
                    raise ValueError("an expression ends in a backslash")
                written.append(r"\n" if escaped == "\n" else character + escaped)
            case "/":
                written.append(r"\/")
            case "\n":
                written.append(r"\n")
            case _:
                written.append(character)
    return f"/{''.join(written)}/"
