"""What doctor finds, and that it says what to do wherever something is wrong."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from dragoman.diagnosis import checks
from dragoman.diagnosis.checks import Finding, Verdict
from dragoman.diagnosis.gguf import Header
from dragoman.diagnosis.machine import Machine

GIB = 1024**3

HEADER = Header(
    size=GIB,
    metadata={
        "general.architecture": "llama",
        "llama.block_count": 30,
        "llama.context_length": 8192,
        "llama.embedding_length": 576,
        "llama.attention.head_count": 9,
        "llama.attention.head_count_kv": 3,
    },
)


def machine(*, memory: int | None = 8 * GIB, features: tuple[str, ...] = ("avx2",)) -> Machine:
    return Machine(cpu="A CPU", architecture="x86_64", cores=2, features=features, memory=memory)


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def problem(finding: Finding) -> str:
    assert finding.verdict is Verdict.PROBLEM
    assert finding.advice
    return finding.detail


def test_a_cpu_without_avx2_is_worth_a_warning() -> None:
    assert checks.processor(machine()).verdict is Verdict.OK
    assert checks.processor(machine(features=())).verdict is Verdict.WARNING


def test_a_build_that_leaves_a_part_of_the_cpu_unused_is_worth_a_warning() -> None:
    has_amx = machine(features=("avx2", "amx_int8"))
    assert checks.engine_build(has_amx, {"features": "AVX2 AMX_INT8 OPENMP"}).verdict is Verdict.OK
    finding = checks.engine_build(has_amx, {"features": "AVX2 OPENMP"})
    assert finding.verdict is Verdict.WARNING
    assert finding.advice is not None
    assert "without AMX_INT8" in finding.advice
    assert checks.engine_build(machine(), {"features": "AVX2"}).verdict is Verdict.OK


def test_a_build_that_says_nothing_of_its_flags_is_not_blamed() -> None:
    assert checks.engine_build(machine(), {"threads": "2"}) == Finding("engine build", Verdict.OK, "threads 2")


def test_what_was_changed_in_the_source_is_named() -> None:
    finding = checks.engine_build(machine(), {"features": "AVX2", "substitutions": "shorter-steps"})
    assert finding == Finding("engine build", Verdict.OK, "features AVX2, substitutions shorter-steps")


def test_weights_and_one_context_must_fit() -> None:
    # 46,080 bytes a token (30 layers x 3 heads x 64 x 2 x 4) times 8192 tokens are 360 MiB beside the weights.
    enough = checks.memory(HEADER, machine(memory=GIB + 361 * 1024**2), context=None, cells=None)
    assert enough.verdict is Verdict.OK
    short = checks.memory(HEADER, machine(memory=GIB + 359 * 1024**2), context=None, cells=None)
    assert "1.35 GiB needed" in problem(short)
    assert short.advice == f"a cache of {359 * 1024**2 // 46_080} tokens would fit: --context or --kv-cells"


def test_the_chosen_cache_counts_rather_than_one_context() -> None:
    finding = checks.memory(HEADER, machine(memory=2 * GIB), context=1024, cells=1_000_000)
    assert "1000000 tokens of cache" in problem(finding)


def test_memory_that_is_not_even_enough_for_the_weights_needs_a_smaller_model() -> None:
    finding = checks.memory(HEADER, machine(memory=GIB // 2), context=None, cells=None)
    assert problem(finding)
    assert finding.advice == "use a smaller model"


def test_a_missing_or_foreign_model_file_is_a_problem(tmp_path: Path) -> None:
    finding, header = checks.model_file(tmp_path / "absent.gguf")
    assert "No such file" in problem(finding)
    assert header is None
    foreign = tmp_path / "model.safetensors"
    foreign.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{}")
    finding, header = checks.model_file(foreign)
    assert "does not start with the letters GGUF" in problem(finding)
    assert header is None


def test_a_port_that_is_taken_is_a_problem() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot be used" in problem(checks.address("127.0.0.1", taken.getsockname()[1]))
    assert checks.address("127.0.0.1", 0).verdict is Verdict.OK


def test_the_self_test_reads_the_last_object_that_the_child_prints() -> None:
    report = {
        "prefill_tokens_per_second": 612.4,
        "decode_tokens_per_second": 98.6,
        "cache_bytes": 3 * GIB,
        "build": {"flags": "AMX"},
    }
    finding, read = checks.self_test(child(f"print('loading'); print({json.dumps(report)!r}); print('bye')"))
    assert finding.verdict is Verdict.OK
    assert finding.detail == "loaded and decoded, prefill 612 tokens/s, decode 99 tokens/s, its cache takes 3.00 GiB"
    assert read == report


def test_a_failed_self_test_passes_on_what_the_engine_said() -> None:
    finding, _ = checks.self_test(child("import sys; print('no room', file=sys.stderr); sys.exit(3)"))
    assert problem(finding) == "the engine failed: no room"


@pytest.mark.parametrize(
    ("name", "advice"), [("SIGILL", "another CPU"), ("SIGKILL", "lack of memory"), ("SIGSEGV", "safer flags")]
)
def test_a_crash_is_told_by_its_signal_and_what_that_means(name: str, advice: str) -> None:
    finding, _ = checks.self_test(child(f"import os, signal; os.kill(os.getpid(), signal.{name})"))
    assert problem(finding).startswith(f"the engine was killed by {name}")
    assert finding.advice is not None
    assert advice in finding.advice


def test_a_self_test_that_hangs_is_ended() -> None:
    finding, _ = checks.self_test(child("import threading; threading.Event().wait()"), timeout=0.5)
    assert problem(finding) == "the engine did not end within 0.5 s"


def test_an_engine_that_is_not_there_is_a_problem() -> None:
    finding, _ = checks.self_test(("/nonexistent/engine",))
    assert "cannot be started" in problem(finding)
