"""The judges' own environment: their packages at pinned versions, and the source distribution whose tests are run."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """``python`` runs them; ``openai_source`` is openai-python's source tree."""

    python: Path
    openai_source: Path

    def run(self, *arguments: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python. What it said is kept."""
        command = [str(self.python), *map(str, arguments)]
        env = {**os.environ, **variables}
        return subprocess.run(
            command, cwd=cwd, env=env, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )


def ready() -> Judges:
    """The environment, made where it is not there yet. Raises ``CalledProcessError`` where pip cannot."""
    folder = _folder()
    judges = Judges(python=folder / "bin" / "python", openai_source=folder / "source" / OPENAI.replace("==", "-"))
    done = folder / "done"
    if not done.exists():
        print(f"judges: installing them in {folder}", flush=True)
        _run(sys.executable, "-m", "venv", folder)
        _run(judges.python, "-m", "pip", "install", "-qq", "-r", REQUIREMENTS)
        source = folder / "source"
        no_build = ("--no-deps", "--no-binary", ":all:")
        _run(judges.python, "-m", "pip", "download", "-qq", *no_build, "--dest", source, OPENAI)
        with tarfile.open(next(source.glob("*.tar.gz"))) as archive:
            archive.extractall(source, filter="data")
        done.touch()
    return judges


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(f"{sys.version}{OPENAI}".encode() + REQUIREMENTS.read_bytes()).hexdigest()
    return cache / "dragoman" / "judges" / digest[:16]


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)
