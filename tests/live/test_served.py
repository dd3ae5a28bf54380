"""``dragoman serve`` with the demo model, whole, spoken to by the official SDK."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import httpx
import openai
import pytest
import pytest_asyncio

from support.live import CALM, FRANCE, FRANCE_ANSWER, PATIENCE, LiveEngine
from support.serve import Running, children, serving

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

STORY = [{"role": "user", "content": "Tell me a long story."}]
ON_AND_ON = {"ignore_eos": True}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(demo_model: Path, cache_dir: Path, engine: LiveEngine):
    """It comes after ``engine``, whose measurements it uses."""
    async with serving(*CALM, "--context", "2048", "--cache-dir", str(cache_dir), patience=PATIENCE) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(server: Running):
    async with server.client() as sdk:
        yield sdk.with_options(timeout=PATIENCE)


async def health(server: Running) -> tuple[int, dict]:
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        reply = await http.get(f"{server.url}/health")
    return reply.status_code, reply.json()


@pytest.mark.seeds("S1", "S52", "S53")
async def test_the_sdk_gets_the_answer_of_other_servers_whole_and_in_pieces(client: openai.AsyncOpenAI):
    asked = {"model": "default", "messages": [{"role": "user", "content": FRANCE}], "temperature": 0, "max_tokens": 20}
    whole = await client.chat.completions.create(**asked)
    assert whole.choices[0].message.content == FRANCE_ANSWER
    assert whole.choices[0].finish_reason == "length"
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (37, 20)
    stream = await client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == FRANCE_ANSWER
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (37, 20)
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 36


async def test_eight_streams_progress_together(client: openai.AsyncOpenAI):
    arrivals: list[int] = []

    async def read(number: int) -> None:
        asked = {"model": "default", "messages": STORY, "temperature": 0, "max_tokens": 20, "extra_body": ON_AND_ON}
        async for chunk in await client.chat.completions.create(**asked, stream=True):
            if chunk.choices and chunk.choices[0].delta.content:
                arrivals.append(number)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*map(read, range(8)))
    firsts = [arrivals.index(number) for number in range(8)]
    lasts = [len(arrivals) - 1 - arrivals[::-1].index(number) for number in range(8)]
    assert max(firsts) < min(lasts)


@pytest.mark.seeds("S128")
async def test_a_seventeenth_request_waits_until_one_of_sixteen_has_ended(server: Running, client: openai.AsyncOpenAI):
    asked = {"model": "default", "messages": STORY, "temperature": 0, "max_tokens": 1900, "extra_body": ON_AND_ON}
    async with asyncio.timeout(PATIENCE):
        streams = [await client.chat.completions.create(**asked, stream=True) for _ in range(16)]
        late = asyncio.create_task(client.chat.completions.create(**{**asked, "max_tokens": 1}))
        while (await health(server))[1]["queued"] == 0:
            assert not late.done()
        assert (await health(server))[1]["active"] == 16
        await streams[5].close()
        assert (await late).usage.completion_tokens == 1
        for stream in streams:
            await stream.close()
        while (await health(server))[1]["active"]:
            pass


async def test_health_tells_of_a_killed_engine_until_it_is_back(server: Running, client: openai.AsyncOpenAI):
    engines = children(server.process.pid)
    if not engines:
        pytest.skip("this system does not tell a process's children")
    asked = {"model": "default", "messages": STORY, "temperature": 0, "max_tokens": 1900, "extra_body": ON_AND_ON}
    stream = await client.chat.completions.create(**asked, stream=True)
    async with asyncio.timeout(PATIENCE):
        await anext(aiter(stream))
        assert await health(server) == (200, (await health(server))[1] | {"status": "ok", "cause": None})
        for engine in engines:
            os.kill(int(engine), signal.SIGKILL)
        with pytest.raises(openai.APIError) as failed:
            async for _ in stream:
                pass
        assert failed.value.code == "engine_crashed"
        status, told = await health(server)
        assert (status, told["status"]) == (503, "loading")
        assert "SIGKILL" in told["cause"]
        short = {**asked, "max_tokens": 3}
        assert (await client.chat.completions.create(**short)).usage.completion_tokens == 3
        assert (await health(server))[0] == 200
