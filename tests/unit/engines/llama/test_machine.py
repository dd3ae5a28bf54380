"""The engine's view of the machine against what the operating system says by other ways."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dragoman.engines.llama.machine import available_bytes, cpu_model, physical_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells")


def test_cores_are_no_more_than_the_processors_that_we_may_use() -> None:
    allowed = int(subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout)
    assert 1 <= physical_cores() <= allowed


def test_one_processor_is_one_core() -> None:
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(ours)})
    try:
        assert physical_cores() == 1
    finally:
        os.sched_setaffinity(0, ours)


def test_available_memory_is_part_of_what_there_is() -> None:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    available = available_bytes()
    assert available is not None
    assert total // 100 < available < total


def test_the_processor_is_named_as_lscpu_names_it() -> None:
    described = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    assert cpu_model() in described
