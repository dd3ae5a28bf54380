"""The functions that a model may call: OpenAI's ``tools``, and the ``functions`` that were before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.json_schema import SchemaFault, enforceable
from dragoman.core.limits import MAX_TOOL_NAME_CHARS, MAX_TOOLS
from dragoman.core.request import ToolSpec
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record, refused
from dragoman.surfaces.openai_format_readers import fault_at
from dragoman.surfaces.readers import BOOLEAN, OBJECT, PROMPT_TEXT, TEXT, Place, Reader, array, identifier


def _kind(value: Json, at: Place) -> str:
    kind = TEXT.read(value, at)
    if kind != "function":
        raise at.unsupported(f'{at.path} must be "function": no other tools are supported')
    return kind


def _parameters(value: Json, at: Place) -> JsonObject:
    schema = OBJECT.read(value, at)
    if schema.get("type", "object") != "object":
        raise at.child("type").wrong(f'{at.path}.type must be "object", as arguments have names')
    return schema


def _function(form: Form) -> ToolSpec:
    return ToolSpec(
        name=form.require(NAME),
        description=form.read(DESCRIPTION, ""),
        parameters=form.read(PARAMETERS, None),
        strict=form.read(STRICT, False),
    )


def _tool(form: Form) -> ToolSpec:
    form.read(TOOL_TYPE, None)
    return form.require(TOOL_FUNCTION)


def _each_named_once(item: Reader[ToolSpec], *steps: str) -> Reader[tuple[ToolSpec, ...]]:
    """An array of functions; ``steps`` lead from an item to its function."""
    some = array(item, at_most=MAX_TOOLS, of="functions")

    def read(value: Json, at: Place) -> tuple[ToolSpec, ...]:
        functions = some.read(value, at)
        seen: set[str] = set()
        for index, function in enumerate(functions):
            if function.name in seen:
                place = at.inside(index, *steps, NAME.name)
                raise place.wrong(f"{place.path}: {function.name} is the name of another function, too")
            seen.add(function.name)
        return functions

    return Reader(some.wants, read, some.schema)


def check_schemas(functions: Sequence[ToolSpec], at: Place, *steps: str) -> None:
    """Check all of them, as ``check_schema`` does; ``steps`` lead from an item of the array at ``at`` to its function."""
    for index, function in enumerate(functions):
        check_schema(function, at.inside(index, *steps, PARAMETERS.name))


def check_schema(function: ToolSpec, at: Place) -> None:
    """Raise ``InvalidRequest`` for parameters that are no schema, and ``Unsupported`` for strict ones that cannot be enforced whole.

    What others have beyond that is for the model alone, so that it costs no other function its schema. ``at`` is where they stand.
    """
    try:
        enforceable(function.parameters or {}, lenient=not function.strict)
    except SchemaFault as fault:
        if fault.malformed or function.strict:
            raise fault_at(at, fault) from None


TOOL_TYPE: Final = honoured(
    "type", Reader('"function"', _kind, {"const": "function"}), "The only kind, and the default."
)
NAME: Final = honoured("name", identifier(MAX_TOOL_NAME_CHARS), "No two are the same.", required=True)
DESCRIPTION: Final = honoured("description", PROMPT_TEXT, "What it is good for; the model reads it.")
PARAMETERS: Final = honoured(
    "parameters",
    Reader("a JSON Schema of an object", _parameters, {"type": "object", "properties": {"type": {"const": "object"}}}),
    "What its arguments are; without it there are none.",
)
STRICT: Final = honoured(
    "strict", BOOLEAN, "Default false; with true the whole schema is enforced, or refused by name."
)
FUNCTION_FIELDS: Final = Table(NAME, DESCRIPTION, PARAMETERS, STRICT)
_FUNCTION: Final = record(FUNCTION_FIELDS, _function)

TOOL_FUNCTION: Final = honoured("function", _FUNCTION, "The function, see below.", required=True)
TOOL_FIELDS: Final = Table(
    TOOL_TYPE,
    TOOL_FUNCTION,
    ignored("cache_control", "Prompts share their cached prefixes without a hint."),
    refused("custom", "tools are functions"),
)

TOOLS: Final = honoured(
    "tools",
    _each_named_once(record(TOOL_FIELDS, _tool), TOOL_FUNCTION.name),
    f"What the model may call, at most {MAX_TOOLS} (S119). A last assistant message is not continued beside them (S65).",
)
FUNCTIONS: Final = honoured(
    "functions",
    _each_named_once(_FUNCTION),
    "OpenAI's older form of `tools`: one call at most, told as `function_call`.",
)
