"""qwen-code over Chat Completions and Messages: a call with a thought before it, a death in the middle of an answer, and a wrong key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import ANSWER, THOUGHT, WORD, Case, Terminal, at_home, installed, workplace
from dragoman.core.json import JsonObject

CASES: Final = (
    Case(name="thoughts", typed=("-p", "Look. [scene: read]"), shows=(WORD, "came back: 1")),
    Case(name="death in an answer", typed=("-p", "Look. [scene: dies-once]"), shows=("The result: there is none",)),
)
WRONG_KEY: Final = Case(name="wrong key", typed=("-p", "Hello. [scene: read]"), shows=("API key",))


def play(_: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    scenes = _scenes(workplace(home))
    faults: list[str] = []
    for surface in ("openai", "anthropic"):
        print(f"as a client of {surface}", flush=True)
        with scripted(scenes) as player:
            faults += _terminal(player, surface, home).faults(CASES)
        with scripted(scenes, "--api-key", "another") as player:
            faults += _terminal(player, surface, home).faults([WRONG_KEY])
    return faults


def _scenes(folder: Path) -> dict[str, JsonObject]:
    call: JsonObject = {"name": "read_file", "arguments": {"file_path": str(folder / "word.txt")}}
    return {
        "read": {"thought": THOUGHT, "calls": [call], "answer": ANSWER},
        "dies-once": {"trouble": "dies once"},
    }


def _terminal(server: Served, surface: str, home: Path) -> Terminal:
    node = installed("qwen_code")
    name, base = ("OPENAI", server.base_url) if surface == "openai" else ("ANTHROPIC", server.url)
    told = {f"{name}_BASE_URL": base, f"{name}_API_KEY": "unused", f"{name}_MODEL": server.model}
    return Terminal(
        program=node.command("qwen"),
        arguments=("--auth-type", surface, "-y"),
        folder=home / "work",
        variables=at_home(home, node, **told),
    )
