"""What is said of a crashing build names a command that mends it."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dragoman.diagnosis.checks import Verdict
from dragoman.diagnosis.kernels import crashed_kernels, rebuild_command, self_test
from dragoman.diagnosis.machine import Machine
from llama_flags import flag_sets

README = Path(__file__).parents[3] / "README.md"

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


def test_the_readme_gives_the_same_flags() -> None:
    line = next(line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("CMAKE_ARGS="))
    assert line.removesuffix(" \\") == rebuild_command(machine("amx_int8")).partition(" pip ")[0]


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
    assert "crash" in finding.detail
    assert rebuild_command(machine("amx_int8")) in (finding.advice or "")
    assert "make serve" in (finding.advice or "")


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import os, signal; {code}")


SOUND = child("print('{\"decode_tokens_per_second\": 7}')")
ILLEGAL = child("os.kill(os.getpid(), signal.SIGILL)")
KILLED = child("os.kill(os.getpid(), signal.SIGKILL)")
TORN = child("os.kill(os.getpid(), signal.SIGSEGV)")


@pytest.mark.parametrize("crash", [ILLEGAL, TORN], ids=["SIGILL", "SIGSEGV"])
def test_a_build_that_works_with_its_safe_kernels_is_a_warning_and_no_problem(crash: tuple[str, ...]) -> None:
    (crashed, tested), report = self_test(crash, SOUND, machine("amx_int8"))
    assert crashed == crashed_kernels(machine("amx_int8"))
    assert (tested.verdict, tested.detail) == (Verdict.OK, "loaded and decoded, decode 7 tokens/s")
    assert report == {"decode_tokens_per_second": 7}


def test_a_build_that_crashes_with_both_is_told_as_the_crash_that_it_is() -> None:
    (tested,), _ = self_test(ILLEGAL, TORN, machine())
    assert tested.verdict is Verdict.PROBLEM
    assert "SIGILL" in tested.detail


def test_a_sound_build_is_tested_once() -> None:
    (tested,), _ = self_test(SOUND, ILLEGAL, machine())
    assert tested.verdict is Verdict.OK


def test_another_death_does_not_blame_the_kernels() -> None:
    (tested,), _ = self_test(KILLED, SOUND, machine())
    assert "SIGKILL" in tested.detail
