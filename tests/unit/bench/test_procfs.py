from __future__ import annotations

import os
import subprocess
import sys

from bench import procfs


def test_the_tree_of_a_process_has_its_children():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in procfs.tree(os.getpid())
        child.communicate(b"\n")
    assert child.pid not in procfs.tree(os.getpid())


def test_a_process_that_is_gone_has_no_tree_and_no_memory():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert procfs.tree(child.pid) == []
    assert procfs.peak_resident_bytes(child.pid) == 0


def test_peak_memory_counts_what_was_freed_since():
    before = procfs.peak_resident_bytes(os.getpid())
    block = bytearray(os.urandom(1)) * (256 * 2**20)
    del block
    assert procfs.peak_resident_bytes(os.getpid()) >= min(before, 256 * 2**20)
    assert procfs.peak_resident_bytes(os.getpid()) >= 256 * 2**20


def test_processor_time_is_what_the_process_spent():
    before, own = procfs.processor_seconds(os.getpid()), os.times()
    sum(i * i for i in range(1_500_000))
    after, own_after = procfs.processor_seconds(os.getpid()), os.times()
    spent = own_after.user - own.user + own_after.system - own.system
    assert abs((after - before) - spent) < 0.05  # os.times counts ticks of 10 ms, and other threads may have ended
