"""A server that is killed keeps what it has told: the next one on its store goes on from there."""

from __future__ import annotations

import signal
from pathlib import Path

import openai
import pytest

from support.serve import serving

ENGINE = ("--engine", "simulated")


@pytest.mark.seeds("S144")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_goes_on_after_its_server_was_killed(tmp_path: Path, streamed: bool):
    store = ("--store", str(tmp_path / "store.sqlite3"))
    async with serving(*ENGINE, *store) as server:
        async with server.client() as client:
            if streamed:
                async with client.responses.stream(model="default", input="hi") as stream:
                    first = await stream.get_final_response()
            else:
                first = await client.responses.create(model="default", input="hi")
        server.process.send_signal(signal.SIGKILL)
        await server.process.wait()
    async with serving(*ENGINE, *store) as server, server.client() as client:
        assert (await client.responses.retrieve(first.id)).output_text == first.output_text
        second = await client.responses.create(model="default", input="and", previous_response_id=first.id)
        assert second.usage is not None
        assert first.usage is not None
        assert second.usage.input_tokens > first.usage.input_tokens + first.usage.output_tokens
        items = [item async for item in client.responses.input_items.list(second.id, order="asc")]
        assert [getattr(item, "role", None) for item in items] == ["user", "assistant", "user"]


@pytest.mark.seeds("S15")
async def test_a_retry_after_a_restart_gets_the_answer_of_the_first_attempt(tmp_path: Path):
    store = ("--store", str(tmp_path / "store.sqlite3"))
    asked = {"model": "default", "input": "hi", "extra_headers": {"Idempotency-Key": "once"}}
    async with serving(*ENGINE, *store) as server:
        async with server.client() as client:
            first = await client.responses.create(**asked)
        await server.stop()
    async with serving(*ENGINE, *store) as server, server.client() as client:
        assert (await client.responses.create(**asked)).id == first.id
        with pytest.raises(openai.ConflictError):
            await client.responses.create(**{**asked, "input": "other"})


async def test_a_store_that_cannot_be_opened_stops_the_start_with_a_word(tmp_path: Path):
    (tmp_path / "store.sqlite3").write_bytes(b"this is no database" * 100)
    with pytest.raises(AssertionError, match="store.sqlite3"):
        async with serving(*ENGINE, "--store", str(tmp_path / "store.sqlite3")):
            pass
