"""Continue's command line over Chat Completions and Messages: a call, a death in an answer, a wrong key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import ANSWER, THOUGHT, WORD, Case, Terminal, at_home, installed, workplace
from dragoman.core.json import JsonObject

SCENES: Final[dict[str, JsonObject]] = {
    "shell": {
        "thought": THOUGHT,
        "calls": [{"name": "Bash", "arguments": {"command": "cat word.txt"}}],
        "answer": ANSWER,
    },
    "dies-once": {"trouble": "dies once"},
}

CALL: Final = Case(name="a call", typed=("Look. [scene: shell]",), shows=(WORD,))
WRONG_KEY: Final = Case(name="wrong key", typed=("Hello. [scene: shell]",), shows=("API key",))
DEATH: Final = {"openai": "The result: there is none", "anthropic": "The engine exited"}
"""As a client of OpenAI it asks once more, as one of Anthropic it shows the error."""


def play(_: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    workplace(home)
    faults: list[str] = []
    for provider in ("openai", "anthropic"):
        print(f"as a client of {provider}", flush=True)
        with scripted(SCENES) as player:
            death = Case(name="death in an answer", typed=("Look. [scene: dies-once]",), shows=(DEATH[provider],))
            faults += _terminal(player, provider, home).faults([CALL, death])
        with scripted(SCENES, "--api-key", "another") as player:
            faults += _terminal(player, provider, home).faults([WRONG_KEY])
    return faults


def _terminal(server: Served, provider: str, home: Path) -> Terminal:
    node = installed("continue_cli")
    settings = home / "continue.yaml"
    settings.write_text(
        "name: local\nversion: 1.0.0\nschema: v1\nmodels:\n"
        f"  - name: local\n    provider: {provider}\n    model: {server.model}\n    apiBase: {server.base_url}\n"
        "    apiKey: unused\n    roles: [chat]\n    capabilities: [tool_use]\n",
        encoding="utf-8",
    )
    return Terminal(
        program=node.command("cn"),
        arguments=("--config", str(settings), "--auto", "-p"),
        folder=home / "work",
        variables=at_home(home, node, CONTINUE_TELEMETRY_ENABLED="0"),
    )
