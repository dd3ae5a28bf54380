"""One engine with the demo model for all live tests, others only where a test needs other flags."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio

from dragoman.compose import StartFailed, find_model
from dragoman.dialects.base import Dialect
from dragoman.dialects.registry import dialect_for
from dragoman.settings import Settings
from support.live import CALM, PATIENCE, LiveEngine, live_engine, running
from support.serve import Running, serving


@pytest.fixture(scope="session")
def demo_model() -> Path:
    """The demo model's file; without it, or without llama.cpp, the test is skipped."""
    if find_spec("llama_cpp") is None:
        pytest.skip("llama_cpp is not installed")
    try:
        return find_model(Settings())
    except StartFailed:
        pytest.skip("the demo model is not installed")


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one engine measures, the next ones remember."""
    return tmp_path_factory.mktemp("engine-cache")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine(demo_model: Path, cache_dir: Path):
    """Sixteen sequences of 2,048 tokens, prompts in chunks of 256."""
    flags = (*CALM, "--context", "2048", "--slots", "16", "--prefill-chunk", "256")
    async with running(live_engine(demo_model, cache_dir, *flags)) as live:
        yield live


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def small_chunks(demo_model: Path, cache_dir: Path, engine: LiveEngine):
    """Eight sequences of 512 tokens, prompts in chunks of 16. It comes after ``engine``, whose measurements it uses."""
    flags = (*CALM, "--context", "512", "--slots", "8", "--prefill-chunk", "16")
    async with running(live_engine(demo_model, cache_dir, *flags)) as live:
        yield live


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def served(demo_model: Path, cache_dir: Path, engine: LiveEngine):
    """``dragoman serve``, whole, with an engine like ``engine``; nobody kills it."""
    flags = (*CALM, "--context", "2048", "--prefill-chunk", "256", "--cache-dir", str(cache_dir))
    async with serving(str(demo_model), *flags, patience=PATIENCE) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def sdk(served: Running):
    """The official client of ``served``."""
    async with served.client() as client:
        yield client.with_options(timeout=PATIENCE)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def dialect(engine: LiveEngine) -> Dialect:
    """What the engine's description of its model makes of conversations."""
    info = engine.client.info
    return dialect_for(
        template=info.chat_template,
        specials=tuple(token.text for token in info.special_tokens),
        bos_token=info.bos_token,
        eos_token=info.eos_token,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
