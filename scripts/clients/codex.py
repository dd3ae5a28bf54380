"""Codex over Responses, by events and by a WebSocket: its shell, a tool in a namespace, thoughts, a picture, a schema and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import ANSWER, SEEN, THOUGHT, WORD, Case, Terminal, at_home, installed, objects, workplace
from dragoman.core.json import JsonObject

SCENES: Final[dict[str, JsonObject]] = {
    "plain": {"answer": "A plain answer."},
    "shell": {
        "thought": THOUGHT,
        "calls": [{"name": "exec_command", "arguments": {"cmd": "cat word.txt"}}],
        "answer": ANSWER,
    },
    "agent": {"calls": [{"name": "spawn_agent", "arguments": {"message": "Say hello. [scene: plain]"}}]},
    "schema": {"answer": json.dumps({"word": WORD})},
    "picture": {"answer": SEEN},
    "overflows": {"trouble": "overflows"},
    "fails": {"trouble": "fails"},
    "dies-once": {"trouble": "dies once"},
}


def _schema(**properties: JsonObject) -> str:
    return json.dumps(
        {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    )


CASES: Final = (
    Case(name="plain", typed=("Say hello. [scene: plain]",), shows=("A plain answer.",)),
    Case(name="tool of a namespace", typed=("Look. [scene: agent]",), shows=('The result: {"agent_id"',)),
    Case(name="schema", typed=("--output-schema", "schema.json", "Say it. [scene: schema]"), shows=(WORD,)),
    Case(
        name="picture", typed=("-i", "picture.png", "--", "Look. [scene: picture]"), shows=("Pictures that I see: 1",)
    ),
    Case(
        name="too long", typed=("Look. [scene: overflows]",), shows=("ran out of room in the model's context window",)
    ),
    Case(name="failure", typed=("Look. [scene: fails]",), shows=("the scene says so",)),
    Case(name="death in an answer", typed=("Look. [scene: dies-once]",), shows=("The result: there is none",)),
    Case(
        name="thoughts",
        typed=("Look. [scene: shell]",),
        shows=(THOUGHT, f"Output: {WORD}, and thoughts that came back: 1"),
    ),
)
"""The last one is the first turn of a conversation."""

REREAD: Final = 0.02
"""Part of the prompt that a second turn may compute."""


def play(server: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    folder = workplace(home)
    (folder / "schema.json").write_text(_schema(word={"type": "string"}), encoding="utf-8")
    (folder / "choice.json").write_text(_schema(choice={"type": "string", "enum": ["yes", "no"]}), encoding="utf-8")
    (folder / "instructions.md").write_text("Be brief.\n", encoding="utf-8")
    faults: list[str] = []
    for websockets in (False, True):
        with scripted(SCENES) as player:
            print("over a WebSocket" if websockets else "over events", flush=True)
            terminal = _terminal(player, home, websockets=websockets)
            faults += [*terminal.faults(CASES), *_reread(terminal)]
    with scripted(SCENES, "--api-key", "another") as player:
        wrong = Case(
            name="wrong key", typed=("Hello. [scene: plain]",), shows=("401 Unauthorized: send a valid API key",)
        )
        faults += _terminal(player, home, websockets=False).faults([wrong])
    return [*faults, *_terminal(server, home, websockets=False).faults(_real())]


def _real() -> Iterator[Case]:
    """The demo model has no room for the usual instructions. Codex sets no budget, so a schema makes an end.

    Whether such a small model answers, or calls tools until its context is full, is its own affair: the turn has to end in words.
    """
    yield Case(
        name="demo model",
        typed=("-c", "model_instructions_file=instructions.md", "--output-schema", "choice.json", "Yes or no?"),
        shows=("tokens used",),
    )


def _reread(terminal: Terminal) -> Iterator[str]:
    shown = terminal.told("resume", "--last", "--json", "Again. [scene: plain]")
    match objects(shown)[-1:]:
        case [{"usage": {"input_tokens": int(prompt), "cached_input_tokens": int(cached)}}] if (
            prompt - cached < REREAD * prompt
        ):
            print(f"second turn: {prompt - cached} of {prompt} tokens computed", flush=True)
        case _:
            yield f"second turn: too much was computed, or nothing was told: {shown[-2000:]}"


def _terminal(server: Served, home: Path, *, websockets: bool) -> Terminal:
    node = installed("codex")
    settings = home / ".codex"
    settings.mkdir(exist_ok=True)
    (settings / "config.toml").write_text(
        f"""
model = "{server.model}"
model_provider = "dragoman"

[model_providers.dragoman]
name = "Dragoman"
base_url = "{server.base_url}"
env_key = "DRAGOMAN_KEY"
wire_api = "responses"
supports_websockets = {str(websockets).lower()}
request_max_retries = 1
stream_max_retries = 1
""",
        encoding="utf-8",
    )
    return Terminal(
        program=node.command("codex"),
        arguments=("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        folder=home / "work",
        variables=at_home(home, node, CODEX_HOME=str(settings), DRAGOMAN_KEY="unused"),
    )
