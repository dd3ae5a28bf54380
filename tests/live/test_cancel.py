"""A cancelled request ends in every phase, at once, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from dragoman.core.errors import Cancelled
from dragoman.engines.calls import Stream
from dragoman.protocol.frames import Accept, Data, Progress
from support.live import CALM, PATIENCE, LiveEngine, answer, arbitrary_prompt, greedy, live_engine, read, running

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def one_chunk(demo_model: Path, cache_dir: Path, engine: LiveEngine):
    """Computes a prompt of 6,000 tokens in one call of llama.cpp, which takes many seconds."""
    flags = (*CALM, "--context", "8192", "--slots", "2", "--prefill-chunk", "6144")
    async with running(live_engine(demo_model, cache_dir, *flags)) as live:
        yield live


async def until(stream: Stream, kind: type, count: int = 1) -> None:
    """Read until so many outputs of a kind have come."""
    async with asyncio.timeout(PATIENCE):
        while count:
            count -= isinstance(await anext(stream), kind)


async def cancel(engine: LiveEngine, stream: Stream) -> None:
    """Returns when the engine has said that the request is over."""
    others = engine.client.pending - 1
    await stream.aclose()
    assert engine.client.pending == others
    with pytest.raises(Cancelled):
        while True:
            await anext(stream)


async def test_a_long_prompt_is_given_up_inside_its_only_chunk(one_chunk: LiveEngine):
    prompt = arbitrary_prompt(400, 6000)
    stream = await one_chunk.client.submit(greedy(prompt, 5))
    await until(stream, Accept)
    await cancel(one_chunk, stream)
    after = await answer(one_chunk, greedy(arbitrary_prompt(400, 300), 5))
    # Had the chunk been computed to its end, it would be in the cache.
    assert after.accept.cached_tokens == 0
    isolated = await answer(one_chunk, greedy(arbitrary_prompt(400, 300), 5, isolation="other"))
    assert after.ids == isolated.ids


async def test_a_long_prompt_is_given_up_between_chunks_and_what_was_computed_serves_others(engine: LiveEngine):
    prompt = arbitrary_prompt(401, 1900)
    stream = await engine.client.submit(greedy(prompt, 5))
    await until(stream, Progress)
    await cancel(engine, stream)
    after = await engine.client.submit(greedy(prompt, 5))
    accept = await anext(after)
    assert isinstance(accept, Accept)
    assert 256 <= accept.cached_tokens < 1899
    assert accept.cached_tokens % 256 == 0
    await cancel(engine, after)


async def test_a_decoding_request_is_given_up_and_its_slot_is_free(engine: LiveEngine):
    expected = await answer(engine, greedy(arbitrary_prompt(403, 30), 8))
    stream = await engine.client.submit(greedy(arbitrary_prompt(402, 20), 2000, slot=5, ignore_eos=True))
    await until(stream, Data, 3)
    await cancel(engine, stream)
    after = await answer(engine, greedy(arbitrary_prompt(403, 30), 8, slot=5))
    assert after.ids == expected.ids


async def test_a_request_that_waits_for_anothers_prefix_is_given_up_and_the_other_goes_on(engine: LiveEngine):
    prompt = arbitrary_prompt(404, 700)
    first = await engine.client.submit(greedy(prompt, 5, slot=0))
    await until(first, Accept)
    waiting = await engine.client.submit(greedy(prompt, 5, slot=1))
    await cancel(engine, waiting)
    assert not waiting.accepted
    rest = [output async for output in first]
    alone = await answer(engine, greedy(prompt, 5, isolation="alone"))
    assert [output.token for output in rest if isinstance(output, Data)] == alone.ids


async def test_a_stopped_request_keeps_what_it_generated(engine: LiveEngine):
    stream = await engine.client.submit(greedy(arbitrary_prompt(405, 20), 1000, ignore_eos=True))
    seen = [await anext(stream), await anext(stream), await anext(stream)]
    await stream.stop()
    rest = [output async for output in stream]
    done = rest[-1]
    assert done.emitted == sum(isinstance(output, Data) for output in [*seen, *rest]) < 1000
    assert not done.length_limited
    await read(await engine.client.submit(greedy(arbitrary_prompt(405, 20), 1)))
