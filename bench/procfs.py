"""What Linux knows of a running process: its children, its peak memory, its processor time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """A process and all that descend from it; empty once it is gone."""
    try:
        tasks = list((_PROC / f"{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid, *(descendant for task in tasks for child in _children(task) for descendant in tree(child))]


def peak_resident_bytes(pid: int) -> int:
    """The sum of the highest resident sizes that each process of the tree ever had."""
    return sum(_peak(member) for member in tree(pid))


def processor_seconds(pid: int) -> float:
    """User and system time of one process, its children not counted.

    Nanoseconds per thread where the kernel keeps them, else clock ticks of 10 ms.
    """
    try:
        return sum(_nanoseconds(task) for task in (_PROC / f"{pid}/task").iterdir()) / 1e9
    except FileNotFoundError:
        fields = (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK


def _children(task: Path) -> list[int]:
    """A thread may end while its process is looked at."""
    try:
        return [int(child) for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _nanoseconds(task: Path) -> int:
    try:
        return int((task / "schedstat").read_text().split()[0])
    except ProcessLookupError:
        return 0


def _peak(pid: int) -> int:
    try:
        status = (_PROC / f"{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    lines = (line.split() for line in status.splitlines())
    return sum(int(fields[1]) * 1024 for fields in lines if fields[0] == "VmHWM:")
