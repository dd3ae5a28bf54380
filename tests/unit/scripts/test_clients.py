"""The clients that ``make clients`` knows are those that are there."""

from __future__ import annotations

from importlib import import_module

from clients.__main__ import PROGRAMS, main
from clients.libraries import LIBRARIES
from clients.libraries import PROGRAMS as FOLDER


def test_each_library_has_its_program_and_none_is_left_over():
    named = sorted(library.program for library in LIBRARIES.values())
    assert named == sorted(path.name for path in FOLDER.glob("with_*"))


def test_each_program_for_a_terminal_can_be_played():
    assert all(callable(import_module(f"clients.{name}").play) for name in PROGRAMS)


def test_a_client_that_nobody_knows_is_named_and_nothing_is_started(capsys):
    assert main(["nobody"]) == 2
    assert "no client is called nobody" in capsys.readouterr().err
