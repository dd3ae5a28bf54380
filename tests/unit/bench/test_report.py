from __future__ import annotations

import pytest

from bench.gateway import GatewayCost
from bench.machine import Machine
from bench.report import BEGIN, END, Report, place, render
from bench.rounds import Cell, Process, Results
from bench.streams import Stream
from bench.workloads import WORKLOADS

MACHINE = Machine(processor="A Processor", cores=2, instructions="avx2", memory_gib=23.5, system="Linux 6", load=0.25)


def stream(*arrivals):
    return Stream(
        sent=0.0, arrivals=arrivals, text="x", prompt_tokens=40, cached_tokens=10, output_tokens=len(arrivals)
    )


@pytest.fixture
def report():
    results = Results()
    results.streams["dragoman", "distinct", 8] = {0: (stream(0.05, 0.5),)}
    results.streams["llama-server", "distinct", 8] = {0: (stream(0.2, 1.0),)}
    results.failures["xllamacpp", "distinct", 8] = "Refused: 500 from /v1/completions: a|b"
    results.processes["dragoman"] = [Process(1.0, 100 * 2**20), Process(3.0, 120 * 2**20)]
    return Report(
        date="2026-11-30",
        command="python -m bench",
        machine=MACHINE,
        model="model.gguf",
        conditions="2 threads",
        versions={"dragoman": "0.1.0", "llama-server": "0.3.36", "xllamacpp": "2026.10"},
        cells=[Cell(WORKLOADS["distinct"], 8)],
        results=results,
        gateway=GatewayCost(
            requests_per_second=1234.5,
            first_token_p50=0.0008,
            first_token_p95=0.0011,
            processor_per_token={16: 4.5e-05},
        ),
        unavailable={"other": "no compiler"},
    )


def lines(report):
    return render(report).splitlines()


def test_a_row_has_throughput_latencies_and_the_cached_share(report):
    # 2 tokens in 0.5 s; one gap of 450 ms; 10 of 40 prompt tokens.
    assert "| 8 | dragoman | 4 | 50.0 | 50.0 | 450 | 450 | 40 | 25% |  |  |" in lines(report)


def test_a_peers_row_has_our_ratios_to_it(report):
    assert "| 8 | llama-server | 2 | 200 | 200 | 800 | 800 | 40 | 25% | 2.00 x | 0.25 x |" in lines(report)


def test_a_failed_cell_says_why_and_breaks_no_table(report):
    (row,) = [line for line in lines(report) if line.startswith("| 8 | xllamacpp")]
    assert "failed: Refused: 500 from /v1/completions: a/b" in row


def test_every_row_of_a_table_has_as_many_cells_as_its_header(report):
    widths = {}
    for section in render(report).split("### ")[1:]:
        title, *rows = section.splitlines()
        widths[title] = {row.count("|") for row in rows if row.startswith("|")}
    assert len(widths) == 4
    assert all(len(width) == 1 for width in widths.values()), widths


def test_the_machine_the_date_the_command_and_the_versions_are_told(report):
    text = render(report)
    for fact in ("2026-11-30", "`python -m bench`", "A Processor, 2 cores (avx2)", "load average 0.25", "model.gguf"):
        assert fact in text
    assert "- llama-server: 0.3.36" in text
    assert "- other: not measured: no compiler" in text


def test_memory_is_the_highest_and_the_start_the_median_of_the_runs(report):
    assert "| dragoman | 120 | 2.0 |" in lines(report)


def test_the_gateways_costs_are_in_requests_milliseconds_and_microseconds(report):
    text = render(report)
    assert "16 connections) | 1234 |" in text
    assert "p50, ms | 0.80 |" in text
    assert "16 streams, µs | 45.0 |" in text


def test_a_goal_that_is_missed_stands_out(report):
    text = render(report)
    assert "| distinct, 8 clients: tokens per second, against llama-server | 2.00 | at least 1 | times | yes |" in text
    report.results.streams["dragoman", "distinct", 8] = {0: (stream(0.4, 4.0),)}
    assert "| 0.25 | at least 1 | times | **no** |" in render(report)


def test_a_block_is_put_at_the_end_of_a_document_without_markers():
    assert place("# Benchmarks\n", "figures") == f"# Benchmarks\n\n{BEGIN}\n\nfigures\n\n{END}\n"


def test_a_second_run_replaces_the_first_and_leaves_the_rest_alone():
    document = place("# Benchmarks\n\nWhy.\n", "old") + "\n## Determinism\n\nWords.\n"
    again = place(document, "new")
    assert again == document.replace("old", "new")
    assert place(again, "new") == again


def test_a_document_with_half_a_pair_of_markers_is_left_alone():
    with pytest.raises(ValueError, match="one marker"):
        place(f"# Benchmarks\n\n{BEGIN}\n\nmine\n", "figures")
