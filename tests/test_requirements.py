"""Tests and manifest agree: what is done is tested, and what is tested is said to be done."""

from __future__ import annotations

import ast
from pathlib import Path

import requirements
from requirements import ROWS, Done

TESTS = Path(__file__).resolve().parent


def marked_rows(source):
    """The rows that `pytest.mark.seeds(...)` names in the text of a test module, wherever the mark is put."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="seeds", value=ast.Attribute(attr="mark"))):
                yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def rows_by_test_file():
    files = sorted(TESTS.rglob("test_*.py"))
    return {str(file.relative_to(TESTS)): set(marked_rows(file.read_text(encoding="utf-8"))) for file in files}


def test_marks_are_found_on_functions_modules_and_parameters():
    source = """
pytestmark = [pytest.mark.seeds("S1")]
@pytest.mark.seeds("S2", "S3")
def test_x(): ...
CASES = [pytest.param(1, marks=pytest.mark.seeds("S4"))]
"""
    assert set(marked_rows(source)) == {"S1", "S2", "S3", "S4"}


def test_the_manifest_has_every_row_of_seeds_md_in_order():
    assert list(ROWS) == [f"S{number}" for number in range(1, 165)]


def test_every_row_that_is_done_is_named_by_a_test():
    named = set().union(*rows_by_test_file().values())
    assert [row for row, entry in ROWS.items() if isinstance(entry.status, Done) and row not in named] == []


def test_no_test_names_a_row_that_is_not_done():
    wrong = {
        f"{file}: {row}"
        for file, rows in rows_by_test_file().items()
        for row in rows
        if row not in ROWS or not isinstance(ROWS[row].status, Done)
    }
    assert sorted(wrong) == []


def test_what_is_not_ours_has_a_reason():
    reasons = [
        row for row, entry in ROWS.items() if isinstance(entry.status, requirements.NotOurs) and not entry.status.reason
    ]
    assert reasons == []
