"""What this machine has: cores that compute, and memory that can be had."""

from __future__ import annotations

import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def physical_cores() -> int:
    """Cores that this process may use, hyper-threads counted once: a second thread on a core only waits for its units."""
    if not hasattr(os, "sched_getaffinity"):
        return max(1, (os.cpu_count() or 2) // 2)
    allowed = os.sched_getaffinity(0)
    siblings = set()
    for cpu in allowed:
        try:
            siblings.add((_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip())
        except OSError:
            return len(allowed)
    return max(1, len(siblings))


def available_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def cpu_model() -> str:
    """The processor's name, or nothing where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
