"""Where the figures were measured: a benchmark without its machine says nothing."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The processor and the system; ``load`` is the load average of the last minute, before anything was started."""

    processor: str
    cores: int
    instructions: str
    memory_gib: float
    system: str
    load: float


def describe() -> Machine:
    """Look at the machine that this runs on (Linux)."""
    fields = {
        key.strip(): value.strip()
        for key, _, value in (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    }
    flags = fields.get("flags", "").split()
    wanted = ("avx2", "avx512f", "avx512_vnni", "amx_int8")
    return Machine(
        processor=fields.get("model name", platform.processor() or "unknown"),
        cores=len(os.sched_getaffinity(0)),
        instructions=", ".join(flag for flag in wanted if flag in flags),
        memory_gib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        system=f"{platform.system()} {platform.release()}",
        load=os.getloadavg()[0],
    )
