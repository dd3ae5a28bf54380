"""Readers of what an answer must look like: each gives a format that has been checked as far as it can be without an engine.

Whatever one of them lets through is enforced; what can not be is refused here, by the path of the keyword that asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, TypeVar

from dragoman.core.errors import InvalidRequest
from dragoman.core.gbnf import GbnfFault
from dragoman.core.grammar import rule_of
from dragoman.core.json import Json
from dragoman.core.json_schema import PatternFault, SchemaFault, rust_pattern
from dragoman.core.limits import MAX_FORMAT_CHOICES, MAX_GRAMMAR_BYTES
from dragoman.core.request import ChoiceFormat, GrammarFormat, JsonFormat, RegexFormat
from dragoman.surfaces.readers import PROMPT_TEXT, Place, Reader, array, text

F = TypeVar("F", JsonFormat, RegexFormat, ChoiceFormat, GrammarFormat)

_SOURCE: Final = text(1, MAX_GRAMMAR_BYTES)
_CHOICES: Final = array(PROMPT_TEXT, at_least=1, at_most=MAX_FORMAT_CHOICES, of="strings")


def fault_at(place: Place, fault: SchemaFault) -> InvalidRequest:
    """The error for a schema that stands at ``place``."""
    inner = place.inside(*fault.path)
    message = f"{inner.path} {fault.message}"
    return inner.wrong(message) if fault.malformed else inner.unsupported(message)


def _schema(value: Json, at: Place) -> JsonFormat:
    if not isinstance(value, bool | Mapping):
        raise at.invalid("a JSON Schema", value)
    return _checked(JsonFormat(schema=value), at)


def _schema_text(value: Json, at: Place) -> JsonFormat:
    if not isinstance(value, str):
        return _schema(value, at)
    try:
        return _schema(json.loads(value), at)
    except (ValueError, RecursionError):
        raise at.wrong(f"{at.path} is a string that holds no JSON") from None


def _regex(value: Json, at: Place) -> RegexFormat:
    pattern = _SOURCE.read(value, at)
    try:
        rust_pattern(pattern)
    except PatternFault as fault:
        raise at.unsupported(f"{at.path} is not an expression that can be enforced: {fault}") from None
    return _checked(RegexFormat(pattern=pattern), at)


def _choice(value: Json, at: Place) -> ChoiceFormat:
    return _checked(ChoiceFormat(options=_CHOICES.read(value, at)), at)


def _grammar(value: Json, at: Place) -> GrammarFormat:
    source = _SOURCE.read(value, at)
    # Lark defines with a colon alone, and says so in a header where its texts hold GBNF's sign.
    is_lark = source.lstrip().startswith("%llguidance") or "::=" not in source
    return _checked(GrammarFormat(source=source, syntax="lark" if is_lark else "gbnf"), at)


def _checked(output: F, at: Place) -> F:
    try:
        rule = rule_of(output)
    except SchemaFault as fault:
        raise fault_at(at, fault) from None
    except GbnfFault as fault:
        raise at.wrong(f"{at.path} is no grammar: {fault}") from None
    if len(rule.encode()) > MAX_GRAMMAR_BYTES:
        raise at.wrong(f"{at.path} makes a grammar of more than {MAX_GRAMMAR_BYTES} bytes")
    return output


JSON_SCHEMA: Final = Reader("a JSON Schema", _schema, {"type": ["object", "boolean"]})
JSON_SCHEMA_OR_TEXT: Final = Reader(
    "a JSON Schema, or one as a string", _schema_text, {"type": ["object", "boolean", "string"]}
)
REGEX: Final = Reader("a regular expression", _regex, _SOURCE.schema)
CHOICE: Final = Reader(_CHOICES.wants, _choice, _CHOICES.schema)
GRAMMAR: Final = Reader("a grammar", _grammar, _SOURCE.schema)
