"""aider over Chat Completions, which uses no tools: an answer, and a wrong key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import AGENTS, Case, Terminal, workplace
from environments import python_with

CASES: Final = (Case(name="an answer", typed=("--message", "Hello."), shows=("A dragoman stood between two courts",)),)
WRONG_KEY: Final = Case(name="wrong key", typed=("--message", "Hello."), shows=("API key",))


def play(_: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    workplace(home)
    with scripted({}) as player:
        faults = list(_terminal(player, home).faults(CASES))
    with scripted({}, "--api-key", "another") as player:
        return [*faults, *_terminal(player, home).faults([WRONG_KEY])]


def _terminal(server: Served, home: Path) -> Terminal:
    python = python_with(AGENTS / "aider.txt")
    quiet = ("--no-check-update", "--no-analytics", "--no-git", "--no-show-model-warnings", "--no-pretty")
    return Terminal(
        program=python.with_name("aider"),
        arguments=("--model", f"openai/{server.model}", "--yes-always", "--chat-mode", "ask", *quiet),
        folder=home / "work",
        variables={
            "HOME": str(home),
            "OPENAI_API_BASE": server.base_url,
            "OPENAI_API_KEY": "unused",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    )
