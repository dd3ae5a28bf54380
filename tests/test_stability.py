"""What docs/stability.md promises of the command line: a name that was there stays, and what is new is written down."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from dragoman.cli.app import build_app
from dragoman.settings import options

KNOWN = Path(__file__).parent / "golden" / "settings.txt"


def names() -> list[str]:
    commands = sorted(get_command(build_app()).commands)
    flags = [f"{option.flag} {option.variable} {option.key}" for option in options()]
    return [*(f"dragoman {name}" for name in commands), *sorted(flags)]


@pytest.mark.seeds("S18")
def test_every_name_that_was_promised_is_there_and_every_name_is_promised():
    assert names() == KNOWN.read_text(encoding="utf-8").splitlines()
