"""A build whose fast kernels crash is served with its safe ones, and only such a build."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from dragoman.compose import open_backend
from dragoman.compose.llama_links import SAFE_KERNELS, LlamaLinks, build_marker
from dragoman.core.errors import EngineFailed
from dragoman.diagnosis.checks import Verdict
from dragoman.engines.process import ProcessLink
from dragoman.settings import Settings

SETTINGS = Settings(engine="simulated")
CHILD = """
import os, runpy, sys
if {condition}:
    os.kill(os.getpid(), {signal})
sys.argv = ["engine"]
runpy.run_module("dragoman.engines.simulated", run_name="__main__")
"""
UNLESS_SAFE = f"{SAFE_KERNELS!r} not in sys.argv"


class Spawned(list[tuple[str, ...]]):
    """Starts real children, and keeps their command lines."""

    async def __call__(self, argv: tuple[str, ...]) -> ProcessLink:
        self.append(argv)
        return await ProcessLink.spawn(argv)


def child(condition: str, number: int = signal.SIGILL) -> tuple[str, ...]:
    """A simulated engine that dies before it says a word, if ``condition`` holds."""
    return (sys.executable, "-c", CHILD.format(condition=condition, signal=int(number)))


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "crashed-builds" / "0123"


@pytest.mark.parametrize("number", [signal.SIGILL, signal.SIGSEGV])
async def test_a_child_that_crashes_while_loading_is_started_again_with_safe_kernels(marker: Path, number: int):
    spawned, argv = Spawned(), child(UNLESS_SAFE, number)
    phases: list[str] = []
    backend = await open_backend(
        SETTINGS,
        links=LlamaLinks(argv, marker=marker, spawn=spawned),
        on_progress=lambda _, phase: phases.append(phase),
    )
    try:
        assert spawned == [argv, (*argv, "--safe-kernels")]
        assert backend.engine.status == "ready"
        assert backend.service.health().status == "ok"
        assert "loading again with safe kernels" in phases
        (finding,) = backend.findings
        assert finding.verdict is Verdict.WARNING
        assert "crash" in finding.detail
        assert "pip install" in (finding.advice or "")
    finally:
        await backend.close()


async def test_the_next_start_does_not_crash_first_and_says_so_again(marker: Path):
    argv = child(UNLESS_SAFE)
    await (await open_backend(SETTINGS, links=LlamaLinks(argv, marker=marker))).close()
    spawned = Spawned()
    backend = await open_backend(SETTINGS, links=LlamaLinks(argv, marker=marker, spawn=spawned))
    await backend.close()
    assert spawned == [(*argv, "--safe-kernels")]
    assert len(backend.findings) == 1


async def test_a_child_that_dies_again_is_not_started_a_third_time(marker: Path):
    spawned = Spawned()
    with pytest.raises(EngineFailed, match="killed by SIGILL while it loaded the model"):
        await open_backend(SETTINGS, links=LlamaLinks(child("True"), marker=marker, spawn=spawned))
    assert len(spawned) == 2
    assert not LlamaLinks((), marker=marker).safe  # the kernels are not to blame


async def test_other_deaths_have_other_causes(marker: Path):
    spawned = Spawned()
    with pytest.raises(EngineFailed, match="SIGKILL"):
        await open_backend(SETTINGS, links=LlamaLinks(child(UNLESS_SAFE, signal.SIGKILL), marker=marker, spawn=spawned))
    assert len(spawned) == 1
    assert not LlamaLinks((), marker=marker).safe


async def test_a_sound_build_keeps_all_its_kernels_and_nothing_is_said(marker: Path):
    spawned = Spawned()
    backend = await open_backend(SETTINGS, links=LlamaLinks(child("False"), marker=marker, spawn=spawned))
    await backend.close()
    assert [SAFE_KERNELS in argv for argv in spawned] == [False]
    assert backend.findings == ()
    assert not LlamaLinks((), marker=marker).safe


async def test_a_crash_while_serving_falls_back_at_the_restart(marker: Path):
    argv = child("False")
    spawned = Spawned()
    links = LlamaLinks(argv, marker=marker, spawn=spawned)
    first = await links()
    assert isinstance(first, ProcessLink)
    first._process.send_signal(signal.SIGILL)
    await first.close(drain=5)
    second = await links()
    await second.close(drain=5)
    assert spawned == [argv, (*argv, "--safe-kernels")]


async def test_a_cache_directory_that_cannot_be_written_costs_only_the_memory(tmp_path: Path):
    (tmp_path / "file").write_text("")
    marker = tmp_path / "file" / "crashed-builds" / "0123"
    backend = await open_backend(SETTINGS, links=LlamaLinks(child(UNLESS_SAFE), marker=marker))
    await backend.close()
    assert len(backend.findings) == 1


def test_the_marker_of_a_build_is_always_the_same(tmp_path: Path):
    assert build_marker(tmp_path) == build_marker(tmp_path)
    assert build_marker(tmp_path).parent == tmp_path / "crashed-builds"


def test_a_library_that_was_built_again_gets_a_new_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    library = tmp_path / "llama_cpp" / "lib" / "libggml-cpu.so"
    library.parent.mkdir(parents=True)
    (tmp_path / "llama_cpp" / "__init__.py").write_text("raise SystemExit('it must not be run')")
    library.write_bytes(b"broken")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "llama_cpp", raising=False)
    before = build_marker(tmp_path)
    library.write_bytes(b"mended!")
    assert build_marker(tmp_path) != before
