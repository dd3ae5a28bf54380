"""The tables of the protocol, and the page that shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core import limits
from dragoman.engines.submitting import NEEDS
from dragoman.protocol.command_decoder import COMMAND_SIZES, MAX_OPTION_CHARS
from dragoman.protocol.errors import FaultCode
from dragoman.protocol.frame_decoder import FRAME_SIZES, KNOWN_TELEMETRY, MAX_ANSWER_BYTES, REQUEST_DECODERS
from dragoman.protocol.order import KINDS, ORDER, STARTUP, State
from dragoman.protocol.words import MAX_PROSE_BYTES
from dragoman.scheduler.miss import Miss

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"


def grid(table, first):
    """A table of transitions as Markdown: a row for each state, a column for each kind."""
    kinds = list(dict.fromkeys(kind for row in table.values() for kind in row))
    lines = [f"| {first} | " + " | ".join(f"`{kind}`" for kind in kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for state, row in table.items():
        if row:
            lines.append(f"| {state} | " + " | ".join(row.get(kind, "") for kind in kinds) + " |")
    return "\n".join(lines)


@pytest.mark.parametrize("name, table", [("startup", STARTUP), ("order", ORDER)])
def test_the_page_shows_the_table_of_the_code(name, table):
    begin, end = f"<!-- {name}:begin -->\n", f"\n<!-- {name}:end -->"
    shown = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    assert shown == grid(table, "phase" if name == "startup" else "state"), "copy the table from here into the page"


def test_the_page_names_every_kind_and_every_fault():
    page = PAGE.read_text(encoding="utf-8")
    kinds = {kind.decode().strip("\x01") for kind in (*FRAME_SIZES, *COMMAND_SIZES)} | KNOWN_TELEMETRY
    assert [kind for kind in sorted(kinds) if kind not in page] == []
    assert [code for code in FaultCode if f"`{code}`" not in page] == []


def test_the_page_names_every_key_of_an_extension_and_every_reason_of_a_miss():
    page = PAGE.read_text(encoding="utf-8")
    assert [key for key in NEEDS if f"`{key}`" not in page] == []
    assert [miss for miss in Miss if f"| `{miss}` |" not in page] == []


def test_the_page_names_the_limits():
    page = PAGE.read_text(encoding="utf-8")
    assert (limits.MAX_HEADER_BYTES, limits.MAX_FRAME_BYTES, MAX_PROSE_BYTES, MAX_OPTION_CHARS) == (
        4096,
        65_536,
        2048,
        128,
    )
    assert (limits.MAX_PROMPT_BYTES, limits.MAX_EXTENSION_BYTES, MAX_ANSWER_BYTES) == (16 << 20, 1 << 20, 32 << 20)
    for written in ("| 4,096 |", "| 65,536 |", "| 16 MiB |", "| 1 MiB |", "| 32 MiB |", "| 128 |", "| 2,048 |"):
        assert written in page


def test_the_order_is_the_one_of_the_seeds():
    """seeds.md 2.6, rule 1: ACCEPT, ECHO*, DATA*/TOOL*, then DONE or ERROR."""

    def walk(*kinds):
        state = State.SUBMITTED
        for kind in kinds:
            state = ORDER[state].get(kind)
            if state is None:
                return None
        return state

    assert walk("ACCEPT", "ECHO", "ECHO", "TOOL", "DATA", "DATA", "TOOL", "DONE") is State.FINISHED
    assert walk("ACCEPT", "DONE") is State.FINISHED
    assert walk("ERROR") is State.FINISHED
    assert walk("ACCEPT", "ACCEPT") is None
    assert walk("DATA") is None
    assert walk("ACCEPT", "DATA", "ECHO") is None
    assert walk("ACCEPT", "DONE", "DATA") is None
    assert walk("ACCEPT", "DONE", "ERROR") is None


def test_every_state_can_end_and_an_ended_one_can_not_go_on():
    assert ORDER.keys() == set(State)
    assert ORDER[State.FINISHED] == {}
    for state, row in ORDER.items():
        if state is not State.FINISHED:
            assert row["ERROR"] is State.FINISHED


def test_a_faulty_request_has_an_entry_for_every_kind():
    """Dropping a frame looks it up there, and must not fail."""
    kinds = {kind.decode() for kind in REQUEST_DECODERS}
    assert set(KINDS.values()) == kinds
    assert ORDER[State.FAULTY].keys() == ORDER[State.FAULTY_ANSWER].keys() == kinds
