"""What an answer must look like, in all the spellings that clients know: OpenAI's ``response_format``, and those of its servers.

They mean one thing, so a request has one of them. Sources: OpenAI's API description; vLLM's ``StructuredOutputsParams`` and the
``guided_*`` fields before it; SGLang's ``regex`` and ``ebnf``; llama-server's ``grammar`` and ``json_schema``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dragoman.core.json import Json
from dragoman.core.request import JsonFormat, OutputFormat
from dragoman.surfaces.fields import Field, Form, Table, honoured, ignored, record, refused
from dragoman.surfaces.openai_format_readers import CHOICE, GRAMMAR, JSON_SCHEMA, JSON_SCHEMA_OR_TEXT, REGEX
from dragoman.surfaces.readers import BOOLEAN, TEXT, Place, Reader

_KINDS: Final = ("text", "json_object", "json_schema", "regex", "grammar")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The format that was asked for, if any, and the field behind those features that an error of it may name."""

    output: OutputFormat | None = None
    spelling: Mapping[str, str] = field(default_factory=dict)


def output_format(form: Form) -> Format:
    """Read them all. Raises ``InvalidRequest`` naming both where there are two."""
    asked = [(spelled, output) for spelled in _FIELDS if (output := form.read(spelled, None)) is not None]
    if len(asked) > 1:
        first, second = form.place(asked[0][0]), form.place(asked[1][0])
        raise second.wrong(f"{first.path} and {second.path} both say what the answer must look like; send one of them")
    for spelled, output in asked:
        return Format(output=output, spelling={"output": spelled.name, "grammar": spelled.name})
    return Format(spelling={"output": RESPONSE_FORMAT.name})


def _kind(value: Json, at: Place) -> str:
    kind = TEXT.read(value, at)
    if kind == "structural_tag":
        raise at.unsupported(f'{at.path} "{kind}" is not supported: send `tools`, or a grammar')
    if kind not in _KINDS:
        raise at.wrong(f"{at.path} must be one of {', '.join(_KINDS)}")
    return kind


def _response_format(form: Form) -> OutputFormat | None:
    match form.read(FORMAT_TYPE, "text"):
        case "json_object":
            return form.read(FORMAT_SCHEMA, JsonFormat())
        case "json_schema":
            return form.read(FORMAT_SCHEMA, None) or form.require(FORMAT_JSON_SCHEMA)
        case "regex":
            return form.require(FORMAT_REGEX)
        case "grammar":
            return form.require(FORMAT_GRAMMAR)
        case _:
            return None


def _json_schema(form: Form) -> JsonFormat:
    form.read(SCHEMA_STRICT, False)
    form.read(SCHEMA_NAME, "")
    form.read(SCHEMA_DESCRIPTION, "")
    return form.require(SCHEMA)


def _structured_outputs(form: Form) -> OutputFormat | None:
    asked: list[tuple[Field[object], OutputFormat]] = [
        (spelled, output) for spelled in _STRUCTURED if (output := form.read(spelled, None)) is not None
    ]
    if form.read(OBJECT_ALONE, False):
        asked.append((OBJECT_ALONE, JsonFormat()))
    if len(asked) > 1:
        first, second = form.place(asked[0][0]), form.place(asked[1][0])
        raise second.wrong(f"{first.path} and {second.path} both say what the answer must look like; send one of them")
    return asked[0][1] if asked else None


def _perhaps(reader: Reader[OutputFormat], *empty: Json) -> Reader[OutputFormat | None]:
    """A reader to which these values ask for nothing."""

    def read(value: Json, at: Place) -> OutputFormat | None:
        return None if value in empty else reader.read(value, at)

    return Reader(reader.wants, read, {"anyOf": [reader.schema, {"enum": list(empty)}]})


SCHEMA_NAME: Final = honoured("name", TEXT, "The client's own label of it.")
SCHEMA_DESCRIPTION: Final = honoured("description", TEXT, "Another one; the model does not see it.")
SCHEMA: Final = honoured("schema", JSON_SCHEMA, "See below for what can be enforced.", required=True)
SCHEMA_STRICT: Final = honoured("strict", BOOLEAN, "Whatever it says, the schema is enforced whole, or refused.")
JSON_SCHEMA_FIELDS: Final = Table(SCHEMA_NAME, SCHEMA, SCHEMA_STRICT, SCHEMA_DESCRIPTION)

FORMAT_TYPE: Final = honoured(
    "type",
    Reader("a kind of format", _kind, {"enum": list(_KINDS)}),
    f"One of {', '.join(f'`{kind}`' for kind in _KINDS)}; default `text`.",
)
FORMAT_JSON_SCHEMA: Final = honoured("json_schema", record(JSON_SCHEMA_FIELDS, _json_schema), "Of `json_schema`.")
FORMAT_SCHEMA: Final = honoured("schema", JSON_SCHEMA, "Of `json_object` and `json_schema`, as other servers take it.")
FORMAT_REGEX: Final = honoured("regex", REGEX, "Of `regex`: the whole answer matches.")
FORMAT_GRAMMAR: Final = honoured("grammar", GRAMMAR, "Of `grammar`: GBNF, or Lark as llguidance reads it.")
RESPONSE_FORMAT_FIELDS: Final = Table(FORMAT_TYPE, FORMAT_JSON_SCHEMA, FORMAT_SCHEMA, FORMAT_REGEX, FORMAT_GRAMMAR)

STRUCTURED_JSON: Final = honoured("json", JSON_SCHEMA_OR_TEXT, "A JSON Schema.")
OBJECT_ALONE: Final = honoured("json_object", BOOLEAN, "True for any JSON object.")
_STRUCTURED: Final[tuple[Field[OutputFormat], ...]] = (
    STRUCTURED_JSON,
    honoured("regex", REGEX, "The whole answer matches."),
    honoured("choice", CHOICE, "The answer is one of these strings."),
    honoured("grammar", GRAMMAR, "GBNF, or Lark as llguidance reads it."),
)
_COMPACT: Final = "JSON is written without white space."
STRUCTURED_OUTPUTS_FIELDS: Final = Table(
    *_STRUCTURED,
    OBJECT_ALONE,
    ignored("disable_any_whitespace", _COMPACT, BOOLEAN),
    ignored("whitespace_pattern", _COMPACT, TEXT),
    ignored("disable_fallback", "There is one engine of grammars.", BOOLEAN),
    refused("disable_additional_properties", "say `additionalProperties` in the schema", False),
    refused("structural_tag", "send `tools`, or a grammar"),
)

RESPONSE_FORMAT: Final = honoured(
    "response_format",
    record(RESPONSE_FORMAT_FIELDS, _response_format),
    "What the answer looks like, enforced token by token; see below (S58 to S60).",
)
STRUCTURED_OUTPUTS: Final = honoured(
    "structured_outputs",
    record(STRUCTURED_OUTPUTS_FIELDS, _structured_outputs),
    "The same in vLLM's spelling; see below.",
)
_FIELDS: Final[tuple[Field[OutputFormat | None], ...]] = (
    RESPONSE_FORMAT,
    STRUCTURED_OUTPUTS,
    honoured("guided_json", JSON_SCHEMA_OR_TEXT, "As `structured_outputs.json`."),
    honoured("guided_regex", REGEX, "As `structured_outputs.regex`."),
    honoured("guided_choice", CHOICE, "As `structured_outputs.choice`."),
    honoured("guided_grammar", GRAMMAR, "As `structured_outputs.grammar`."),
    honoured("json_schema", JSON_SCHEMA_OR_TEXT, "A JSON Schema, in llama-server's spelling and SGLang's."),
    honoured("grammar", _perhaps(GRAMMAR, ""), "GBNF, or Lark as llguidance reads it, in llama-server's spelling."),
    honoured("regex", REGEX, "The whole answer matches, in SGLang's spelling."),
    honoured("ebnf", GRAMMAR, "As `grammar`, in SGLang's spelling."),
)

FORMATS: Final = Table(
    *_FIELDS,
    ignored("guided_decoding_backend", "There is one engine of grammars.", TEXT),
    ignored("guided_whitespace_pattern", _COMPACT, TEXT),
    ignored("grammar_lazy", "A grammar holds from the first token, or from the end of the reasoning.", BOOLEAN),
    refused("grammar_triggers", "a grammar holds from the first token, or from the end of the reasoning", []),
)
"""The rows that ``output_format`` reads, and their relatives that steer engines of other servers."""
