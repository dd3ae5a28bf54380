"""The locks say what pyproject.toml asks for: pinned, hashed, of one mind, and without addresses. Needs no network."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"

# Which locks must hold the dependencies of which part of pyproject.toml (None: of the package itself).
HOLDERS: dict[str | None, tuple[str, ...]] = {
    None: ("serve", "dev"),
    "llama": ("serve+engine", "dev+engine"),
    "demo": ("demo",),
    "dev": ("dev",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One entry of a lock; a package has several where platforms need different versions."""

    name: str
    version: str
    hashes: int


def parse_lock(text: str) -> list[Pin]:
    """The entries of a lock; raises ``ValueError`` on a line that pins nothing."""
    pins = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        entry = line.split("#", 1)[0].strip()
        if not entry:
            continue
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", entry)
        if match is None:
            message = f"not a pin: {entry[:80]}"
            raise ValueError(message)
        pins.append(Pin(name=canonicalize_name(match[1]), version=match[2], hashes=entry.count("--hash=sha256:")))
    return pins


def lock_faults(locks: dict[str, str]) -> list[str]:
    """What is wrong with the locks (text by name), each alone and beside the others."""
    found = []
    versions: dict[str, dict[frozenset[str], list[str]]] = {}
    for lock, text in sorted(locks.items()):
        if "://" in text:
            found.append(f"{lock}.lock contains an address")
        by_name: dict[str, set[str]] = {}
        for pin in parse_lock(text):
            if not pin.hashes:
                found.append(f"{lock}.lock does not hash {pin.name}")
            by_name.setdefault(pin.name, set()).add(pin.version)
        for name, pinned in by_name.items():
            versions.setdefault(name, {}).setdefault(frozenset(pinned), []).append(lock)
    found += [f"{name} differs between locks: {opinions}" for name, opinions in versions.items() if len(opinions) > 1]
    return found


def missing(requirements: list[str], pins: list[Pin]) -> list[str]:
    """Those of ``requirements`` that no pin satisfies."""
    found = []
    for text in requirements:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if not any(pin.name == name and requirement.specifier.contains(pin.version) for pin in pins):
            found.append(text)
    return found


def main() -> int:
    """Print the faults; 1 when there are any."""
    locks = {path.stem: path.read_text(encoding="utf-8") for path in REQUIREMENTS.glob("*.lock")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = lock_faults(locks)
    for part, holders in HOLDERS.items():
        requirements = project["dependencies"] if part is None else project["optional-dependencies"][part]
        for holder in holders:
            pins = [pin for lock in holder.split("+") for pin in parse_lock(locks[lock])]
            found += [f"{holder}.lock lacks {text}; run scripts/lock" for text in missing(requirements, pins)]
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
