"""What a machine has, read from directories that look like Linux's /proc and /sys/fs/cgroup."""

from __future__ import annotations

from pathlib import Path

from dragoman.diagnosis.machine import read_machine

CPUINFO = """\
processor\t: 0
model name\t: A CPU @ 2.0GHz
flags\t\t: fpu sse2 fma avx2 f16c amx_int8
processor\t: 1
model name\t: Another CPU
"""


def linux(folder: Path, *, available: int, limit: str | None = None, used: int = 0) -> tuple[Path, Path]:
    proc, cgroup = folder / "proc", folder / "cgroup"
    proc.mkdir()
    cgroup.mkdir()
    (proc / "cpuinfo").write_text(CPUINFO)
    (proc / "meminfo").write_text(f"MemTotal:       99 kB\nMemAvailable:   {available} kB\n")
    if limit is not None:
        (cgroup / "memory.max").write_text(f"{limit}\n")
        (cgroup / "memory.current").write_text(f"{used}\n")
    return proc, cgroup


def test_the_first_core_describes_the_cpu(tmp_path: Path) -> None:
    proc, cgroup = linux(tmp_path, available=1000)
    machine = read_machine(proc=proc, cgroup=cgroup)
    assert machine.cpu == "A CPU @ 2.0GHz"
    assert machine.features == ("avx2", "fma", "f16c", "amx_int8")
    assert machine.cores >= 1


def test_without_a_container_the_system_says_what_is_free(tmp_path: Path) -> None:
    proc, cgroup = linux(tmp_path, available=1000)
    assert read_machine(proc=proc, cgroup=cgroup).memory == 1000 * 1024


def test_a_container_may_have_less_than_the_machine(tmp_path: Path) -> None:
    proc, cgroup = linux(tmp_path, available=1000, limit="700000", used=200_000)
    assert read_machine(proc=proc, cgroup=cgroup).memory == 500_000


def test_a_container_without_a_limit_has_what_the_machine_has(tmp_path: Path) -> None:
    proc, cgroup = linux(tmp_path, available=1000, limit="max")
    assert read_machine(proc=proc, cgroup=cgroup).memory == 1000 * 1024


def test_a_system_without_these_files_leaves_them_out(tmp_path: Path) -> None:
    machine = read_machine(proc=tmp_path / "none", cgroup=tmp_path / "none")
    assert (machine.features, machine.memory) == ((), None)
