"""Agents for a terminal: each installed by itself, with a home and a folder of work of its own, and asked one thing after another."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from environments import Node, node_with, python_with, run

AGENTS: Final = Path(__file__).with_name("agents")

WORD: Final = "quince-4711"
"""What ``word.txt`` says, in the folder of work. No model would guess it."""

THOUGHT: Final = "I should look at the file."
ANSWER: Final = "The file says {result}, and thoughts that came back: {thoughts}"
"""After a call that reads ``word.txt``, and with one thought before it."""

SEEN: Final = "Pictures that I see: {images}"

_PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is typed, and words that the screen must show then. ``variables`` are added to the environment."""

    name: str
    typed: tuple[str, ...]
    shows: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A program with its first ``arguments`` and its environment, and the folder in which it works."""

    program: Path
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str]
    folder: Path

    def told(self, *typed: str, **variables: str) -> str:
        """What the screen shows. Raises ``TimeoutExpired`` where that never ends."""
        environment = {
            **self.variables,
            "PWD": str(self.folder),
            **variables,
        }  # which some take for the folder they are in
        said = run(self.program, *self.arguments, *typed, cwd=self.folder, **environment)
        return said.stdout

    def faults(self, cases: Iterable[Case]) -> Iterator[str]:
        """Play them, and name those that showed something else."""
        for case in cases:
            shown = self.told(*case.typed, **case.variables)
            missing = [words for words in case.shows if words not in shown]
            print(f"{case.name}: {'failed' if missing else 'done'}", flush=True)
            if missing:
                yield f"{case.name}: {missing[0]!r} is not in: {shown[-2000:]}"


def installed(name: str) -> Node:
    """The agent of this name and its Node. Raises ``CalledProcessError`` where it cannot be installed."""
    return node_with(AGENTS / f"{name}.json", python_with(AGENTS / "node.txt"), scripts=True)


def workplace(home: Path) -> Path:
    """A folder of work below ``home``, with a word and a picture in it."""
    folder = home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "word.txt").write_text(f"{WORD}\n", encoding="utf-8")
    (folder / "picture.png").write_bytes(_PICTURE)
    return folder


def at_home(home: Path, node: Node, **variables: str) -> dict[str, str]:
    """The environment of a program that finds nothing of the user who runs this."""
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    return {"HOME": str(home), "PATH": node.path, **folders, **variables}


def objects(shown: str) -> list[dict[str, object]]:
    """The lines of it that are JSON objects."""
    return [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
