"""How much a model thinks before it answers, who sees it, and what the answer looks like: ``thinking``, ``output_config`` and their kin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dragoman.core.json import Json
from dragoman.core.limits import MAX_TOKENS
from dragoman.core.request import JsonFormat, OutputFormat, Thinking
from dragoman.surfaces.anthropic_call import ThinkingDisplay
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record
from dragoman.surfaces.openai_format_readers import GRAMMAR, JSON_SCHEMA, REGEX
from dragoman.surfaces.readers import OBJECT, Place, Reader, array, integer, word


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingConfig:
    """``enabled`` is None where the model decides."""

    enabled: bool | None = None
    budget: int | None = None
    display: ThinkingDisplay = "summarized"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    """How hard to try, and what must come of it."""

    effort: str | None = None
    format: OutputFormat | None = None


def thinking(form: Form) -> Thinking:
    """What a body says about reasoning (S61 to S63, S68). Raises ``InvalidRequest`` naming the field."""
    config = form.read(THINKING, ThinkingConfig())
    return Thinking(
        enabled=config.enabled,
        effort=form.read(OUTPUT_CONFIG, OutputConfig()).effort,
        preserve=form.read(CONTEXT_MANAGEMENT, None),
        budget=config.budget,
    )


def display(form: Form) -> ThinkingDisplay:
    """How the client wants to see it. Raises ``InvalidRequest`` naming the field."""
    return form.read(THINKING, ThinkingConfig()).display


def output_format(form: Form) -> OutputFormat | None:
    """What the answer must look like. Raises ``InvalidRequest`` naming both fields where there are two."""
    newer, older = form.read(OUTPUT_CONFIG, OutputConfig()).format, form.read(OUTPUT_FORMAT, None)
    if newer is not None and older is not None:
        at = form.place(OUTPUT_FORMAT)
        raise at.wrong(
            f"{OUTPUT_CONFIG.name}.{FORMAT.name} and {at.path} both say what the answer must look like; send one of them"
        )
    return newer or older


def output_spelling(form: Form) -> str:
    """The field in which this body says what the answer must look like."""
    return OUTPUT_FORMAT.name if form.has(OUTPUT_FORMAT) else f"{OUTPUT_CONFIG.name}.{FORMAT.name}"


def _thinking(form: Form) -> ThinkingConfig:
    kind, shown = form.require(THINKING_TYPE), form.read(DISPLAY, "summarized")
    budget = form.read(BUDGET_TOKENS, None)
    if kind != "enabled":
        form.ignore(BUDGET_TOKENS)
    if shown == "updates":
        form.ignore(DISPLAY)
    return ThinkingConfig(
        enabled=None if kind == "adaptive" else kind != "disabled",
        budget=budget if kind == "enabled" else None,
        display="omitted" if shown == "omitted" else "summarized",
    )


def _output_config(form: Form) -> OutputConfig:
    return OutputConfig(effort=form.read(EFFORT, None), format=form.read(FORMAT, None))


def _format(form: Form) -> OutputFormat | None:
    match form.read(FORMAT_TYPE, "text"):
        case "json_schema":
            return form.require(SCHEMA)
        case "json_object":
            return JsonFormat()
        case "regex":
            return form.require(EXPRESSION)
        case "grammar":
            return form.require(GRAMMAR_TEXT)
        case _:
            return None


def _edit(value: Json, at: Place) -> bool | None:
    """Whether all thoughts of earlier turns are kept; all other edits are listed, and leave the conversation as it was sent."""
    edit = OBJECT.read(value, at)
    kind, keep = edit.get("type"), edit.get("keep")
    if isinstance(keep, Mapping):
        keep = keep.get("type")
    if isinstance(kind, str) and kind.startswith("clear_thinking_") and keep == "all":
        return True
    at.child(kind if isinstance(kind, str) else "type").ignore()
    return None


def _context_management(form: Form) -> bool | None:
    return True if any(form.read(EDITS, ())) else None


THINKING_TYPE: Final = honoured(
    "type",
    word("enabled", "disabled", "adaptive", "between_tools"),
    "`adaptive` leaves it to the model, and to `output_config.effort`; `between_tools` is as `enabled`.",
    required=True,
)
BUDGET_TOKENS: Final = honoured(
    "budget_tokens",
    integer(0, MAX_TOKENS),
    "Of `enabled`: at most so many tokens of thinking, where one token can end it at any place.",
)
DISPLAY: Final = honoured(
    "display",
    word("summarized", "omitted", "updates"),
    "Default `summarized`: thoughts are shown whole. `omitted`: a signature alone holds them. `updates` is as `summarized`.",
)
THINKING_FIELDS: Final = Table(
    THINKING_TYPE, BUDGET_TOKENS, DISPLAY, ignored("block_binding", "Thoughts are bound to nothing.")
)
THINKING: Final = honoured(
    "thinking",
    record(THINKING_FIELDS, _thinking),
    "Whether the model thinks before it answers, where its template lets one choose (S61, S68).",
)

EFFORT: Final = honoured(
    "effort",
    word("low", "medium", "high", "xhigh", "max"),
    "How much the model thinks. It turns thinking on, too, where `thinking` does not say (S62).",
)
FORMAT_TYPE: Final = honoured(
    "type",
    word("json_schema", "json_object", "regex", "grammar", "text"),
    "Default `text`, which is anything. All but `json_schema` are ours, as in Chat Completions.",
)
SCHEMA: Final = honoured(
    "schema", JSON_SCHEMA, "Of `json_schema`: enforced token by token, or refused by name (S58 to S60)."
)
EXPRESSION: Final = honoured("regex", REGEX, "Of `regex`: the whole answer matches.")
GRAMMAR_TEXT: Final = honoured("grammar", GRAMMAR, "Of `grammar`: GBNF, or Lark as llguidance reads it.")
FORMAT_FIELDS: Final = Table(FORMAT_TYPE, SCHEMA, EXPRESSION, GRAMMAR_TEXT)
FORMAT: Final = honoured("format", record(FORMAT_FIELDS, _format), "What the answer looks like.")
OUTPUT_CONFIG_FIELDS: Final = Table(EFFORT, FORMAT, ignored("task_budget", "Send `max_tokens`."))
OUTPUT_CONFIG: Final = honoured(
    "output_config",
    record(OUTPUT_CONFIG_FIELDS, _output_config),
    "How hard to try, and what the answer looks like.",
)
OUTPUT_FORMAT: Final = honoured("output_format", FORMAT.reader, "The older name of `output_config.format`.")

EDITS: Final = honoured(
    "edits",
    array(Reader(OBJECT.wants, _edit, OBJECT.schema), of="edits"),
    "`clear_thinking_…` with `keep: all` keeps the thoughts of earlier turns (S63). All others are listed.",
)
CONTEXT_MANAGEMENT: Final = honoured(
    "context_management", record(Table(EDITS), _context_management), "What of the conversation the model is to see."
)

THINKING_ROWS: Final = Table(THINKING, OUTPUT_CONFIG, OUTPUT_FORMAT, CONTEXT_MANAGEMENT)
"""The rows that ``thinking``, ``display`` and ``output_format`` read."""
