"""Write the tables of the pages about the API from the surfaces' own; with --check, fail when a page is not what it would write.

The prose of a page is written by hand; only what stands between a ``<!-- table: name -->`` and the next
``<!-- end -->`` is replaced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

import peer_facts
from dragoman.core.errors import Code, ServiceError
from dragoman.core.json import JsonObject
from dragoman.surfaces import (
    anthropic_block_readers,
    anthropic_errors,
    anthropic_fields,
    anthropic_thinking,
    anthropic_tools,
    anthropic_turns,
    openai_chat,
    openai_completions,
    openai_errors,
    openai_fields,
    openai_formats,
    openai_messages,
    openai_tools,
    responses_content,
    responses_conversations,
    responses_fields,
    responses_items,
    responses_reasoning,
    responses_text,
    responses_tools,
    tokens,
)
from dragoman.surfaces.anthropic_content import BlockReaders
from dragoman.surfaces.fields import Disposition, Field, Table
from dragoman.surfaces.openapi_shapes_messages import MESSAGE_EVENTS
from dragoman.surfaces.openapi_shapes_responses import RESPONSE_EVENTS

ROOT = Path(__file__).parent.parent
PAGES = ("api.md", "messages.md", "responses.md", "surfaces.md")
BLOCK = re.compile(r"(<!-- table: (?P<name>[\w .-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Write, or compare; the exit code says whether the pages are right."""
    wrong = [page for page in PAGES if not settle(ROOT / "docs" / page, only_check="--check" in sys.argv[1:])]
    if wrong:
        sys.stderr.write(f"out of date: {', '.join(wrong)}: run scripts/generate_docs.py\n")
    return 1 if wrong else 0


def settle(path: Path, *, only_check: bool) -> bool:
    """Whether a page is right, after it was written unless it is only looked at."""
    page = path.read_text(encoding="utf-8")
    wanted = render(page)
    if not only_check:
        path.write_text(wanted, encoding="utf-8")
    return only_check is False or page == wanted


def render(page: str) -> str:
    """The page with its tables as they should be. Raises ``KeyError`` for a table that does not exist."""
    return BLOCK.sub(lambda block: f"{block[1]}{TABLES[block['name']]()}{block[3]}", page)


def fields(table: Table, *, told: Table | None = None) -> Callable[[], str]:
    """Three short tables: what is honoured, accepted without effect, and refused. Rows that ``told`` has, too, are only named."""
    known = [row for row in table if told is not None and told.get(row.name) is row]
    own = [row for row in table if row not in known]

    def write() -> str:
        honoured = (f"| `{row.name}` | {row.reader.wants} | {row.note} |" for row in having(own, Disposition.HONOURED))
        ignored = (f"| `{row.name}` | {row.note} |" for row in having(own, Disposition.IGNORED))
        refused = (f"| `{row.name}` | {neutral(row)} | {row.note} |" for row in having(own, Disposition.REFUSED))
        return (
            lines("field", "value", "meaning", rows=honoured)
            + named("As in Chat Completions", having(known, Disposition.HONOURED))
            + lines("accepted without effect", "why", rows=ignored)
            + named("Without effect, as there", having(known, Disposition.IGNORED))
            + lines("refused by name", "except", "why", rows=refused)
            + named("Refused, as there", having(known, Disposition.REFUSED))
        )

    return write


def having(rows: Iterable[Field[object]], disposition: Disposition) -> list[Field[object]]:
    """The rows of one kind, in their order."""
    return [row for row in rows if row.disposition is disposition]


def named(how: str, rows: list[Field[object]]) -> str:
    """A line that names these fields, or nothing where there are none."""
    return f"{how}: {', '.join(f'`{row.name}`' for row in rows)}.\n\n" if rows else ""


def kinds(tables: Mapping[str, Table | None]) -> Callable[[], str]:
    """One table of several kinds of objects, each with its fields but for the one that says its kind. None is what has no effect at all."""

    def write() -> str:
        return lines("type", "field", "meaning", rows=(line for kind in tables.items() for line in _kind(*kind)))

    return write


def _kind(name: str, table: Table | None) -> Iterable[str]:
    if table is None:
        yield f"| {name} |  | No effect. |"
        return
    for index, row in enumerate(row for row in table if row.name not in ("type", "cache_control")):
        yield f"| {name if index == 0 else ''} | `{row.name}` | {_EFFECT[row.disposition]}{row.note} |"


_EFFECT: Mapping[Disposition, str] = {
    Disposition.HONOURED: "",
    Disposition.IGNORED: "No effect. ",
    Disposition.REFUSED: "Refused: ",
}


def blocks() -> Mapping[str, Table | None]:
    """The content blocks of Messages, with who may send each. Blocks that are read alike stand together."""
    tables = [table for name, table in vars(anthropic_block_readers).items() if name.endswith("_FIELDS")]
    found: dict[str, tuple[list[str], list[str], Table | None]] = {}
    for who, readers in _SPEAKERS.items():
        for kind, reader in readers.items():
            key = msgspec.json.encode(reader.schema).decode()
            table = next((table for table in tables if table.schema == reader.schema), None)
            names, speakers, _ = found.setdefault(key, ([], [], table))
            names += [f"`{kind}`"] if f"`{kind}`" not in names else []
            speakers += [who] if who not in speakers else []
    return {f"{', '.join(names)} ({', '.join(speakers)})": table for names, speakers, table in found.values()}


_SPEAKERS: Mapping[str, BlockReaders] = {
    "user": anthropic_block_readers.OF_USERS,
    "assistant": anthropic_block_readers.OF_ASSISTANTS,
    "system": anthropic_block_readers.OF_SYSTEMS,
    "result": anthropic_block_readers.OF_RESULTS,
}


def items() -> Mapping[str, Table | None]:
    """The items of Responses that are read field by field."""
    return {f"`{kind}`": table for kind, (table, _, _) in responses_items.KINDS.items()}


def events(shapes: Mapping[str, JsonObject]) -> Callable[[], str]:
    """The events of a stream, and what is in them beside their type."""

    def write() -> str:
        return lines("event", "its data", rows=(f"| `{kind}` | {_keys(shape)} |" for kind, shape in shapes.items()))

    return write


def _keys(shape: JsonObject) -> str:
    keys = shape["properties"]
    assert isinstance(keys, Mapping)
    return ", ".join(f"`{key}`" for key in keys)


def features() -> str:
    """Every feature beside what each surface has of it."""
    sys.path.append(str(ROOT / "tests"))
    from features import GROUPS, SURFACES, No, Yes

    def said(cell: Yes | No) -> str:
        if isinstance(cell, No):
            return f"no: {cell.reason}"
        return f"yes: {cell.note}" if cell.note else "yes"

    return "".join(
        f"### {group}\n\n"
        + lines(
            "",
            *SURFACES.values(),
            rows=(
                f"| {feature.behaviour} | {' | '.join(said(feature.on(surface)) for surface in SURFACES)} |"
                for feature in having_them.values()
            ),
        )
        for group, having_them in GROUPS.items()
    )


def neutral(row: Field[object]) -> str:
    """The values of a refused field that are let through."""
    return ", ".join(f"`{msgspec.json.encode(value).decode()}`" for value in row.neutral)


def errors() -> str:
    """Status and type by kind of failure in both envelopes, then the codes that differ from their kind."""
    by_kind = (
        f"| {spoken(kind)} | {status} | `{type_}` | {_elsewhere(anthropic_errors.BY_KIND[kind], status)} |"
        for kind, (status, type_) in openai_errors.BY_KIND.items()
    )
    by_code = (
        f"| `{code}` | {status} | `{type_}` | {_elsewhere(anthropic_errors.BY_CODE[code], status)} |"
        for code, (status, type_) in openai_errors.BY_CODE.items()
    )
    return lines("failure", "status", "type", "on Messages", rows=by_kind) + lines(
        "except code", "status", "type", "on Messages", rows=by_code
    )


def _elsewhere(answer: tuple[int, str], status: int) -> str:
    other, type_ = answer
    return f"`{type_}`" if other == status else f"{other} `{type_}`"


def spoken(kind: type[ServiceError]) -> str:
    """The first sentence of what the kind says of itself."""
    return (kind.__doc__ or kind.__name__).partition(".")[0].partition(";")[0].replace("``", "`")


def codes() -> str:
    """Every code, as programs see it."""
    return ", ".join(f"`{code}`" for code in Code) + ".\n"


OURS: Mapping[Disposition, str] = {
    Disposition.HONOURED: "yes",
    Disposition.IGNORED: "no, and says so",
    Disposition.REFUSED: "refuses",
}


def peers(tables: Mapping[str, Table]) -> Callable[[], str]:
    """Every field of these surfaces beside what other servers do with it."""

    def write() -> str:
        names = dict.fromkeys(row.name for table in tables.values() for row in table)
        rows = (
            f"| `{name}` | {ours(name, tables)} | {' | '.join(peer_facts.fact(peer, name) for peer in peer_facts.PEERS)} |"
            for name in names
        )
        return lines("field", "Dragoman", *peer_facts.PEERS, rows=rows)

    return write


def ours(name: str, tables: Mapping[str, Table]) -> str:
    """What we do with a field; by surface where they differ."""
    rows = {surface: row for surface, table in tables.items() if (row := table.get(name)) is not None}
    words = {surface: OURS[row.disposition] for surface, row in rows.items()}
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return "; ".join(f"{surface}: {word}" for surface, word in words.items())


def lines(*heads: str, rows: Iterable[str]) -> str:
    """A Markdown table with a blank line after it, or nothing where it would be empty."""
    body = "\n".join(rows)
    return f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n{body}\n\n" if body else ""


TABLES: dict[str, Callable[[], str]] = {
    "chat": fields(openai_chat.FIELDS),
    "messages": fields(openai_messages.MESSAGE_FIELDS),
    "content parts": fields(openai_messages.PART_FIELDS),
    "pictures": fields(openai_messages.IMAGE_FIELDS),
    "tool calls": fields(openai_messages.TOOL_CALL_FIELDS),
    "tools": fields(openai_tools.TOOL_FIELDS),
    "tool functions": fields(openai_tools.FUNCTION_FIELDS),
    "stream options": fields(openai_fields.STREAM_OPTIONS_FIELDS),
    "response format": fields(openai_formats.RESPONSE_FORMAT_FIELDS),
    "json schema": fields(openai_formats.JSON_SCHEMA_FIELDS),
    "structured outputs": fields(openai_formats.STRUCTURED_OUTPUTS_FIELDS),
    "completions": fields(openai_completions.FIELDS),
    "responses": fields(responses_fields.FIELDS, told=openai_chat.FIELDS),
    "response items": kinds(items()),
    "response parts": fields(responses_content.PART_FIELDS),
    "response tools": kinds(
        {
            "`function`": responses_tools.FUNCTION_FIELDS,
            "`custom`": responses_tools.CUSTOM_FIELDS,
            "its `format`": responses_tools.CUSTOM_FORMAT_FIELDS,
            "`namespace`": responses_tools.NAMESPACE_FIELDS,
        }
    ),
    "response text": fields(responses_text.TEXT_FIELDS),
    "response text format": fields(responses_text.FORMAT_FIELDS),
    "response reasoning": fields(responses_reasoning.REASONING_FIELDS),
    "response events": events(RESPONSE_EVENTS),
    "compact": fields(responses_fields.COMPACT_FIELDS, told=openai_chat.FIELDS),
    "new conversation": fields(responses_conversations.CREATE_FIELDS),
    "body of messages": fields(anthropic_fields.FIELDS, told=openai_chat.FIELDS),
    "message turns": kinds({f"`{role}`": table for role, table in anthropic_turns.TURN_FIELDS.items()}),
    "message blocks": kinds(blocks()),
    "message tools": fields(anthropic_tools.TOOL_FIELDS),
    "message format": fields(anthropic_thinking.FORMAT_FIELDS),
    "message thinking": fields(anthropic_thinking.THINKING_FIELDS),
    "message effort": fields(anthropic_thinking.OUTPUT_CONFIG_FIELDS),
    "message choice": fields(anthropic_tools.CHOICE_FIELDS),
    "message events": events(MESSAGE_EVENTS),
    "features": features,
    "tokenize": fields(tokens.TOKENIZE_FIELDS),
    "detokenize": fields(tokens.DETOKENIZE_FIELDS),
    "peers": peers({"chat": openai_chat.FIELDS, "completions": openai_completions.FIELDS}),
    "errors": errors,
    "codes": codes,
}


if __name__ == "__main__":
    sys.exit(main())
