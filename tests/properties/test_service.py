"""Whatever engines and clients do, no slot is used twice or lost, and each choice of an answer that ends has one end.

An engine that errs at random plays against clients that leave at random, on virtual time; each seed is one run.
"""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest, ServiceError
from dragoman.core.events import ChoiceFinished, Finished
from dragoman.core.request import Generate, OutputLimits, PromptBatch, Readout, TextPrompt
from dragoman.engines.base import EngineRequest
from support.hand_engine import HandEngine, HandStream, info
from support.stage import Stage
from support.virtual_time import VirtualTimeLoop

PROMPT_TOKENS = 7
PAUSES = (0, 0, 0.1, 1)
CLIENTS = 8


class MoodyEngine(HandEngine):
    """Plays its own streams. ``held`` is the request that each slot is busy with, ``clashes`` are slots that were used twice."""

    def __init__(self, random: Random, *, slots: int) -> None:
        super().__init__(engine_info=info(slots=slots), holds=True)
        self.held: dict[int, HandStream] = {}
        self.clashes: list[int] = []
        self._random = random
        self._players: list[asyncio.Task[None]] = []

    async def submit(self, request: EngineRequest) -> HandStream:
        await asyncio.sleep(self._random.choice(PAUSES))
        if request.slot in self.held:
            self.clashes.append(request.slot)
        stream = self.held[request.slot] = await super().submit(request)
        self._players.append(asyncio.create_task(self._play(stream)))
        return stream

    async def _play(self, stream: HandStream) -> None:
        random, emitted = self._random, 0
        await asyncio.sleep(random.choice(PAUSES))
        mood = random.random()
        if mood < 0.1:
            stream.say("before it accepts")
        else:
            stream.accept()
            if stream.request.echo is not None:
                stream.echo("H", "i")
        while mood >= 0.2 and emitted < random.randint(0, 9) and not (stream.stopped or stream.cancelled):
            stream.say(random.choice("ab."))
            emitted += 1
            await asyncio.sleep(random.choice(PAUSES))
        await asyncio.sleep(random.choice(PAUSES))
        self.held.pop(stream.request.slot, None)
        if mood < 0.1 or stream.cancelled:
            stream.let_go()
        elif mood < 0.15:
            stream.fail(InvalidRequest("no", code=Code.INVALID_VALUE, feature="prompt"))
        elif mood < 0.2:
            stream.fail(EngineFailed("died", code=Code.ENGINE_CRASHED))
        else:
            stream.done(emitted)


def operation(random: Random) -> Generate:
    prompts = tuple(TextPrompt(text=str(member)) for member in range(random.choice([1, 1, 2, 5])))
    return Generate(
        prompt=PromptBatch(prompts=prompts) if len(prompts) > 1 else prompts[0],
        n=random.randint(1, 4) if len(prompts) == 1 else 1,
        limits=OutputLimits(stop=random.choice([(), (".",)])),
        readout=Readout(echo=random.random() < 0.3, logprobs=random.choice([None, 0])),
        cache_slot=random.choice([None, None, None, 0]),
    )


async def ask(stage: Stage, random: Random) -> None:
    await asyncio.sleep(random.random() * 5)
    asked = operation(random)
    members = len(asked.prompt.prompts) if isinstance(asked.prompt, PromptBatch) else 1
    ends: dict[int, int] = {}
    generation = await stage.service.generate(asked, surface="chat", isolation="key")
    try:
        async for event in generation:
            if isinstance(event, ChoiceFinished):
                assert event.choice not in ends
                ends[event.choice] = event.generated
            elif isinstance(event, Finished):
                assert sorted(ends) == list(range(members * asked.n))
                assert event.usage.prompt_tokens == PROMPT_TOKENS * members
                assert event.usage.completion_tokens == sum(ends.values())
            if random.random() < 0.03:
                return
    finally:
        await generation.aclose()


async def run_of(random: Random) -> None:
    stage = Stage(MoodyEngine(random, slots=random.randint(1, 3)), max_queue=CLIENTS)
    clients = [asyncio.create_task(ask(stage, random)) for _ in range(CLIENTS)]
    for client in clients:
        if random.random() < 0.2:
            await asyncio.sleep(random.random())
            client.cancel()
    for outcome in await asyncio.gather(*clients, return_exceptions=True):
        assert outcome is None or isinstance(outcome, ServiceError | asyncio.CancelledError), repr(outcome)
    await stage.service.aclose()
    assert stage.diary.load == (0, 0)
    assert (stage.engine.held, stage.engine.clashes) == ({}, [])
    assert len(stage.diary.of("admitted")) == len(stage.diary.of("finished"))


@pytest.mark.parametrize("seed", range(60))
def test_no_slot_is_used_twice_or_lost_and_each_choice_ends_once(seed) -> None:
    complaints: list[object] = []
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: complaints.append(context))
        runner.run(asyncio.wait_for(run_of(Random(seed)), 3600))
    assert complaints == []
