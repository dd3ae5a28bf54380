"""What the answer must look like on the Responses surface: ``text``, whose ``format`` is the ``response_format`` of elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import JsonFormat, OutputFormat
from dragoman.surfaces.fields import Disposition, Field, Form, Table, honoured, record
from dragoman.surfaces.openai_format_readers import GRAMMAR, JSON_SCHEMA, REGEX
from dragoman.surfaces.openai_formats import SCHEMA_DESCRIPTION, SCHEMA_STRICT
from dragoman.surfaces.readers import TEXT, word

_ANY: Final[JsonObject] = {"type": "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format, and how the response object repeats it: ours as text, since clients that check it know no others."""

    output: OutputFormat | None = None
    echo: JsonObject = field(default_factory=lambda: _ANY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWish:
    """What ``text`` says."""

    format: Format = Format()
    verbosity: str | None = None

    @property
    def echo(self) -> JsonObject:
        """The field as the response object repeats it."""
        return {"format": self.format.echo} | ({"verbosity": self.verbosity} if self.verbosity else {})


def _format(form: Form) -> Format:
    match form.read(FORMAT_TYPE, "text"):
        case "json_object":
            return Format(output=JsonFormat(), echo={"type": "json_object"})
        case "json_schema":
            return _json_schema(form)
        case "regex":
            return Format(output=form.require(FORMAT_REGEX))
        case "grammar":
            return Format(output=form.require(FORMAT_GRAMMAR))
        case _:
            return Format()


def _json_schema(form: Form) -> Format:
    output = form.require(FORMAT_SCHEMA)
    # OpenAI's type wants an object, and an empty one allows what true does.
    schema: Json = {} if output.schema is True else output.schema
    echo: JsonObject = {
        "type": "json_schema",
        "name": form.read(FORMAT_NAME, "output"),
        "description": form.read(SCHEMA_DESCRIPTION, None),
        "schema": schema,
        "strict": form.read(SCHEMA_STRICT, False),
    }
    return Format(output=output, echo=echo)


def _text(form: Form) -> TextWish:
    return TextWish(format=form.read(FORMAT, Format()), verbosity=form.read(VERBOSITY, None))


FORMAT_TYPE: Final = honoured(
    "type",
    word("text", "json_object", "json_schema", "regex", "grammar"),
    "Default `text`. `regex` and `grammar` are ours, and repeated as `text`, which every client knows.",
)
FORMAT_NAME: Final = honoured("name", TEXT, "The client's own label of a schema.")
FORMAT_SCHEMA: Final = honoured("schema", JSON_SCHEMA, "Of `json_schema`, where it is required.")
FORMAT_REGEX: Final = honoured("regex", REGEX, "Of `regex`: the whole answer matches.")
FORMAT_GRAMMAR: Final = honoured("grammar", GRAMMAR, "Of `grammar`: GBNF, or Lark as llguidance reads it.")
FORMAT_FIELDS: Final = Table(
    FORMAT_TYPE, FORMAT_NAME, FORMAT_SCHEMA, SCHEMA_STRICT, SCHEMA_DESCRIPTION, FORMAT_REGEX, FORMAT_GRAMMAR
)
FORMAT: Final = honoured("format", record(FORMAT_FIELDS, _format), "Enforced token by token; see below (S58 to S60).")
VERBOSITY: Final = Field(
    name="verbosity",
    disposition=Disposition.IGNORED,
    note="Tell the model in `instructions`.",
    reader=word("low", "medium", "high"),
)
TEXT_FIELDS: Final = Table(FORMAT, VERBOSITY)
TEXT_FIELD: Final = honoured("text", record(TEXT_FIELDS, _text), "`format` and `verbosity`; see below.")
