"""Write the tables of docs/api.md from the surfaces' own; with --check, fail when the page is not what it would write.

The prose of the page is written by hand; only what stands between a ``<!-- table: name -->`` and the next
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
from dragoman.surfaces import (
    openai_chat,
    openai_completions,
    openai_fields,
    openai_formats,
    openai_messages,
    openai_tools,
    tokens,
)
from dragoman.surfaces.fields import Disposition, Field, Table
from dragoman.surfaces.openai_errors import BY_CODE, BY_KIND

TARGET = Path(__file__).parent.parent / "docs" / "api.md"
BLOCK = re.compile(r"(<!-- table: (?P<name>[\w .-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Write, or compare; the exit code says whether the page is right."""
    page = TARGET.read_text(encoding="utf-8")
    wanted = render(page)
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(wanted, encoding="utf-8")
        return 0
    if page == wanted:
        return 0
    sys.stderr.write("docs/api.md is out of date: run scripts/generate_docs.py\n")
    return 1


def render(page: str) -> str:
    """The page with its tables as they should be. Raises ``KeyError`` for a table that does not exist."""
    return BLOCK.sub(lambda block: f"{block[1]}{TABLES[block['name']]()}{block[3]}", page)


def fields(table: Table) -> Callable[[], str]:
    """Three short tables: what is honoured, accepted without effect, and refused."""

    def write() -> str:
        honoured = (
            f"| `{row.name}` | {row.reader.wants} | {row.note} |" for row in having(table, Disposition.HONOURED)
        )
        ignored = (f"| `{row.name}` | {row.note} |" for row in having(table, Disposition.IGNORED))
        refused = (f"| `{row.name}` | {neutral(row)} | {row.note} |" for row in having(table, Disposition.REFUSED))
        return (
            lines("field", "value", "meaning", rows=honoured)
            + lines("accepted without effect", "why", rows=ignored)
            + lines("refused by name", "except", "why", rows=refused)
        )

    return write


def having(table: Table, disposition: Disposition) -> list[Field[object]]:
    """The rows of one kind, in the table's order."""
    return [row for row in table if row.disposition is disposition]


def neutral(row: Field[object]) -> str:
    """The values of a refused field that are let through."""
    return ", ".join(f"`{msgspec.json.encode(value).decode()}`" for value in row.neutral)


def errors() -> str:
    """Status and type by kind of failure, then the codes that differ from their kind."""
    by_kind = (f"| {spoken(kind)} | {status} | `{type_}` |" for kind, (status, type_) in BY_KIND.items())
    by_code = (f"| `{code}` | {status} | `{type_}` |" for code, (status, type_) in BY_CODE.items())
    return lines("failure", "status", "type", rows=by_kind) + lines("except code", "status", "type", rows=by_code)


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
    "tokenize": fields(tokens.TOKENIZE_FIELDS),
    "detokenize": fields(tokens.DETOKENIZE_FIELDS),
    "peers": peers({"chat": openai_chat.FIELDS, "completions": openai_completions.FIELDS}),
    "errors": errors,
    "codes": codes,
}


if __name__ == "__main__":
    sys.exit(main())
