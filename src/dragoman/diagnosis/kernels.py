"""What to say, and to do, where llama.cpp's kernels for this CPU crash and only its safe ones work."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib import metadata
from typing import Any, Final

from dragoman.diagnosis import checks
from dragoman.diagnosis.checks import Finding, Verdict
from dragoman.diagnosis.machine import Machine

AMX_CMAKE: Final = ("-DGGML_NATIVE=ON", "-DCMAKE_CXX_FLAGS=-fno-dse -fno-tree-dse")
"""How scripts/llama_flags.py builds for AMX with GCC, whose dead-store elimination would drop the tile configuration."""

DISTRIBUTION: Final = "llama-cpp-python"


CRASHES: Final = frozenset({"SIGILL", "SIGSEGV"})
"""How it dies of that: by the first tile operation if the configuration is empty, by loading it if it is whatever was on the stack."""


def self_test(argv: Sequence[str], safe: Sequence[str], machine: Machine) -> tuple[tuple[Finding, ...], dict[str, Any]]:
    """``checks.self_test``; after a crash with ``safe`` instead, as `dragoman serve` would go on."""
    finding, report = checks.self_test(argv)
    if report.get("signal") in CRASHES:
        again, of_safe = checks.self_test(safe)
        if again.verdict is Verdict.OK:
            return (crashed_kernels(machine), again), of_safe
    return (finding,), report


def crashed_kernels(machine: Machine) -> Finding:
    """The finding of a build that works with its safe kernels only."""
    detail = "llama.cpp's fast kernels crash on this CPU, so they are left out: answers are as good, but prompts are read more slowly"
    advice = f"build llama.cpp again: {rebuild_command(machine)}, or `make serve` in a checkout"
    return Finding("engine kernels", Verdict.WARNING, detail, advice)


def rebuild_command(machine: Machine) -> str:
    """A shell line that replaces the installed llama.cpp by the same version, built here and in a way that suits this CPU."""
    arguments = f'CMAKE_ARGS="{shlex.join(AMX_CMAKE)}" ' if "amx_int8" in machine.features else ""
    options = f"--force-reinstall --no-deps --no-cache-dir --no-binary {DISTRIBUTION}"
    return f"{arguments}pip install {options} {DISTRIBUTION}{_pin()}"


def _pin() -> str:
    try:
        return f"=={metadata.version(DISTRIBUTION)}"
    except metadata.PackageNotFoundError:
        return ""
