"""Several sequences for one request: choices and batches, on slots that nobody else waits for."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest, ServiceError, Unsupported
from dragoman.core.events import Accepted, ChoiceFinished, Finished, FinishReason, PromptRead, TextDelta, Usage
from dragoman.core.request import Generate, OutputLimits, PromptBatch, Readout, SamplingParams, TextPrompt, TokenPrompt
from support.hand_engine import HandEngine, info
from support.stage import CHAT, RAW, Stage
from support.virtual_time import settle

BATCH = PromptBatch(prompts=(TextPrompt(text="one"), TextPrompt(text="two"), TokenPrompt(ids=(1, 2, 3))))


def stage_of(slots: int, *, holds: bool = False) -> Stage:
    return Stage(HandEngine(engine_info=info(slots=slots), holds=holds))


async def texts(generation) -> dict[int, str]:
    found: dict[int, str] = defaultdict(str)
    async for event in generation:
        if isinstance(event, TextDelta):
            found[event.choice] += event.text
    return dict(found)


@pytest.mark.seeds("S42")
async def test_choices_run_at_once_and_the_prompt_is_counted_once() -> None:
    stage = stage_of(4)
    task = stage.begin(Generate(prompt=CHAT, n=3))
    streams = [await stage.engine.next_stream() for _ in range(3)]
    assert sorted(stream.request.slot for stream in streams) == [0, 1, 2]
    for stream, cached in zip(streams, (2, 6, 6), strict=True):
        stream.accept(prompt_tokens=7, cached_tokens=cached)
    generation = await task
    assert generation.accepted == Accepted(prompt_tokens=7, cached_tokens=2)
    # They come mixed, and each keeps its own order.
    streams[1].say("b1")
    await settle()
    streams[0].say("a1")
    await settle()
    streams[1].say("b2")
    for index, stream in enumerate(streams):
        stream.done(emitted=index + 1, length_limited=index == 2)
    events = [event async for event in generation]
    assert [event for event in events if isinstance(event, TextDelta)] == [
        TextDelta(text="b1", choice=1, generated=1),
        TextDelta(text="a1", choice=0, generated=1),
        TextDelta(text="b2", choice=1, generated=2),
    ]
    assert {event.choice: event.reason for event in events if isinstance(event, ChoiceFinished)} == {
        0: FinishReason.STOP,
        1: FinishReason.STOP,
        2: FinishReason.LENGTH,
    }
    assert events[-1] == Finished(usage=Usage(prompt_tokens=7, completion_tokens=6, cached_tokens=2))
    await generation.aclose()
    assert stage.diary.of("accepted") == [("chat", 7, 2, "")]
    assert stage.diary.load == (0, 0)
    assert [event[0] for event in stage.diary.of("finished")] == ["completed"]


async def test_each_choice_has_a_seed_of_its_own_and_the_first_has_the_clients() -> None:
    stage = stage_of(4)
    task = stage.begin(Generate(prompt=RAW, n=3, sampling=SamplingParams(seed=2**63 - 1)))
    streams = [await stage.engine.next_stream() for _ in range(3)]
    assert [stream.request.sampling.seed for stream in streams] == [2**63 - 1, -(2**63), -(2**63) + 1]
    task.cancel()
    await asyncio.wait({task})
    await stage.service.aclose()


@pytest.mark.seeds("S103")
async def test_more_choices_than_slots_take_turns_under_one_admission() -> None:
    stage = stage_of(2)
    task = stage.begin(Generate(prompt=RAW, n=5))
    seen = []

    async def play() -> None:
        while True:
            stream = await stage.engine.next_stream()
            seen.append(stream.request.slot)
            stream.accept()
            stream.say("x")
            stream.done(emitted=1)

    player = asyncio.create_task(play())
    assert await texts(await task) == dict.fromkeys(range(5), "x")
    await settle()
    assert len(seen) == 5
    assert set(seen) == {0, 1}
    assert len(stage.diary.of("admitted")) == 1
    assert stage.service.health().completed == 1
    player.cancel()


@pytest.mark.seeds("S103")
async def test_a_borrowed_slot_goes_back_between_two_parts_when_somebody_waits() -> None:
    stage = stage_of(2)
    task = stage.begin(Generate(prompt=RAW, n=4))
    own, borrowed = [await stage.engine.next_stream() for _ in range(2)]
    own.accept()
    borrowed.accept()
    generation = await task
    other = stage.begin(Generate(prompt=TextPrompt(text="somebody else")))
    await settle()
    assert stage.diary.load == (2, 1)
    borrowed.done(emitted=0)
    stream = await stage.engine.next_stream()
    assert stream.request.prompt == TextPrompt(text="somebody else")
    assert stream.request.slot == borrowed.request.slot
    await generation.aclose()
    stream.accept()
    await (await other).aclose()
    assert stage.diary.load == (0, 0)


async def test_a_slot_that_becomes_free_later_joins_in() -> None:
    stage = stage_of(2)
    other, held = await stage.running(Generate(prompt=TextPrompt(text="somebody else")))
    task = stage.begin(Generate(prompt=RAW, n=3))
    own = await stage.engine.next_stream()
    own.accept()
    generation = await task
    await settle()
    assert len(stage.engine.submitted) == 2
    held.done(emitted=0)
    async for _ in other:
        pass
    joined = await stage.engine.next_stream()
    assert joined.request.slot == held.request.slot
    await generation.aclose()
    assert own.cancelled
    assert joined.cancelled


@pytest.mark.seeds("S104")
async def test_a_pinned_request_stays_on_its_slot() -> None:
    stage = stage_of(3)
    task = stage.begin(Generate(prompt=BATCH, cache_slot=1))
    first = await stage.engine.next_stream()
    first.accept()
    await task
    await settle()
    assert len(stage.engine.submitted) == 1
    first.done(emitted=0)
    second = await stage.engine.next_stream()
    assert (first.request.slot, second.request.slot) == (1, 1)
    await (await task).aclose()


@pytest.mark.seeds("S95")
async def test_a_batch_has_one_choice_for_each_member_in_its_order_and_usage_summed() -> None:
    stage = stage_of(3)
    task = stage.begin(Generate(prompt=BATCH))
    streams = [await stage.engine.next_stream() for _ in range(3)]
    assert [stream.request.prompt for stream in streams] == list(BATCH.prompts)
    for index in (2, 0, 1):  # whoever comes first
        streams[index].accept(prompt_tokens=10 + index, cached_tokens=index)
        streams[index].say(f"answer {index}")
        streams[index].done(emitted=1)
    events = [event async for event in await task]
    assert {event.choice: event.text for event in events if isinstance(event, TextDelta)} == {
        0: "answer 0",
        1: "answer 1",
        2: "answer 2",
    }
    assert events[-1] == Finished(usage=Usage(prompt_tokens=33, completion_tokens=3, cached_tokens=3))


@pytest.mark.seeds("S96")
async def test_a_character_split_over_two_tokens_stays_with_its_member() -> None:
    stage = stage_of(2)
    task = stage.begin(Generate(prompt=PromptBatch(prompts=(TextPrompt(text="a"), TextPrompt(text="b")))))
    one, two = [await stage.engine.next_stream() for _ in range(2)]
    one.accept()
    two.accept()
    one.say(b"\xc3")
    await settle()
    two.say(b"\xa9!")  # would complete the other's character
    await settle()
    one.say(b"\xa9")
    one.done(emitted=2)
    two.done(emitted=1)
    assert await texts(await task) == {0: "é", 1: "\ufffd!"}


@pytest.mark.seeds("S97")
@pytest.mark.parametrize(
    ("error", "feature", "message"),
    [
        (
            InvalidRequest("too long", code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt"),
            "prompt[1]",
            "prompt[1]: too long",
        ),
        (
            Unsupported("no logprobs", code=Code.UNSUPPORTED_FIELD, feature="logprobs"),
            "logprobs",
            "prompt[1]: no logprobs",
        ),
        (EngineFailed("bad tail", code=Code.ENGINE_LOGPROB_TAIL), None, "prompt[1]: bad tail"),
        (EngineFailed("it died", code=Code.ENGINE_CRASHED), None, "it died"),
    ],
)
async def test_a_member_that_fails_fails_the_batch_and_is_named(error, feature, message) -> None:
    stage = stage_of(3)
    task = stage.begin(Generate(prompt=BATCH))
    streams = [await stage.engine.next_stream() for _ in range(3)]
    streams[0].accept()
    generation = await task
    streams[1].fail(error)
    with pytest.raises(ServiceError) as failure:
        async for _ in generation:
            pass
    await generation.aclose()
    assert (failure.value.feature, failure.value.message, failure.value.code) == (feature, message, error.code)
    assert type(failure.value) is type(error)
    assert streams[0].cancelled
    assert streams[2].cancelled
    assert [event[0] for event in stage.diary.of("finished")] == ["failed"]
    assert not stage.diary.of("cancelled")
    assert stage.diary.load == (0, 0)


async def test_a_first_part_that_fails_is_an_error_before_the_commit_and_stops_the_rest() -> None:
    stage = stage_of(1)
    task = stage.begin(Generate(prompt=RAW, n=4))
    (await stage.engine.next_stream()).fail(InvalidRequest("no", code=Code.INVALID_VALUE, feature="prompt"))
    with pytest.raises(InvalidRequest, match="^no$"):
        await task
    await settle()
    assert len(stage.engine.submitted) == 1
    assert stage.diary.load == (0, 0)


@pytest.mark.seeds("S88")
async def test_a_part_that_fails_while_the_engine_still_has_it_keeps_its_slot_until_the_engine_lets_go() -> None:
    stage = stage_of(1, holds=True)
    task = stage.begin(Generate(prompt=RAW, n=4))
    stream = await stage.engine.next_stream()
    stream.say("too early")  # before it accepted
    with pytest.raises(EngineFailed):
        await task
    await settle()
    assert stage.diary.load == (1, 0)
    stream.let_go()
    await settle()
    assert stage.diary.load == (0, 0)


@pytest.mark.seeds("S42", "S98")
async def test_a_client_that_leaves_cancels_every_part_and_is_counted_once() -> None:
    stage = stage_of(3)
    task = stage.begin(Generate(prompt=RAW, n=5))
    streams = [await stage.engine.next_stream() for _ in range(3)]
    for stream in streams:
        stream.accept()
    generation = await task
    await generation.aclose()
    assert all(stream.cancelled for stream in streams)
    assert len(stage.engine.submitted) == 3
    assert stage.diary.of("cancelled") == [("prefill",)]
    assert stage.diary.load == (0, 0)


async def test_tokens_of_choices_that_nobody_waited_for_are_counted() -> None:
    stage = stage_of(2)
    task = stage.begin(Generate(prompt=RAW, n=2))
    streams = [await stage.engine.next_stream() for _ in range(2)]
    for stream in streams:
        stream.accept()
    generation = await task
    streams[0].say("a", "b", "c")
    streams[0].done(emitted=3)
    streams[1].say("d", "e")
    await settle()
    await generation.aclose()
    (finished,) = stage.diary.of("finished")
    assert finished[0] == "cancelled"
    assert finished[2] == Usage(prompt_tokens=7, completion_tokens=5)


async def test_a_client_that_leaves_before_any_accept_frees_every_slot() -> None:
    stage = stage_of(2)
    task = stage.begin(Generate(prompt=RAW, n=2))
    streams = [await stage.engine.next_stream() for _ in range(2)]
    task.cancel()
    await asyncio.wait({task})
    await stage.service.aclose()
    assert all(stream.cancelled for stream in streams)
    assert stage.diary.of("cancelled") == [("prefill",)]
    assert stage.diary.load == (0, 0)


async def test_a_part_that_a_stop_ended_frees_its_slot_only_with_the_engines_last_frame() -> None:
    stage = stage_of(1)
    task = stage.begin(Generate(prompt=RAW, n=2, limits=OutputLimits(stop=(".",))))
    first = await stage.engine.next_stream()
    first.accept()
    generation = await task
    first.say("a.")
    reader = asyncio.create_task(texts(generation))
    await settle()
    assert first.stopped
    assert len(stage.engine.submitted) == 1
    first.done(emitted=1)
    second = await stage.engine.next_stream()
    second.accept()
    second.say("b.")
    second.done(emitted=1)
    assert await reader == {0: "a", 1: "b"}


@pytest.mark.seeds("S47", "S76")
async def test_a_prompt_that_is_read_out_is_read_once_for_all_its_answers() -> None:
    stage = stage_of(3)
    task = stage.begin(
        Generate(prompt=TextPrompt(text="Hi"), n=3, readout=Readout(echo=True, logprobs=0, prompt_logprobs=0))
    )
    first = await stage.engine.next_stream()
    await settle()
    assert len(stage.engine.submitted) == 1, "the others wait for what the first one reads"
    first.accept(prompt_tokens=2)
    first.echo("H", "i")
    first.say("!")
    first.done(emitted=1)
    generation = await task
    reader = asyncio.create_task(_events(generation))
    for _ in range(2):
        stream = await stage.engine.next_stream()
        assert stream.request.echo is None
        stream.accept(prompt_tokens=2, cached_tokens=1)
        stream.say("?")
        stream.done(emitted=1)
    events = await reader
    reads = [event for event in events if isinstance(event, PromptRead)]
    assert sorted(read.choice for read in reads) == [0, 1, 2]
    assert {(read.text, tuple(token.logprob for token in read.tokens)) for read in reads} == {("Hi", (None, -1.0))}
    assert first.request.echo == 0


async def _events(generation):
    return [event async for event in generation]
