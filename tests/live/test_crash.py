"""``kill -9`` of the real engine with requests in flight."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from dragoman.core.errors import Code, EngineFailed
from dragoman.protocol.frames import Data
from support.live import PATIENCE, LiveEngine, answer, arbitrary_prompt, greedy, read

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.seeds("S112")
async def test_accepted_requests_fail_by_name_and_the_others_are_answered_by_the_next_engine(small_chunks: LiveEngine):
    client = small_chunks.client
    expected = await answer(small_chunks, greedy(arbitrary_prompt(504, 30), 6))
    decoding = [
        await client.submit(greedy(arbitrary_prompt(500 + slot, 20), 1500, ignore_eos=True, slot=slot))
        for slot in range(4)
    ]
    async with asyncio.timeout(PATIENCE):
        for stream in decoding:
            while not isinstance(await anext(stream), Data):
                pass
    assert (client.status, client.failure) == ("ready", None)
    killed = small_chunks.children[-1].pid
    os.kill(killed, signal.SIGSTOP)  # so that it certainly does not accept the next four
    waiting = [await client.submit(greedy(arbitrary_prompt(504, 30), 6, slot=slot)) for slot in range(4, 8)]
    os.kill(killed, signal.SIGKILL)
    for stream in decoding:
        with pytest.raises(EngineFailed, match="killed by SIGKILL") as failed:
            async with asyncio.timeout(PATIENCE):
                while True:
                    await anext(stream)
        assert failed.value.code == Code.ENGINE_CRASHED
    assert client.status == "loading"
    assert client.failure is not None
    assert "SIGKILL" in client.failure
    assert [(await read(stream)).ids for stream in waiting] == [expected.ids] * 4
    assert (client.status, client.failure, client.pending) == ("ready", None, 0)
    assert len(small_chunks.restarts) == 1
    again = await answer(small_chunks, greedy(arbitrary_prompt(504, 30), 6))
    assert again.ids == expected.ids
