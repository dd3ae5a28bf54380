"""A WebSocket of Responses when its client is slow, leaves in the middle, floods it, or changes its mind about what is stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from dragoman.core.request import Conversation, TextPrompt
from dragoman.dialects.base import Piece
from dragoman.engines.simulated import Begin, Hold, say, tapes
from dragoman.gateway.responses.socket import FAREWELL_SECONDS, LIFE_SECONDS, MAX_TURNS, MAX_WAITING, Turns
from support.failing_store import FailingStore
from support.hand_engine import HandEngine
from support.house import House, house_of
from support.socket import Socket
from support.stores import opened
from support.tag_dialect import TagDialect, TagParser
from support.virtual_time import settle

PATH = "/v1/responses"


class SlowSocket(Socket):
    """Takes nothing while ``stuck``, as a server whose buffer is full; after ``lost`` a write fails, as to a connection that broke."""

    def __init__(self, app: Any, path: str, **options: Any) -> None:
        self._free = asyncio.Event()
        self._free.set()
        self.lost = False
        super().__init__(app, path, **options)

    def stick(self) -> None:
        self._free.clear()

    def loosen(self) -> None:
        self._free.set()

    async def _send(self, message: dict[str, Any]) -> None:
        await self._free.wait()
        if self.lost:
            raise OSError
        await super()._send(message)


def create(input: object, **fields: object) -> dict[str, object]:
    return {"type": "response.create", "store": False, "input": input, **fields}


def slow():
    hold = Hold()
    return hold, tapes({"slow": [Begin(), *say("a"), hold, *say("b")]})


async def heard_until(socket: Socket, *kinds: str) -> list[dict[str, Any]]:
    heard = [await socket.hear()]
    while heard[-1]["type"] not in kinds:
        heard.append(await socket.hear())
    return heard


async def test_a_keepalive_that_a_slow_client_has_not_taken_keeps_its_number():
    hold, script = slow()
    async with house_of(script) as house:
        socket = SlowSocket(house.app, PATH)
        socket.say(create("slow"))
        heard = await heard_until(socket, "response.output_text.delta")
        socket.stick()
        await asyncio.sleep(10)  # a keep-alive waits
        hold.event.set()
        await asyncio.sleep(10)  # and the end behind it
        socket.loosen()
        heard += await heard_until(socket, "response.completed")
        assert [event["sequence_number"] for event in heard] == list(range(len(heard)))
        await socket.leave()


async def test_a_write_that_fails_ends_the_answer_and_nobody_complains(caplog):
    hold, script = slow()
    async with house_of(script) as house:
        socket = SlowSocket(house.app, PATH)
        socket.say(create("slow"))
        await heard_until(socket, "response.output_text.delta")
        socket.lost = True
        await asyncio.sleep(10)  # a keep-alive fails
        hold.event.set()
        await settle(200)
        await socket.leave()
        assert house.metric("scheduler_active") == 0
        assert [record for record in caplog.records if record.levelname == "ERROR"] == []


class ClumsyParser(TagParser):
    """Makes a mistake of its own at one sign."""

    def feed(self, text: str, *, special: bool) -> Sequence[Piece]:
        if "!" in text:
            raise RuntimeError("arguments came outside of a call")
        return super().feed(text, special=special)


class ClumsyDialect(TagDialect):
    def parser(self, conversation: Conversation, prompt: TextPrompt) -> TagParser:
        return ClumsyParser()


async def test_our_own_mistake_ends_the_response_and_the_connection_goes_on():
    async with house_of(tapes({"bad": say("oh!"), "hi": say("hello")}), dialect=ClumsyDialect()) as house:
        socket = Socket(house.app, PATH)
        broken = await socket.turn(create("bad"))
        assert [event["type"] for event in broken[-2:]] == ["error", "response.failed"]
        assert "arguments" not in json.dumps(broken)
        assert (await socket.turn(create("hi")))[-1]["type"] == "response.completed"
        await socket.leave()


async def test_a_stored_turn_can_go_on_from_one_that_is_not():
    """Its connection alone knows the one before it; what is stored must be whole for those who come later."""
    async with opened() as store, house_of(store=store) as house:
        socket = Socket(house.app, PATH)
        ahead = (await socket.turn(create("first", generate=False)))[-1]["response"]
        told = (await socket.turn(create("hi", store=True, previous_response_id=ahead["id"])))[-1]["response"]
        after = (await socket.turn(create("and", previous_response_id=told["id"])))[-1]
        assert after["response"]["usage"]["input_tokens"] > told["usage"]["input_tokens"]
        await socket.leave()
        assert (await house.client.get(f"{PATH}/{told['id']}")).json() == told
        listed = (await house.client.get(f"{PATH}/{told['id']}/input_items?order=asc")).json()["data"]
        assert [item["content"][0]["text"] for item in listed] == ["first", "hi"]


async def test_a_client_that_leaves_while_its_turn_is_stored_leaves_it_whole():
    async with house_of(store=FailingStore()) as house:
        name = (await house.client.post("/v1/conversations", {})).json()["id"]
        house.store.delay("save_response", 5)
        socket = Socket(house.app, PATH)
        socket.say(create("hi", store=True, conversation=name))
        await asyncio.sleep(1)
        await socket.leave()
        await asyncio.sleep(10)
        assert len(house.store.responses) == 1
        assert len(await house.store.all_items("", name)) == 2


async def test_a_client_that_takes_nothing_is_left_after_its_hour():
    house = House(engine=HandEngine())
    socket = SlowSocket(house.app, PATH)
    socket.say(create("hi"))
    stream = await house.engine.next_stream()
    socket.stick()
    stream.accept()
    await asyncio.sleep(LIFE_SECONDS + FAREWELL_SECONDS + 1)
    assert socket.task.done()
    assert house.metric("scheduler_active") == 0


async def test_more_messages_than_may_wait_are_refused_one_by_one():
    hold, script = slow()
    async with house_of(script) as house:
        socket = Socket(house.app, PATH)
        socket.say(create("slow"))
        await heard_until(socket, "response.output_text.delta")
        for _ in range(MAX_WAITING + 2):
            socket.say(create("hi"))
        refused = [await socket.hear() for _ in range(2)]
        assert [(event["status"], event["error"]["code"]) for event in refused] == [(429, "queue_full")] * 2
        hold.event.set()
        for _ in range(1 + MAX_WAITING):
            await heard_until(socket, "response.completed")
        await socket.leave()


async def test_a_binary_message_is_read_as_a_text_is():
    async with house_of() as house:
        socket = Socket(house.app, PATH)
        message = json.dumps(create("hi")).encode()
        socket.say(message)
        assert (await heard_until(socket, "response.completed", "error"))[-1]["type"] == "response.completed"
        socket.say(b"\xff\xfe")
        assert (await socket.hear())["error"]["code"] == "invalid_json"
        await socket.leave()


def test_a_connection_remembers_few_turns_and_few_bytes():
    turns = Turns()
    for number in range(MAX_TURNS + 1):
        turns.remember(str(number), ({"id": str(number)},), size=1000)
    assert turns.history("0") is None
    assert turns.history("1") is not None
    large = 20 << 20
    turns.remember("large", (), size=large)
    turns.remember("larger", (), size=large)
    assert [turns.history(name) for name in ("1", "large", "larger")] == [None, None, ()]
    turns.forget("larger")
    assert turns.history("larger") is None
