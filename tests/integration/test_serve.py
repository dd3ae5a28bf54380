"""``dragoman serve`` as a process of its own, spoken to by the official SDK."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import urllib.request
from pathlib import Path

import openai
import pytest

from dragoman.compose import build, open_backend
from dragoman.settings import Settings
from support.memory_store import MemoryStore
from support.serve import PATIENCE, children, serving

SENTENCE = "A dragoman stood between two courts and said to each what the other meant."
SIMULATED = "-m dragoman.engines.simulated"


def is_running(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


def ask(text: str = "Hello") -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


async def test_the_last_lines_are_the_address_the_model_and_a_command_that_works() -> None:
    async with serving("--engine", "simulated") as server:
        address, model, command = server.said[-3:]
        assert server.url in address
        assert f"{server.url}/v1" in address
        assert model == "Model simulated, 4096 tokens of context, 16 at once"
        url, body = re.fullmatch(r"curl (\S+) -H 'Content-Type: application/json' -d '(.*)'", command).groups()  # type: ignore[union-attr]
        request = urllib.request.Request(url, data=body.encode(), headers={"Content-Type": "application/json"})
        reply = await asyncio.to_thread(lambda: json.load(urllib.request.urlopen(request, timeout=PATIENCE)))
        assert reply["choices"][0]["message"]["content"] == SENTENCE
        assert await server.stop() == (0, "Stopping; what runs may take 30 s to end.\n")


async def test_the_official_sdk_gets_the_same_answer_whole_and_in_pieces() -> None:
    async with serving("--engine", "simulated") as server, server.client() as client:
        models = await client.models.list()
        assert models.data[0].id == "simulated"
        whole = await client.chat.completions.create(model="simulated", messages=ask())  # type: ignore[arg-type]
        assert whole.choices[0].message.content == SENTENCE
        assert whole.choices[0].finish_reason == "stop"
        stream = await client.chat.completions.create(
            model="simulated",
            messages=ask(),
            stream=True,
            stream_options={"include_usage": True},  # type: ignore[arg-type]
        )
        chunks = [chunk async for chunk in stream]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == SENTENCE
        assert len(chunks) > 10
        last, first = chunks[-1].usage, whole.usage
        assert last is not None
        assert first is not None
        assert (last.prompt_tokens, last.completion_tokens) == (first.prompt_tokens, first.completion_tokens)
        assert last.total_tokens == last.prompt_tokens + last.completion_tokens
        completion = await client.completions.create(model="simulated", prompt="Once", max_tokens=3)
        assert completion.choices[0].finish_reason == "length"
        assert SENTENCE.startswith(completion.choices[0].text)
        with pytest.raises(openai.NotFoundError) as caught:
            await client.chat.completions.create(model="gpt-4", messages=ask())  # type: ignore[arg-type]
        assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


@pytest.mark.seeds("S4")
async def test_requests_at_the_same_time_share_one_model_process() -> None:
    async with serving("--engine", "simulated") as server, server.client() as client:
        before = children(server.process.pid)
        asking = [client.chat.completions.create(model="simulated", messages=ask(str(n))) for n in range(8)]  # type: ignore[arg-type]
        answers = await asyncio.gather(*asking)
        assert [answer.choices[0].message.content for answer in answers] == [SENTENCE] * 8
        assert children(server.process.pid) == before
        assert len(before) <= 1  # none where the system does not tell


async def test_interrupting_lets_a_running_answer_end_and_takes_no_new_one() -> None:
    engine = f"{sys.executable} {SIMULATED} --tokens 30 --delay 0.03"
    async with serving("--engine-command", engine) as server, server.client() as client:
        stream = await client.chat.completions.create(model="default", messages=ask(), stream=True)  # type: ignore[arg-type]
        chunks = aiter(stream)
        await anext(chunks)
        stopping = asyncio.create_task(server.stop())
        rest = [chunk async for chunk in chunks]
        assert rest[-1].choices[0].finish_reason == "stop"
        assert sum(bool(chunk.choices[0].delta.content) for chunk in rest) >= 28
        status, said = await stopping
        assert status == 0
        assert "Traceback" not in said
        with pytest.raises(openai.APIConnectionError):
            await client.models.list()


async def test_an_answer_that_outlives_the_drain_is_cut_and_the_engine_ends_too(tmp_path: Path) -> None:
    engine = f"{sys.executable} {SIMULATED} --tokens 1000000 --delay 0.05"
    async with serving("--engine-command", engine, "--drain-timeout", "1") as server, server.client() as client:
        stream = await client.chat.completions.create(model="default", messages=ask(), stream=True)  # type: ignore[arg-type]
        chunks = aiter(stream)
        await anext(chunks)
        engines = children(server.process.pid)
        stopping = asyncio.create_task(server.stop(signal.SIGTERM))
        with pytest.raises(openai.APIError, match="the server was stopped"):
            while await anext(chunks):
                pass
        status, said = await stopping
        assert status == 0
        assert "Traceback" not in said
        assert not any(map(is_running, engines))


@pytest.mark.seeds("S5", "S6")
async def test_a_key_from_the_environment_is_asked_for_and_not_printed() -> None:
    async with serving("--engine", "simulated", env={"DRAGOMAN_API_KEY": "sesame-4711"}) as server:
        assert "sesame" not in "\n".join(server.said)
        assert '-H "Authorization: Bearer $DRAGOMAN_API_KEY"' in server.said[-1]
        async with server.client("wrong") as stranger:
            with pytest.raises(openai.AuthenticationError):
                await stranger.models.list()
        async with server.client("sesame-4711") as friend:
            assert (await friend.models.list()).data[0].id == "simulated"


async def test_neither_a_key_nor_a_word_is_written_to_the_log_however_much_is_logged() -> None:
    env = {"DRAGOMAN_API_KEY": "sesame-4711"}
    async with serving("--engine", "simulated", "--log-level", "debug", env=env) as server:
        async with server.client("sesame-4711") as client:
            await client.responses.create(model="simulated", input="a parrot", store=False)
            await client.responses.create(model="simulated", input="a parrot")
            async with client.responses.connect() as connection:
                await connection.response.create(model="simulated", input="a parrot", store=False)
                async for event in connection:
                    if event.type == "response.completed":
                        break
        _, log = await server.stop()
    assert "parrot" not in log
    assert "sesame" not in log


async def test_a_dead_engine_is_replaced_and_its_request_fails_by_name() -> None:
    async with serving("--engine", "simulated") as server, server.client() as client:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="simulated", messages=ask("!kill 9"))  # type: ignore[arg-type]
        assert caught.value.code == "engine_crashed"
        after = await client.chat.completions.create(model="simulated", messages=ask())  # type: ignore[arg-type]
        assert after.choices[0].message.content == SENTENCE


async def test_chat_talks_to_a_running_server() -> None:
    async with serving("--engine", "simulated", env={"DRAGOMAN_API_KEY": "k"}) as server:
        for key, status, said in (("k", 0, SENTENCE + "\n"), ("wrong", 1, "")):
            chat = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "dragoman", "chat", "--url", server.url, "-m", "Hello", "--api-key", key),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(PATIENCE):
                out, errors = await chat.communicate()
            assert (chat.returncode, out.decode().lstrip("\n")) == (status, said), errors
            assert (b"401" in errors) == (status == 1)


async def test_two_servers_in_one_process_do_not_meet() -> None:
    first = await open_backend(Settings(engine="simulated", model_name="first", slots=2))
    second = await open_backend(Settings(engine="simulated", model_name="second", slots=3))
    started = [asyncio.get_running_loop().create_future() for _ in range(2)]
    servers = [
        build(
            Settings(engine="simulated", port=0, api_keys=(key,)),
            backend,
            MemoryStore(),
            on_started=future.set_result,
            on_stopping=lambda: None,
        )
        for backend, key, future in zip((first, second), ("one", "two"), started, strict=True)
    ]
    running = [asyncio.create_task(server.serve()) for server in servers]
    try:
        async with asyncio.timeout(PATIENCE):
            urls = await asyncio.gather(*started)
        for url, key, name in zip(urls, ("one", "two"), ("first", "second"), strict=True):
            async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
                assert (await client.models.list()).data[0].id == name
                answer = await client.chat.completions.create(model=name, messages=ask())  # type: ignore[arg-type]
                assert answer.choices[0].message.content == SENTENCE
            async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="neither", max_retries=0) as client:
                with pytest.raises(openai.AuthenticationError):
                    await client.models.list()
        assert [backend.service.health().completed for backend in (first, second)] == [1, 1]
        assert first.metrics.registry is not second.metrics.registry
        assert [backend.engine.info.slots for backend in (first, second)] == [2, 3]
    finally:
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*running)
        await asyncio.gather(first.close(), second.close())
