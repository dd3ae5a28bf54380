"""Of several answers, the likeliest by the mean log-probability of their tokens."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.core.events import ChoiceFinished, Finished, TextDelta, Usage
from dragoman.core.request import Generate, Readout
from dragoman.protocol.frames import Data, Numeric
from support.hand_engine import HandEngine, info
from support.stage import RAW, Stage

ANSWERS = {
    "long and sure": [-0.1] * 10,  # -1.0 in all, and the best on average
    "short": [-0.5],
    "bad": [-3.0, -0.1],
}


async def play(operation: Generate) -> list:
    stage = Stage(HandEngine(engine_info=info(slots=3)))
    task = stage.begin(operation)
    for text, logprobs in ANSWERS.items():
        stream = await stage.engine.next_stream()
        assert stream.request.logprobs == 0
        stream.accept()
        for index, logprob in enumerate(logprobs):
            stream.put(Data(1, text.encode() if not index else b"", Numeric(logprob), 100))
        stream.done(emitted=len(logprobs))
    generation = await task
    events = [event async for event in generation]
    await generation.aclose()
    await asyncio.sleep(0)
    return events


@pytest.mark.parametrize(("n", "expected"), [(1, ["long and sure"]), (2, ["long and sure", "short"])])
async def test_the_likeliest_come_first_and_are_numbered_anew(n, expected) -> None:
    events = await play(Generate(prompt=RAW, n=n, best_of=3))
    assert [(event.choice, event.text) for event in events if isinstance(event, TextDelta)] == list(enumerate(expected))
    assert [event.choice for event in events if isinstance(event, ChoiceFinished)] == list(range(n))


async def test_every_answer_is_paid_for() -> None:
    assert (await play(Generate(prompt=RAW, best_of=3)))[-1] == Finished(
        usage=Usage(prompt_tokens=7, completion_tokens=13)
    )


async def test_records_are_shown_only_to_who_asked() -> None:
    hidden = [event for event in await play(Generate(prompt=RAW, best_of=3)) if isinstance(event, TextDelta)]
    shown = [
        event
        for event in await play(Generate(prompt=RAW, best_of=3, readout=Readout(logprobs=0)))
        if isinstance(event, TextDelta)
    ]
    assert [event.tokens for event in hidden] == [()]
    assert [record.logprob for event in shown for record in event.tokens] == [-0.1] * 10
