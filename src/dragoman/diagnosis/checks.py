"""One function per question of ``dragoman doctor``; each answers with a finding that says what to do."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from dragoman.diagnosis.gguf import Header, NotGguf, read_header
from dragoman.diagnosis.machine import Machine

SELF_TEST_SECONDS: Final = 600.0
"""A large model on a slow disk takes minutes to load; longer is a hang."""

GIB: Final = 1024**3

F32_BYTES: Final = 4
F16_BYTES: Final = 2


class Verdict(StrEnum):
    """What a finding means for serving."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer. ``advice`` says what to do, and is there whenever something is wrong."""

    subject: str
    verdict: Verdict
    detail: str
    advice: str | None = None


def processor(machine: Machine) -> Finding:
    """Whether the CPU has what the engine is fast with."""
    features = ", ".join(machine.features) or "no instruction set that the engine has kernels for"
    detail = f"{machine.cpu}, {machine.cores} cores: {features}"
    if machine.architecture in {"x86_64", "AMD64"} and "avx2" not in machine.features:
        advice = (
            "build llama.cpp for this CPU: pip install --no-binary llama-cpp-python --force-reinstall llama-cpp-python"
        )
        return Finding("processor", Verdict.WARNING, detail, advice)
    return Finding("processor", Verdict.OK, detail)


def engine_build(machine: Machine, build: Mapping[str, object]) -> Finding:
    """Whether the engine was compiled for what the CPU has; ``build`` is what it says of itself."""
    subject = "engine build"
    detail = ", ".join(f"{key} {value}" for key, value in build.items())
    compiled = set(str(build.get("features", "")).split())
    unused = [name for flag, name in _KERNELS.items() if flag in machine.features and name not in compiled]
    if compiled and unused:
        advice = f"llama.cpp was built without {', '.join(unused)}, which this CPU has; `make serve` in a checkout builds it so"
        return Finding(subject, Verdict.WARNING, detail, advice)
    return Finding(subject, Verdict.OK, detail)


_KERNELS: Final = {"avx2": "AVX2", "avx512f": "AVX512", "amx_int8": "AMX_INT8"}
"""Instruction sets that are worth a build of one's own, as the CPU and as ggml call them."""


def library() -> Finding:
    """Whether llama.cpp is there."""
    try:
        return Finding("engine library", Verdict.OK, f"llama-cpp-python {metadata.version('llama-cpp-python')}")
    except metadata.PackageNotFoundError:
        advice = "pip install 'dragoman[llama]', or `make serve` in a checkout"
        return Finding("engine library", Verdict.PROBLEM, "llama-cpp-python is not installed", advice)


def model_file(path: Path) -> tuple[Finding, Header | None]:
    """Whether the model is a whole GGUF file that we may read."""
    subject = "model file"
    try:
        header = read_header(path)
    except NotGguf as error:
        advice = "download it again, or name a .gguf file"
        return Finding(subject, Verdict.PROBLEM, f"{path} is not a GGUF file that can be used: {error}", advice), None
    except OSError as error:
        advice = "check the path and its permissions"
        return Finding(subject, Verdict.PROBLEM, f"{path} cannot be read: {error.strerror}", advice), None
    detail = f"{path.name}: {header.name or 'unnamed'}, {header.architecture}, {_size(header.size)}"
    return Finding(subject, Verdict.OK, detail), header


def projector_file(path: Path) -> Finding:
    """What pictures go through; whether it is one was looked at before, and whether it fits the model the self-test tells."""
    return Finding("projector", Verdict.OK, f"{path.name}, {_size(path.stat().st_size)} beside the weights")


def memory(
    header: Header, machine: Machine, *, context: int | None, cells: int | None, cell_bytes: int = F32_BYTES
) -> Finding:
    """Whether the weights and the KV cache fit. ``context`` and ``cells`` are tokens; None is the model's, and one context."""
    subject = "memory"
    per_token = header.kv_bytes(cell_bytes=cell_bytes)
    length = context or header.context_length
    if per_token is None or length is None:
        return Finding(
            subject, Verdict.WARNING, f"weights {_size(header.size)}; the file does not tell the cache's size"
        )
    tokens = cells or length
    needed = header.size + tokens * per_token
    detail = f"at least {_size(needed)} needed: weights {_size(header.size)}, {_size(tokens * per_token)} for {tokens} tokens of cache"
    if machine.memory is None:
        return Finding(subject, Verdict.OK, f"{detail}; what is free is unknown here")
    detail += f"; {_size(machine.memory)} free"
    if needed > machine.memory:
        fits = max(0, machine.memory - header.size) // per_token
        advice = f"a cache of {fits} tokens would fit: --context or --kv-cells" if fits >= 64 else "use a smaller model"
        return Finding(subject, Verdict.PROBLEM, detail, advice)
    return Finding(subject, Verdict.OK, detail)


def address(host: str, port: int) -> Finding:
    """Whether the port is free."""
    subject = "address"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        reason = error.strerror or str(error)
        advice = "stop what uses it, or choose another with --port (0 takes a free one)"
        return Finding(subject, Verdict.PROBLEM, f"{host}:{port} cannot be used: {reason}", advice)
    return Finding(subject, Verdict.OK, f"{host}:{port} is free")


def self_test(argv: Sequence[str], *, timeout: float = SELF_TEST_SECONDS) -> tuple[Finding, dict[str, Any]]:
    """Whether the engine loads the model and decodes. Runs ``argv`` as a child, whose last line of output is a JSON object.

    That is returned, too, with the name of the ``signal`` that killed the child, if one did.
    """
    subject = "self-test"
    try:
        child = subprocess.run(  # noqa: S603  # our own engine, with the operator's model
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        detail = f"the engine did not end within {timeout:g} s"
        return Finding(subject, Verdict.PROBLEM, detail, "try a smaller model or fewer threads (--threads)"), {}
    except OSError as error:
        return Finding(subject, Verdict.PROBLEM, f"the engine cannot be started: {error.strerror}", "reinstall it"), {}
    report = _last_object(child.stdout)
    if child.returncode == 0:
        return Finding(subject, Verdict.OK, _speeds(report)), report
    said = str(report.get("error") or _last_line(child.stderr) or "it said nothing")
    if child.returncode < 0:
        name = _signal(-child.returncode)
        advice = _CRASH_ADVICE.get(name, "run `dragoman serve --log-level debug` and report what it says")
        finding = Finding(subject, Verdict.PROBLEM, f"the engine was killed by {name}: {said}", advice)
        return finding, {**report, "signal": name}
    advice = "the line above is the engine's own; `dragoman serve --log-level debug` shows all of them"
    return Finding(subject, Verdict.PROBLEM, f"the engine failed: {said}", advice), report


_CRASH_ADVICE: Final = {
    "SIGILL": "llama.cpp was built for another CPU: build it again here (`make serve` in a checkout, or pip with --no-binary)",
    "SIGKILL": "the system ended it, most often for lack of memory: use a smaller model, --context or --kv-cells",
    "SIGSEGV": "llama.cpp crashed, as miscompiled builds do: build it again with safer flags (`make serve` in a checkout)",
}


def _speeds(report: dict[str, Any]) -> str:
    parts = ["loaded and decoded"]
    for key, unit in (("prefill_tokens_per_second", "prefill"), ("decode_tokens_per_second", "decode")):
        value = report.get(key)
        if isinstance(value, int | float):
            parts.append(f"{unit} {value:.0f} tokens/s")
    if isinstance(report.get("cache_bytes"), int):
        parts.append(f"its cache takes {_size(report['cache_bytes'])}")
    return ", ".join(parts)


def _last_object(output: bytes) -> dict[str, Any]:
    for line in reversed(output.decode(errors="replace").splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return {}


def _last_line(output: bytes) -> str:
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _size(count: int) -> str:
    return f"{count / GIB:.2f} GiB" if count >= GIB // 10 else f"{count / 1024**2:.0f} MiB"
