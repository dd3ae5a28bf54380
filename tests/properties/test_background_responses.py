"""Whatever clients do at whatever moments, a response in the background ends once, is told whole to everybody, and is kept as it was told.

Clients that start, follow, resume, leave, cancel and delete at random meet an engine and a store that are slow at random, on virtual
time; each seed is one run.
"""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from dragoman.engines.simulated import Begin, Delay, Fail, SimulatedRequest, Step, say
from support.asgi import Exchange
from support.failing_store import FailingStore
from support.house import House, house_of
from support.virtual_time import VirtualTimeLoop, settle

PATH = "/v1/responses"
PAUSES = (0, 0, 0.1, 1, 12)
STORE = ("save_response", "response", "append_events", "events", "delete_response")
RESPONSES, DEEDS = 4, 24
ENDED = {"completed", "failed", "cancelled"}


class Crowd:
    """``told`` are streams that somebody hears, with the number after which they began; ``deleted`` the ids that nobody may find again."""

    def __init__(self, house: House, random: Random) -> None:
        self._house = house
        self._random = random
        self.told: dict[str, list[tuple[int, Exchange]]] = {}
        self.left: list[Exchange] = []
        self.short: list[Exchange] = []
        self.deleted: set[str] = set()

    async def begin(self) -> None:
        stream = self._house.client.open("POST", PATH, {"input": "go", "background": True, "stream": True})
        await stream.until(writes=1)
        self.told[stream.data[0]["response"]["id"]] = [(-1, stream)]

    async def do(self) -> None:
        random, client = self._random, self._house.client
        name = random.choice(list(self.told))
        match random.choice(["follow", "follow", "leave", "cancel", "delete", "get"]):
            case "follow":
                after = random.choice((-1, 0, 3, 7))
                start = "" if after < 0 else f"&starting_after={after}"
                listener = client.open("GET", f"{PATH}/{name}?stream=true{start}", ordered=False)
                self.told[name].append((after, listener))
            case "leave":
                _, listener = random.choice(self.told[name])
                listener.hang_up()
                self.left.append(listener)
            case "cancel":
                self.short.append(client.open("POST", f"{PATH}/{name}/cancel"))
            case "delete" if random.random() < 0.3:
                self.short.append(client.open("DELETE", f"{PATH}/{name}"))
                self.deleted.add(name)
            case _:
                self.short.append(client.open("GET", f"{PATH}/{name}"))
        await asyncio.sleep(random.choice(PAUSES))


def slow_engine(random: Random):
    """Says a little, with pauses, and fails now and then."""

    def script(_: SimulatedRequest) -> list[Step]:
        words = [
            step
            for _ in range(random.randint(0, 6))
            for step in (Delay(random.choice(PAUSES)), *say(random.choice("ab ")))
        ]
        return [Begin(), *words, *([Fail("ENGINE", "broken")] if random.random() < 0.2 else [])]

    return script


async def play(seed: int) -> None:
    random, complaints = Random(seed), []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with house_of(slow_engine(random), store=FailingStore()) as house:
        for method in STORE:
            house.store.delay(method, random.choice(PAUSES))
        crowd = Crowd(house, random)
        for _ in range(RESPONSES):
            await crowd.begin()
        for _ in range(DEEDS):
            await crowd.do()
        await asyncio.sleep(300)
        await settle()
        for name, listeners in crowd.told.items():
            whole = (await listeners[0][1].end()).data if listeners[0][1] not in crowd.left else None
            for after, listener in listeners:
                await listener.end()
                if listener in crowd.left or (listener.status == 404 and name in crowd.deleted):
                    continue
                heard = listener.data
                assert (listener.status, heard[-1]) == (200, "[DONE]"), (name, listener.body)
                numbers = [event["sequence_number"] for event in heard[:-1]]
                assert numbers == list(range(after + 1, after + 1 + len(numbers)))
                if whole is not None:
                    assert heard == [event for event in whole if event == "[DONE]" or event["sequence_number"] > after]
            kept = house.store.responses.get(("", name))
            assert (kept is None) is (name in crowd.deleted)
            if kept is not None and whole is not None:
                assert kept.body == whole[-2]["response"]
                assert kept.body["status"] in ENDED
        for reply in crowd.short:
            assert (await reply.end()).status in {200, 404}
        assert house.metric("scheduler_active") == house.metric("scheduler_queued") == 0
        assert complaints == []


@pytest.mark.parametrize("seed", range(24))
def test_every_response_ends_and_is_told_as_it_is_kept(seed: int) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(play(seed))
