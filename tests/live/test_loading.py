"""Models that can not be loaded are refused by name, in words that say what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dragoman.core.errors import Code, EngineFailed
from support.live import live_engine

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]


async def failure(model: Path, cache_dir: Path, *flags: str) -> str:
    """What the client says when it can not start, which it tries once."""
    engine = live_engine(model, cache_dir, *flags)
    with pytest.raises(EngineFailed) as failed:
        await engine.client.start()
    assert engine.client.status == "failed"
    assert engine.client.failure == failed.value.message
    assert failed.value.code == Code.ENGINE_CRASHED
    await engine.client.aclose()
    assert len(engine.children) == 1
    return failed.value.message


async def test_a_file_that_is_not_there(demo_model: Path, tmp_path: Path):
    said = await failure(tmp_path / "nothing.gguf", tmp_path)
    assert "its file can not be read" in said
    assert "nothing.gguf" in said


async def test_a_file_that_is_no_model(demo_model: Path, tmp_path: Path):
    path = tmp_path / "letter.gguf"
    path.write_text("Dear Sir or Madam")
    said = await failure(path, tmp_path)
    assert "not a model that the engine can read" in said
    assert "letter.gguf is not a GGUF file" in said


@pytest.mark.parametrize("size", [1_000, 5_000_000], ids=["in its header", "in its weights"])
async def test_a_file_that_ends_too_early(demo_model: Path, tmp_path: Path, size: int):
    path = tmp_path / "cut.gguf"
    with demo_model.open("rb") as whole:
        path.write_bytes(whole.read(size))
    assert "not a model that the engine can read" in await failure(path, tmp_path)


async def test_an_architecture_that_nobody_knows(demo_model: Path, tmp_path: Path):
    path = tmp_path / "nonesuch.gguf"
    path.write_bytes(gguf({"general.architecture": "nonesuch"}))
    said = await failure(path, tmp_path)
    assert "does not know this kind of model" in said
    assert "nonesuch" in said


@pytest.mark.seeds("S137")
async def test_a_context_that_does_not_fit_into_memory(demo_model: Path, tmp_path: Path):
    said = await failure(demo_model, tmp_path, "--context", "100000000")
    assert "not enough memory" in said
    assert "--context" in said


def gguf(strings: dict[str, str]) -> bytes:
    """A file of version 3 with no tensors: counts, then key, type (8 is text) and value of each entry."""
    entries = b"".join(_text(key) + struct.pack("<I", 8) + _text(value) for key, value in strings.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(strings)) + entries


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()
