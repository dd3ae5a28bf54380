"""What this machine has: instruction sets that llama.cpp can use, cores, and memory that is free for us."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FEATURES: Final = ("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")
"""Instruction sets with kernels in ggml, by their names in /proc/cpuinfo, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A computer. ``memory`` is what may still be used, in bytes; None where the system does not tell."""

    cpu: str
    architecture: str
    cores: int
    features: tuple[str, ...]
    memory: int | None


def read_machine(*, proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> Machine:
    """Look at this machine; what cannot be read is left out."""
    cpuinfo = _colon_fields(proc / "cpuinfo")
    flags = set(cpuinfo.get("flags", "").split())
    return Machine(
        cpu=cpuinfo.get("model name") or platform.processor() or "unknown",
        architecture=platform.machine(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        features=tuple(name for name in FEATURES if name in flags),
        memory=_available_memory(proc / "meminfo", cgroup),
    )


def _available_memory(meminfo: Path, cgroup: Path) -> int | None:
    """The least of what the system and the container allow: a container sees the whole machine in meminfo."""
    text = _colon_fields(meminfo).get("MemAvailable", "").split()
    bounds = [int(text[0]) * 1024] if text else []
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit is not None and used is not None:
        bounds.append(max(0, limit - used))
    return min(bounds, default=None)


def _colon_fields(path: Path) -> dict[str, str]:
    """``key: value`` lines; the first of each key, which for cpuinfo is the first core's."""
    fields: dict[str, str] = {}
    for line in _read(path).splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    return fields


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdecimal() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
