"""The judges' own environment: their packages at pinned versions, and the source distributions that hold what is judged by."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REQUIREMENTS: Final = Path(__file__).with_name("requirements.txt")
OPENAI: Final = "openai==3.57.0"
"""The same as in requirements.txt; its sdist holds the tests."""

LLAMA_CPP: Final = "llama_cpp_python==0.3.36"
"""Its sdist holds the chat templates of many models, as llama.cpp collects them."""

PATIENCE: Final = 900.0
"""Seconds for one run of a judge; each takes well under one minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """``python`` runs them; ``openai_source`` is openai-python's source tree, ``templates`` a folder of models' chat templates."""

    python: Path
    openai_source: Path
    templates: Path

    def run(self, *arguments: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python. What it said is kept. Raises ``TimeoutExpired``: a server that hangs is at fault, too."""
        return run(self.python, *arguments, cwd=cwd, **variables)


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it says. Raises ``TimeoutExpired``."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **variables},
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
    )


def python_with(requirements: Path) -> Path:
    """The Python of an environment with all of these packages and no others. Raises ``CalledProcessError`` where pip cannot make it."""
    folder = folder_of(sys.version.encode() + requirements.read_bytes())
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        print(f"judges: installing {requirements.parent.name} in {folder}", flush=True)
        _run(sys.executable, "-m", "venv", folder)
        _run(python, "-m", "pip", "install", "-qq", "--no-deps", "-r", requirements)
        (folder / "done").touch()
    return python


def ready() -> Judges:
    """The environment, made where it is not there yet. Raises ``CalledProcessError`` where pip cannot."""
    folder = folder_of(f"{sys.version}{OPENAI}{LLAMA_CPP}".encode() + REQUIREMENTS.read_bytes())
    source = folder / "source"
    judges = Judges(
        python=folder / "bin" / "python",
        openai_source=source / OPENAI.replace("==", "-"),
        templates=source / LLAMA_CPP.replace("==", "-") / "vendor" / "llama.cpp" / "models" / "templates",
    )
    done = folder / "done"
    if not done.exists():
        print(f"judges: installing them in {folder}", flush=True)
        _run(sys.executable, "-m", "venv", folder)
        _run(judges.python, "-m", "pip", "install", "-qq", "-r", REQUIREMENTS)
        for requirement in (OPENAI, LLAMA_CPP):
            sdist = ("--no-deps", "--no-binary", requirement.partition("==")[0])
            _run(judges.python, "-m", "pip", "download", "-qq", *sdist, "--dest", source, requirement)
        for path in source.glob("*.tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(source, filter="data")
        done.touch()
    return judges


def folder_of(contents: bytes) -> Path:
    """The place in the user's cache of what is made from ``contents``."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "dragoman" / "judges" / hashlib.sha256(contents).hexdigest()[:16]


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)
