"""Whole rounds, against a server that is started, asked and stopped as the real ones are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import procfs
from bench.rounds import Cell, measure
from bench.servers import Failed, Server, running
from bench.workloads import WORKLOADS

STUB = str(Path(__file__).with_name("stub_server.py"))


def stub(name, mode="", max_rounds=9):
    def command(port):
        return (sys.executable, STUB, str(port), mode)

    return Server(name=name, version="1", command=command, max_rounds=max_rounds)


async def test_servers_take_turns_and_the_order_turns_around(tmp_path):
    told = []
    cells = [Cell(WORKLOADS["distinct"], 4), Cell(WORKLOADS["conversation"], 1)]
    results = await measure([stub("one"), stub("two")], cells, 2, tmp_path, told.append)
    assert [line.rpartition(" ")[2] for line in told if line.startswith("round")] == ["one", "two", "two", "one"]
    assert results.failures == {}
    for server in ("one", "two"):
        # 4 clients with 2 prompts each, and one conversation of five turns, in each of 2 rounds
        assert [len(streams) for streams in results.rounds(server, "distinct", 4)] == [8, 8]
        assert [len(streams) for streams in results.rounds(server, "conversation", 1)] == [5, 5]
        assert [process.peak_bytes > 2**20 for process in results.processes[server]] == [True, True]
    assert len(results.paired("one", "two", "distinct", 4)) == 2


async def test_a_cell_that_fails_is_told_and_the_others_go_on(tmp_path):
    cells = [Cell(WORKLOADS["distinct"], 1), Cell(WORKLOADS["contexts"], 1)]
    results = await measure([stub("one", "broken")], cells, 1, tmp_path, lambda _: None)
    assert "500 from /v1/completions: out of order" in results.failures["one", "distinct", 1]
    assert len(results.rounds("one", "contexts", 1)) == 1
    assert results.paired("one", "one", "distinct", 1) == []


async def test_a_slow_server_sits_out_after_its_rounds_and_is_compared_by_those(tmp_path):
    servers = [stub("one"), stub("slow", max_rounds=1)]
    results = await measure(servers, [Cell(WORKLOADS["contexts"], 1)], 2, tmp_path, lambda _: None)
    assert [len(results.rounds(server.name, "contexts", 1)) for server in servers] == [2, 1]
    assert len(results.paired("one", "slow", "contexts", 1)) == 1


async def test_a_server_that_does_not_start_says_why(tmp_path):
    with pytest.raises(Failed, match=r"ended with 1: no such model"):
        async with running(stub("one", "dead"), tmp_path / "log"):
            pass


async def test_a_server_is_gone_after_its_turn(tmp_path):
    async with running(stub("one"), tmp_path / "log") as server:
        assert procfs.tree(server.pid)
    assert procfs.tree(server.pid) == []
