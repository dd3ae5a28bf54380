"""Set up .venv for a purpose, ``serve`` or ``dev``: pinned dependencies, this package, and llama.cpp built for this CPU.

Runs before every make target. Where nothing that it depends on has changed, it says so by doing nothing.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
OLDEST_PYTHON = (3, 11)

# `dev` holds all of `serve` at the same versions (scripts/check_locks.py sees to it).
LOCKS = {"serve": "serve.lock", "dev": "dev.lock"}
SATISFIED_BY = {"serve": ("serve", "dev"), "dev": ("dev",)}
BUILD_SCRIPTS = (
    "setup.py",
    "build_llama.py",
    "llama_flags.py",
    "llama_source.py",
    "llama_trim.cmake",
    "prove_llama.py",
)


def fingerprint() -> str:
    """A digest of all that decides what the environment holds; its place too, since environments cannot be moved."""
    digest = hashlib.sha256(f"{ROOT}\n{sys.version}\n{platform.machine()}\n".encode())
    files = [*sorted((ROOT / "requirements").glob("*.lock")), ROOT / "pyproject.toml"]
    files += [ROOT / "scripts" / name for name in BUILD_SCRIPTS]
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def stamp(purpose: str) -> Path:
    """Where the fingerprint of a finished set-up is kept."""
    return VENV / f"setup-{purpose}.stamp"


def is_current(purpose: str, wanted: str) -> bool:
    """Whether an earlier run, for this purpose or for one that includes it, did all that there is to do."""
    stamps = (stamp(one) for one in SATISFIED_BY[purpose])
    return PYTHON.exists() and any(path.exists() and path.read_text(encoding="utf-8") == wanted for path in stamps)


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"setup: {text}", flush=True)


def run(*command: str | Path) -> None:
    """Run one step; its failure is ours."""
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)


def pip_install(*arguments: str) -> None:
    """Install into .venv, from the registries that this machine's pip is configured for."""
    run(PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *arguments)


def set_up(purpose: str) -> None:
    """Create or complete the environment."""
    if not PYTHON.exists():
        say("creating .venv")
        run(sys.executable, "-m", "venv", VENV)
    say(f"installing what {LOCKS[purpose]} pins")
    hashed = ("--require-hashes", "--requirement")
    pip_install(*hashed, "requirements/build.lock")
    pip_install(*hashed, f"requirements/{LOCKS[purpose]}")
    pip_install("--no-deps", *hashed, "requirements/demo.lock")
    pip_install("--no-deps", "--no-build-isolation", "--editable", ".")
    run(PYTHON, ROOT / "scripts" / "build_llama.py")


def main(arguments: list[str]) -> int:
    """Set up for the purpose named, unless that was done; 0 when the environment is ready."""
    if sys.version_info < OLDEST_PYTHON:
        print(f"error: Python 3.11 or newer is needed; this is {platform.python_version()}", file=sys.stderr)
        return 1
    if len(arguments) != 1 or arguments[0] not in LOCKS:
        print(f"usage: setup.py {'|'.join(LOCKS)}", file=sys.stderr)
        return 2
    (purpose,) = arguments
    wanted = fingerprint()
    if is_current(purpose, wanted):
        return 0
    try:
        set_up(purpose)
    except subprocess.CalledProcessError as error:
        print(f"error: this step failed (exit {error.returncode}): {' '.join(error.cmd)}", file=sys.stderr)
        return 1
    stamp(purpose).write_text(wanted, encoding="utf-8")
    say("ready")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
