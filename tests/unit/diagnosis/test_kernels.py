"""What is said of a crashing build names a command that mends it."""

from __future__ import annotations

import shlex
from importlib import metadata

from dragoman.diagnosis.kernels import crashed_kernels, rebuild_command
from dragoman.diagnosis.machine import Machine
from llama_flags import flag_sets

AMX_FLAGS = (
    "avx2",
    "fma",
    "f16c",
    "bmi2",
    "avx512f",
    "avx512cd",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "amx_tile",
    "amx_int8",
)


def machine(*features: str) -> Machine:
    return Machine(cpu="Test CPU", architecture="x86_64", cores=2, features=features, memory=None)


def test_the_command_builds_with_the_flags_of_our_own_set_up() -> None:
    ours = flag_sets(system="Linux", machine="x86_64", flags=frozenset(AMX_FLAGS), gcc=True)[0]
    assert ours.name == "amx"
    variable, *command = shlex.split(rebuild_command(machine("avx2", "amx_int8")))
    name, _, value = variable.partition("=")
    assert name == "CMAKE_ARGS"
    assert tuple(shlex.split(value)) == ours.cmake
    assert command[:2] == ["pip", "install"]
    assert "--no-cache-dir" in command  # pip's wheel cache holds the broken build
    assert "--force-reinstall" in command


def test_without_amx_a_build_for_this_cpu_is_enough() -> None:
    command = shlex.split(rebuild_command(machine("avx2")))
    assert command[:2] == ["pip", "install"]
    assert command[command.index("--no-binary") + 1] == "llama-cpp-python"


def test_the_version_stays_the_installed_one() -> None:
    try:
        expected = f"llama-cpp-python=={metadata.version('llama-cpp-python')}"
    except metadata.PackageNotFoundError:
        expected = "llama-cpp-python"
    assert shlex.split(rebuild_command(machine()))[-1] == expected


def test_the_finding_says_what_happened_and_what_to_do() -> None:
    finding = crashed_kernels(machine("amx_int8"))
    assert "SIGILL" in finding.detail
    assert rebuild_command(machine("amx_int8")) in (finding.advice or "")
    assert "make serve" in (finding.advice or "")
