"""Cline over Chat Completions: a call with a thought before it, a death in the middle of an answer, and a wrong key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import ANSWER, THOUGHT, WORD, Case, Terminal, at_home, installed, workplace
from dragoman.core.json import JsonObject

SCENES: Final[dict[str, JsonObject]] = {
    "shell": {
        "thought": THOUGHT,
        "calls": [{"name": "run_commands", "arguments": {"commands": ["cat word.txt"]}}],
        "answer": ANSWER,
    },
    "dies-once": {"trouble": "dies once"},
}

CASES: Final = (
    Case(name="thoughts", typed=("Look. [scene: shell]",), shows=(WORD, "came back: 1")),
    Case(name="death in an answer", typed=("Look. [scene: dies-once]",), shows=("The engine exited",)),
)
WRONG_KEY: Final = Case(name="wrong key", typed=("Hello. [scene: shell]",), shows=("API key",))


def play(_: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    workplace(home)
    node = installed("cline")
    cline = Terminal(program=node.command("cline"), folder=home / "work", variables=at_home(home, node))
    faults: list[str] = []
    try:
        for cases, flags in ((CASES, ()), ((WRONG_KEY,), ("--api-key", "another"))):
            with scripted(SCENES, *flags) as player:
                cline.told(
                    *("auth", "-p", "openai-compatible", "-k", "unused", "-m", player.model, "-b", player.base_url)
                )
                faults += cline.faults(cases)
    finally:
        cline.told("hub", "stop")  # a process of its own, which it leaves behind
    return faults
