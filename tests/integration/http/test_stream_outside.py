"""A stream as everything between server and reader sees it: headers, framing, silence filled in, and ids on every reply."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from dragoman.core.errors import Code, EngineFailed
from dragoman.gateway.options import GatewayOptions
from support.house import CHAT, ORIGIN, House

CHAT_STREAM = ("/v1/chat/completions", {**CHAT, "stream": True})
TEXT_STREAM = ("/v1/completions", {"model": "small", "prompt": "Once", "stream": True})


def lines_of(body: bytes) -> list[list[str]]:
    """A stream cut into events as WHATWG HTML, 9.2.6 has it: blocks of lines, ended by an empty one."""
    text = body.decode()
    assert "\r" not in text
    assert text.endswith("\n\n"), "an event without its empty line is never dispatched"
    return [block.split("\n") for block in text.removesuffix("\n\n").split("\n\n")]


def read_as_browsers_do(body: bytes) -> list[str]:
    """The data of each event that is dispatched; a comment is none."""
    data = ["\n".join(line[6:] for line in block if line.startswith("data: ")) for block in lines_of(body)]
    return [each for each in data if each]


@pytest.mark.parametrize(("path", "body"), [CHAT_STREAM, TEXT_STREAM])
async def test_the_headers_are_there_at_the_accept_before_any_token_and_forbid_buffering(path, body) -> None:
    """``charset`` may be named, and then must be utf-8 (WHATWG HTML, registration of text/event-stream); OpenAI names it."""
    house = House()
    exchange = house.client.open("POST", path, body)
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.begun()
    assert exchange.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "content-length" not in exchange.headers
    directives = exchange.headers["cache-control"].split(", ")
    assert {"no-cache", "no-transform"} <= set(directives), "RFC 9111, 5.2.2: neither kept nor compressed on the way"
    assert exchange.headers["x-accel-buffering"] == "no"
    stream.done(emitted=0)
    await exchange.end()


@pytest.mark.parametrize(("path", "body"), [CHAT_STREAM, TEXT_STREAM])
async def test_each_event_is_one_write_of_one_data_line_and_nothing_follows_the_end(path, body) -> None:
    house = House()
    exchange = house.client.open("POST", path, body)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("a", "line\nbreak", "\r\n", " ünïcode ", "data: [DONE]\n\n")
    stream.done(emitted=5)
    await exchange.end()
    assert all(len(lines_of(write)) == 1 for write in exchange.writes)
    assert all(len(block) == 1 and block[0].startswith("data: ") for block in lines_of(exchange.body))
    assert read_as_browsers_do(exchange.body)[-1] == "[DONE]"
    assert read_as_browsers_do(exchange.body).count("[DONE]") == 1
    texts = [chunk["choices"][0] for chunk in exchange.data if chunk != "[DONE]"]
    whole = "".join(choice["text"] if "text" in choice else choice["delta"].get("content") or "" for choice in texts)
    assert whole == "aline\nbreak\r\n ünïcode data: [DONE]\n\n"


async def gaps_of(exchange, *, writes: int) -> list[float]:
    """Seconds between the commit and so many writes after it."""
    moments = [asyncio.get_running_loop().time()]
    for count in range(len(exchange.writes) + 1, len(exchange.writes) + writes + 1):
        await exchange.until(writes=count)
        moments.append(asyncio.get_running_loop().time())
    return [after - before for before, after in itertools.pairwise(moments)]


@pytest.mark.seeds("S157")
@pytest.mark.parametrize(("path", "body"), [CHAT_STREAM, TEXT_STREAM])
async def test_a_long_prefill_is_filled_with_comments_that_no_reader_sees(path, body) -> None:
    house = House()
    exchange = house.client.open("POST", path, body)
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.begun()
    gaps = await gaps_of(exchange, writes=20)
    assert all(gap <= 10 for gap in gaps), gaps
    stream.say("x")
    stream.done(emitted=1)
    await exchange.end()
    comments = [block for block in lines_of(exchange.body) if block[0].startswith(":")]
    assert len(comments) >= 18
    assert all(block == [block[0]] for block in comments), "a comment carries nothing else"
    assert len(read_as_browsers_do(exchange.body)) == len(exchange.data)
    assert "keep-alive" not in "".join(read_as_browsers_do(exchange.body))


async def test_tokens_that_are_held_back_do_not_count_as_something_written() -> None:
    """A stop string that half matches keeps text from the client, however busy the engine is."""
    house = House()
    stop = "<" + "=" * 40 + ">"
    path, body = CHAT_STREAM
    exchange = house.client.open("POST", path, {**body, "stop": [stop]})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("a")
    await exchange.until(writes=2)

    async def mumble() -> None:
        for character in stop[:-1]:
            stream.say(character)
            await asyncio.sleep(1)

    mumbling = asyncio.create_task(mumble())
    gaps = await gaps_of(exchange, writes=4)
    assert all(gap <= 10 for gap in gaps), gaps
    await mumbling
    assert all(write.startswith(b":") for write in exchange.writes[2:])
    stream.say("!")
    stream.done(emitted=43)
    await exchange.end()
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in exchange.data[:-1]) == "a" + stop[:-1] + "!"


async def test_a_stream_that_fails_in_silence_stops_its_keepalives() -> None:
    house = House()
    exchange = house.client.open("POST", *CHAT_STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.until(writes=3)
    stream.fail(EngineFailed("the engine was killed", code=Code.ENGINE_CRASHED))
    await exchange.end()
    written = len(exchange.writes)
    await asyncio.sleep(100)
    assert len(exchange.writes) == written
    assert exchange.complete


@pytest.mark.seeds("S12")
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/", None, 200),
        ("GET", "/health", None, 200),
        ("GET", "/metrics", None, 200),
        ("GET", "/version", None, 200),
        ("GET", "/v1/models", None, 200),
        ("GET", "/nowhere", None, 404),
        ("GET", "/v1/chat/completions", None, 405),
        ("POST", "/v1/chat/completions", b"{", 400),
        ("POST", "/v1/chat/completions", {"model": "large", "messages": CHAT["messages"]}, 404),
        ("POST", "/tokenize", b"x" * 2000, 413),
    ],
)
async def test_every_reply_has_exactly_one_request_id_and_the_clients_own_is_kept(method, path, body, status) -> None:
    house = House(options=GatewayOptions(max_body=1000))
    for sent, expected in (
        ({}, "req_4567"),
        ({"x-request-id": "mine-1"}, "mine-1"),
        ({"x-request-id": "a b"}, "req_4567"),
    ):
        reply = await house.client.open(method, path, body, headers=sent).end()
        assert reply.status == status
        names = [name for name, _ in reply.started["headers"]]
        assert names.count(b"x-request-id") == 1
        assert reply.headers["x-request-id"] == expected


@pytest.mark.seeds("S12")
async def test_the_reply_to_a_bug_of_ours_has_a_request_id_too() -> None:
    house = House()

    def broken() -> None:
        raise ZeroDivisionError

    house.service.models = broken
    exchange = house.client.open("GET", "/v1/models")
    with pytest.raises(ZeroDivisionError):  # passed on, for the server to log
        await exchange.end()
    assert (exchange.status, exchange.headers["x-request-id"]) == (500, "req_4567")
    assert exchange.json()["error"]["code"] == "internal_error"


@pytest.mark.seeds("S12")
async def test_a_preflight_and_a_guarded_host_get_their_request_id() -> None:
    house = House()
    asked = {"origin": ORIGIN, "access-control-request-method": "POST"}
    preflight = await house.client.open("OPTIONS", "/v1/chat/completions", headers=asked).end()
    assert (preflight.status, preflight.headers["x-request-id"]) == (204, "req_4567")
    strange = await house.client.open("GET", "/v1/models", host="evil.example").end()
    assert (strange.status, strange.headers["x-request-id"]) == (403, "req_4567")


@pytest.mark.seeds("S12")
@pytest.mark.parametrize(("path", "body"), [CHAT_STREAM, TEXT_STREAM])
@pytest.mark.parametrize("streaming", [True, False])
async def test_every_answer_tells_its_wait_in_the_queue_and_pages_may_read_it(path, body, streaming) -> None:
    house = House()
    exchange = house.client.open("POST", path, {**body, "stream": streaming}, headers={"origin": ORIGIN})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.done(emitted=0)
    await exchange.end()
    assert exchange.headers["x-dragoman-queue-wait-ms"] == "0"
    exposed = exchange.headers["access-control-expose-headers"].split(", ")
    assert {"x-request-id", "x-dragoman-queue-wait-ms", "x-dragoman-ignored"} <= set(exposed)
