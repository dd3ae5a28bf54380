"""pi over Chat Completions, Responses and Messages: a call with a thought before it, a picture, a failure and a wrong key."""

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
        "calls": [{"name": "bash", "arguments": {"command": "cat word.txt"}}],
        "answer": ANSWER,
    },
    "picture": {"answer": SEEN},
    "fails": {"trouble": "fails"},
}

SURFACES: Final = {"chat": "openai-completions", "responses": "openai-responses", "messages": "anthropic-messages"}
"""What pi calls each."""


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
                    _case("picture", surface, "picture", "Pictures that I see: 1", more=("@picture.png",)),
                    _case("failure", surface, "fails", "the scene says so"),
                )
            )
        with scripted(SCENES, "--api-key", "another") as player:
            faults += _terminal(player, home).faults(
                [_case("wrong key", surface, "bash", "401", "send a valid API key")]
            )
    return faults


def _case(name: str, surface: str, scene: str, *shows: str, more: tuple[str, ...] = ()) -> Case:
    chosen = ("--provider", surface, "--model", "scripted", "--thinking", "medium")
    return Case(name=name, typed=(*chosen, "-p", *more, f"Look. [scene: {scene}]"), shows=shows)


def _terminal(server: Served, home: Path) -> Terminal:
    node = installed("pi")
    model = {
        "id": server.model,
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": 200_000,
        "maxTokens": 4096,
    }
    providers = {
        surface: {
            "baseUrl": server.url if surface == "messages" else server.base_url,
            "api": api,
            "apiKey": "unused",
            "models": [model],
        }
        for surface, api in SURFACES.items()
    }
    settings = home / ".pi" / "agent"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "models.json").write_text(json.dumps({"providers": providers}), encoding="utf-8")
    return Terminal(program=node.command("pi"), folder=home / "work", variables=at_home(home, node, PI_OFFLINE="1"))
