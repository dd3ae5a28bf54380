"""The judges' own environment: their packages at pinned versions, and the source distributions that hold what is judged by."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from environments import folder_of, install, run

REQUIREMENTS: Final = Path(__file__).with_name("requirements.txt")
OPENAI: Final = "openai==3.57.0"
"""The same as in requirements.txt; its sdist holds the tests."""

ANTHROPIC: Final = "anthropic==2.14.0"
"""Likewise."""

LLAMA_CPP: Final = "llama_cpp_python==0.3.36"
"""Its sdist holds the chat templates of many models, as llama.cpp collects them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """``python`` runs them; the sources are trees of the SDKs with their tests, ``templates`` is a folder of models' chat templates."""

    python: Path
    openai_source: Path
    anthropic_source: Path
    templates: Path

    def run(self, *arguments: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python. What it said is kept. Raises ``TimeoutExpired``: a server that hangs is at fault, too."""
        return run(self.python, *arguments, cwd=cwd, **variables)


def ready() -> Judges:
    """The environment, made where it is not there yet. Raises ``CalledProcessError`` where pip cannot."""
    folder = folder_of("judges", f"{sys.version}{OPENAI}{ANTHROPIC}{LLAMA_CPP}".encode() + REQUIREMENTS.read_bytes())
    source = folder / "source"
    judges = Judges(
        python=folder / "bin" / "python",
        openai_source=source / OPENAI.replace("==", "-"),
        anthropic_source=source / ANTHROPIC.replace("==", "-"),
        templates=source / LLAMA_CPP.replace("==", "-") / "vendor" / "llama.cpp" / "models" / "templates",
    )
    done = folder / "done"
    if not done.exists():
        print(f"judges: installing them in {folder}", flush=True)
        install(sys.executable, "-m", "venv", folder)
        install(judges.python, "-m", "pip", "install", "-qq", "-r", REQUIREMENTS)
        for requirement in (OPENAI, ANTHROPIC, LLAMA_CPP):
            sdist = ("--no-deps", "--no-binary", requirement.partition("==")[0])
            install(judges.python, "-m", "pip", "download", "-qq", *sdist, "--dest", source, requirement)
        for path in source.glob("*.tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(source, filter="data")
        done.touch()
    return judges
