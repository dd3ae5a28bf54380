"""opencode over Chat Completions, Responses and Messages: a call with a thought before it, a picture, a death and a wrong key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import ANSWER, SEEN, THOUGHT, WORD, Case, Terminal, at_home, installed, workplace
from dragoman.core.json import JsonObject

SCENES: Final[dict[str, JsonObject]] = {
    "bash": {
        "thought": THOUGHT,
        "calls": [{"name": "bash", "arguments": {"command": "cat word.txt", "description": "Read a file"}}],
        "answer": ANSWER,
    },
    "picture": {"answer": SEEN},
    "dies-once": {"trouble": "dies once"},
}

SURFACES: Final = {"chat": "@ai-sdk/openai-compatible", "responses": "@ai-sdk/openai", "messages": "@ai-sdk/anthropic"}
"""The package with which opencode speaks to each."""


def play(_: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    workplace(home)
    faults: list[str] = []
    for surface in SURFACES:
        print(f"over {surface}", flush=True)
        with scripted(SCENES) as player:
            faults += _terminal(player, home).faults(
                (
                    _case("thoughts", surface, "bash", f"The file says {WORD}", "came back: 1"),
                    _case("picture", surface, "picture", "Pictures that I see: 1", more=("-f", "picture.png")),
                    _case("death in an answer", surface, "dies-once", "The result: there is none"),
                )
            )
        with scripted(SCENES, "--api-key", "another") as player:
            faults += _terminal(player, home).faults([_case("wrong key", surface, "bash", "send a valid API key")])
    return faults


def _case(name: str, surface: str, scene: str, *shows: str, more: tuple[str, ...] = ()) -> Case:
    return Case(name=name, typed=("-m", f"{surface}/scripted", f"Look. [scene: {scene}]", *more), shows=shows)


def _terminal(server: Served, home: Path) -> Terminal:
    node = installed("opencode")
    model = {
        "reasoning": True,
        "tool_call": True,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": 200_000, "output": 8192},
    }
    providers = {
        surface: {
            "npm": package,
            "options": {"baseURL": server.base_url, "apiKey": "unused"},
            "models": {server.model: model},
        }
        for surface, package in SURFACES.items()
    }
    settings = {"autoupdate": False, "share": "disabled", "permission": {"*": "allow"}, "provider": providers}
    folder = home / "work"
    (folder / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")
    return Terminal(
        program=node.command("opencode"),
        arguments=("run",),
        folder=folder,
        variables=at_home(home, node),
    )
