"""One request from its operation to its events, with an engine that the test plays by hand."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest, NotFound, Overloaded, ServiceError, Unsupported
from dragoman.core.events import Accepted, ChoiceFinished, Finished, FinishReason, TextDelta, Usage
from dragoman.core.request import (
    Conversation,
    Detokenize,
    Generate,
    Message,
    OutputLimits,
    Role,
    SamplingParams,
    TextPrompt,
    Tokenize,
    ToolSpec,
)
from dragoman.protocol.frames import Progress
from support.call_parser import CallParser
from support.hand_engine import END, FEATURES, HandEngine, info
from support.stage import CHAT, RAW, Stage
from support.tag_dialect import TagDialect
from support.virtual_time import settle


async def test_what_the_engine_gets_is_the_rendered_conversation_and_the_slot() -> None:
    stage = Stage()
    operation = Generate(
        prompt=CHAT,
        sampling=SamplingParams(temperature=0.5, seed=3),
        limits=OutputLimits(max_tokens=9, ignore_eos=True),
        cache_slot=1,
    )
    generation, stream = await stage.running(operation)
    request = stream.request
    assert request.prompt == TextPrompt(text="[user]hi", plain=((6, 8),), add_special=False)
    assert (request.max_tokens, request.slot, request.isolation, request.ignore_eos) == (9, 1, "key", True)
    assert request.sampling == operation.sampling
    await generation.aclose()


async def test_an_open_budget_is_the_whole_context() -> None:
    stage = Stage()
    generation, stream = await stage.running(Generate(prompt=RAW))
    assert stream.request.prompt == RAW
    assert stream.request.max_tokens == 512
    await generation.aclose()


@pytest.mark.seeds("S116")
async def test_nothing_is_promised_before_the_engine_accepts() -> None:
    stage = Stage()
    task = stage.begin()
    stream = await stage.engine.next_stream()
    await asyncio.sleep(3600)
    assert not task.done()
    stream.accept(prompt_tokens=7, cached_tokens=4)
    generation = await task
    assert generation.accepted == Accepted(prompt_tokens=7, cached_tokens=4)
    assert stage.diary.of("accepted") == [("chat", 7, 4, "")]
    await generation.aclose()


async def test_an_answer_is_accepted_then_text_then_one_end() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    stream.put(Progress(1, 3, 7))
    stream.say("Hel", "lo", "")
    stream.say(END.text, token=END.id)
    stream.done(emitted=4)
    events = [event async for event in generation]
    usage = Usage(prompt_tokens=7, completion_tokens=4)
    assert events == [
        Accepted(prompt_tokens=7),
        TextDelta(text="Hel", generated=1),
        TextDelta(text="lo", generated=2),
        ChoiceFinished(reason=FinishReason.STOP, generated=4),
        Finished(usage=usage),
    ]
    assert [event for event in stage.diary.events if event[0] == "finished"] == [
        ("finished", "completed", "chat", usage, 0.0, 0.0)
    ]
    assert stage.diary.load == (0, 0)
    await generation.aclose()
    assert not stage.diary.of("cancelled")


async def test_an_answer_that_the_budget_cut_says_length() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    stream.say("a")
    stream.done(emitted=1, length_limited=True)
    assert [event async for event in generation][-2:] == [
        ChoiceFinished(reason=FinishReason.LENGTH, generated=1),
        Finished(usage=Usage(prompt_tokens=7, completion_tokens=1)),
    ]


@pytest.mark.seeds("S27")
async def test_a_stop_ends_the_answer_at_once_and_the_slot_when_the_engine_is_done() -> None:
    stage = Stage()
    generation, stream = await stage.running(Generate(prompt=RAW, limits=OutputLimits(stop=("\n",))))
    stream.say("one", " two\nthr", "ee")
    events = [event async for event in generation]
    assert events[1:] == [
        TextDelta(text="one", generated=1),
        TextDelta(text=" two", generated=2),
        ChoiceFinished(reason=FinishReason.STOP, stop="\n", generated=2),
        Finished(usage=Usage(prompt_tokens=7, completion_tokens=2)),
    ]
    assert stream.stopped
    assert not stream.cancelled
    await settle()
    assert stage.diary.load == (1, 0), "the slot is free before the engine's last frame"
    stream.done(emitted=3)
    await generation.aclose()
    assert stage.diary.load == (0, 0)
    assert [event[1] for event in stage.diary.events if event[0] == "finished"] == ["completed"]
    assert not stage.diary.of("cancelled")


async def test_an_engine_that_fails_after_a_stop_fails_nobody() -> None:
    stage = Stage()
    generation, stream = await stage.running(Generate(prompt=RAW, limits=OutputLimits(stop=(".",))))
    stream.say("a.")
    stream.fail(EngineFailed("dead", code=Code.ENGINE_CRASHED))
    events = [event async for event in generation]
    assert events[-2] == ChoiceFinished(reason=FinishReason.STOP, stop=".", generated=1)
    await generation.aclose()
    assert stage.diary.of("finished")[0][0] == "completed"
    assert stage.diary.load == (0, 0)


async def test_a_stop_completed_by_the_end_beats_the_budget() -> None:
    stage = Stage()
    generation, stream = await stage.running(Generate(prompt=RAW, limits=OutputLimits(stop=("abc", "b"))))
    stream.say("ab")
    stream.done(emitted=1, length_limited=True)
    finished = [event async for event in generation][-2]
    assert finished == ChoiceFinished(reason=FinishReason.STOP, stop="b", generated=1)


@pytest.mark.seeds("S28")
async def test_the_dialects_marker_ends_chats_only() -> None:
    stage = Stage()
    for prompt, text in ((CHAT, "x"), (RAW, "x[end]y")):
        generation, stream = await stage.running(Generate(prompt=prompt))
        stream.say("x[end]y")
        stream.done(emitted=1)
        events = [event async for event in generation]
        assert events[1] == TextDelta(text=text, generated=1)
        assert events[-2].stop is None
        await generation.aclose()


@pytest.mark.seeds("S148")
async def test_the_first_output_is_timed_from_the_engine_call() -> None:
    stage = Stage()
    task = stage.begin()
    stream = await stage.engine.next_stream()
    await asyncio.sleep(2)
    stream.accept()
    generation = await task
    await asyncio.sleep(3)
    stream.say("", "<", "x")
    stream.done(emitted=3)
    async for _ in generation:
        pass
    assert stage.diary.of("first_output") == [(5.0,)]
    assert stage.diary.of("token_gap") == [("chat", 0.0)]
    assert stage.diary.of("finished")[0][-2:] == (5.0, 5.0)


async def test_the_first_token_is_timed_from_the_requests_arrival() -> None:
    stage = Stage(HandEngine(engine_info=info(slots=1)))
    first, held = await stage.running()
    waiter = stage.begin(surface="completions")
    await asyncio.sleep(4)
    held.done(emitted=0)
    async for _ in first:
        pass
    stream = await stage.engine.next_stream()
    stream.accept()
    generation = await waiter
    stream.say("a")
    await settle()
    reader = asyncio.create_task(_read(generation))
    await asyncio.sleep(0.5)
    stream.say("b")
    stream.done(emitted=2)
    await reader
    assert generation.queue_wait == 4.0
    assert stage.diary.of("first_token") == [("completions", 4.0)]
    assert stage.diary.of("first_output") == [(0.0,)]
    assert stage.diary.of("token_gap") == [("completions", 0.5)]


async def _read(generation) -> None:
    async for _ in generation:
        pass


@pytest.mark.seeds("S148")
async def test_no_output_is_no_first_output() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    stream.done(emitted=0)
    async for _ in generation:
        pass
    assert stage.diary.of("first_output") == []


@pytest.mark.seeds("S132")
async def test_a_client_that_leaves_in_the_queue_costs_no_slot() -> None:
    stage = Stage(HandEngine(engine_info=info(slots=1)))
    generation, stream = await stage.running()
    waiter = stage.begin()
    await settle()
    assert stage.diary.load == (1, 1)
    waiter.cancel()
    await asyncio.wait({waiter})
    assert stage.diary.of("cancelled") == [("queue",)]
    assert len(stage.engine.submitted) == 1
    await generation.aclose()
    assert stream.cancelled


async def test_a_client_that_leaves_before_the_accept_is_cancelled_in_prefill() -> None:
    stage = Stage(HandEngine(holds=True))
    task = stage.begin()
    stream = await stage.engine.next_stream()
    await settle()
    task.cancel()
    await settle()
    assert stream.cancelled
    assert stage.diary.of("cancelled") == [("prefill",)]
    assert stage.diary.load == (1, 0), "the slot is free before the engine's last frame"
    stream.let_go()
    await stage.service.aclose()
    assert stage.diary.load == (0, 0)
    assert stage.diary.of("finished")[0][0] == "cancelled"


@pytest.mark.parametrize(("said", "phase"), [((), "prefill"), (("x",), "decode")])
async def test_a_client_that_leaves_later_is_cancelled_in_the_phase_it_was_in(said, phase) -> None:
    stage = Stage(HandEngine(holds=True))
    generation, stream = await stage.running()
    stream.say(*said)

    async def read() -> None:
        async for _ in generation:
            pass

    reader = asyncio.create_task(read())
    await settle()
    reader.cancel()
    await asyncio.wait({reader})
    await settle()
    assert stream.cancelled
    assert stage.diary.of("cancelled") == [(phase,)]
    assert stage.diary.load == (1, 0)
    stream.let_go()
    await generation.aclose()
    assert stage.diary.load == (0, 0)
    outcome, _, usage, *_ = stage.diary.of("finished")[0]
    assert (outcome, usage) == ("cancelled", Usage(prompt_tokens=7, completion_tokens=len(said)))


async def test_a_generation_that_nobody_reads_is_cancelled_by_closing_it() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    await generation.aclose()
    await generation.aclose()
    assert stream.cancelled
    assert stage.diary.of("cancelled") == [("prefill",)]
    assert stage.diary.load == (0, 0)


async def test_a_reader_that_stops_in_the_middle_cancels() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    stream.say("a", "b")
    async for event in generation:
        if isinstance(event, TextDelta):
            break
    await generation.aclose()
    assert stream.cancelled
    assert stage.diary.of("cancelled") == [("decode",)]


async def test_an_engine_that_fails_an_answer_fails_it_by_name() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    stream.say("a")
    stream.fail(EngineFailed("dead", code=Code.ENGINE_CRASHED))
    events = []
    with pytest.raises(EngineFailed, match="dead"):
        async for event in generation:
            events.append(event)
    await generation.aclose()
    assert events[1:] == [TextDelta(text="a", generated=1)]
    assert stage.diary.of("finished")[0][0] == "failed"
    assert not stage.diary.of("cancelled")
    assert stage.diary.load == (0, 0)
    assert stage.service.health().failed == 1


async def test_an_answer_without_an_end_is_a_protocol_error() -> None:
    stage = Stage()
    generation, stream = await stage.running()
    stream.end_without_done()
    with pytest.raises(EngineFailed) as failure:
        async for _ in generation:
            pass
    assert failure.value.code is Code.ENGINE_PROTOCOL
    await generation.aclose()
    assert stage.diary.load == (0, 0)


@pytest.mark.parametrize("first", ["nothing", "text", "error"])
async def test_an_engine_that_does_not_accept_frees_the_slot(first) -> None:
    stage = Stage()
    task = stage.begin()
    stream = await stage.engine.next_stream()
    match first:
        case "nothing":
            stream.end_without_done()
        case "text":
            stream.say("x")
        case "error":
            stream.fail(InvalidRequest("too long", code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt"))
    with pytest.raises(ServiceError) as failure:
        await task
    expected = Code.CONTEXT_LENGTH_EXCEEDED if first == "error" else Code.ENGINE_PROTOCOL
    assert failure.value.code is expected
    await settle()
    assert stage.diary.load == (0, 0)
    assert stage.diary.of("finished")[0][0] == "failed"


async def test_an_engine_that_refuses_the_request_frees_the_slot() -> None:
    stage = Stage()
    stage.engine.refuse = EngineFailed("gone", code=Code.ENGINE_CRASHED)
    with pytest.raises(EngineFailed, match="gone"):
        await stage.begin()
    await settle()
    assert stage.diary.load == (0, 0)


async def test_what_cannot_be_done_is_refused_before_the_queue() -> None:
    stage = Stage(HandEngine(engine_info=info(features=FEATURES - {"seed"})))
    wrong = {
        Unsupported: Generate(prompt=RAW, sampling=SamplingParams(seed=1)),
        NotFound: Generate(prompt=RAW, model="large"),
        InvalidRequest: Generate(prompt=Conversation(messages=(Message(role=Role.TOOL),))),
    }
    for kind, operation in wrong.items():
        with pytest.raises(kind):
            await stage.begin(operation)
    assert not stage.diary.of("admitted")
    assert not stage.engine.submitted


@pytest.mark.seeds("S9")
async def test_the_model_may_be_named_by_its_aliases_or_not_at_all() -> None:
    stage = Stage(aliases=("gpt-4",))
    assert [card.id for card in stage.service.models()] == ["small", "gpt-4"]
    assert stage.service.card("gpt-4").context_length == 512
    for name in (None, "small", "gpt-4"):
        generation, _ = await stage.running(Generate(prompt=RAW, model=name))
        await generation.aclose()
    with pytest.raises(NotFound) as refusal:
        stage.service.card("large")
    assert (refusal.value.code, refusal.value.param) == (Code.MODEL_NOT_FOUND, "model")


async def test_a_conversation_has_the_tokens_that_generating_would_compute() -> None:
    stage = Stage()
    result = await stage.service.tokenize(Tokenize(source=CHAT, return_token_strs=True))
    generation, stream = await stage.running()
    assert stage.engine.tokenized == [stream.request.prompt]
    assert result.ids == tuple(map(ord, "[user]hi"))
    assert result.strs == tuple("[user]hi")
    assert result.context_length == 512
    await generation.aclose()


async def test_tokens_become_text_with_or_without_control_tokens() -> None:
    stage = Stage()
    ids = (104, END.id, 105)
    assert (await stage.service.detokenize(Detokenize(ids=ids))).text == "h\x02i"
    assert (await stage.service.detokenize(Detokenize(ids=ids, skip_special_tokens=True))).text == "hi"


async def test_an_engine_that_keeps_its_tokenizer_to_itself_is_not_asked() -> None:
    stage = Stage(HandEngine(engine_info=info(features=frozenset())))
    for asked in (
        stage.service.tokenize(Tokenize(source=RAW)),
        stage.service.detokenize(Detokenize(ids=(1,))),
    ):
        with pytest.raises(Unsupported):
            await asked


@pytest.mark.seeds("S11")
async def test_health_counts_and_tells_the_cause() -> None:
    stage = Stage(HandEngine(engine_info=info(slots=1)), max_queue=1)
    generation, stream = await stage.running()
    waiter = stage.begin()
    await settle()
    with pytest.raises(Overloaded):
        await stage.begin()
    before = stage.service.health()
    assert (before.status, before.active, before.queued, before.rejected) == ("ok", 1, 1, 1)
    assert (before.completed, before.failed) == (0, 0)
    stream.done(emitted=0)
    async for _ in generation:
        pass
    (await stage.engine.next_stream()).fail(EngineFailed("x", code=Code.ENGINE_ERROR))
    with pytest.raises(ServiceError):
        await waiter
    await settle()
    after = stage.service.health()
    assert (after.active, after.queued, after.completed, after.failed) == (0, 0, 1, 1)
    stage.engine.status, stage.engine.failure = "failed", "no memory"
    assert (stage.service.health().status, stage.service.health().cause) == ("error", "no memory")
    with pytest.raises(EngineFailed, match="no memory"):
        await stage.begin()
    stage.engine.status = "loading"
    assert stage.service.health().status == "loading"
    assert stage.service.fingerprint is None


async def test_draining_refuses_the_new_and_the_waiting_and_lets_the_running_finish() -> None:
    stage = Stage(HandEngine(engine_info=info(slots=1)))
    generation, stream = await stage.running()
    waiter = stage.begin()
    await settle()
    stage.service.drain()
    for entry in (waiter, stage.begin()):
        with pytest.raises(Overloaded) as refusal:
            await entry
        assert refusal.value.code is Code.SHUTTING_DOWN
    stream.say("still here")
    stream.done(emitted=1)
    assert [event async for event in generation][1] == TextDelta(text="still here", generated=1)
    assert stage.service.health().status == "error"
    await stage.service.aclose()


async def test_a_thousand_answers_two_at_a_time_never_meet() -> None:
    """Peers' bug list, 114: each client gets its own answer."""
    stage = Stage(max_queue=1000)

    async def play() -> None:
        while True:
            stream = await stage.engine.next_stream()
            stream.accept()
            stream.say(stream.request.prompt.text)
            stream.done(emitted=1)

    async def ask(name: str) -> str:
        generation = await stage.service.generate(
            Generate(prompt=TextPrompt(text=name)), surface="completions", isolation=""
        )
        return "".join([event.text async for event in generation if isinstance(event, TextDelta)])

    player = asyncio.create_task(play())
    names = [f"prompt {number}" for number in range(1000)]
    assert await asyncio.gather(*map(ask, names)) == names
    player.cancel()
    assert stage.service.health().completed == 1000


class Caller(TagDialect):
    """Its answers may hold calls: ``[name|arguments]``."""

    def parser(self, conversation, prompt) -> CallParser:
        return CallParser()


@pytest.mark.seeds("S57", "S124")
@pytest.mark.parametrize(
    ("said", "limited", "reason"),
    [
        ("[f|{}]", False, FinishReason.TOOL_CALLS),
        ("Well. [f|{}] [g|{}]", False, FinishReason.TOOL_CALLS),
        ("[f|{}]", True, FinishReason.LENGTH),
        ("[f|{", True, FinishReason.LENGTH),
        ("[f|{", False, FinishReason.STOP),  # the model broke it off, so there is no call to answer
        ("no call", False, FinishReason.STOP),
        ("[f|{}] then .", False, FinishReason.STOP),  # the client's stop was met
    ],
)
async def test_an_answer_says_calls_only_where_they_are_whole_and_ended_it(said, limited, reason) -> None:
    stage = Stage(dialect=Caller())
    generation, stream = await stage.running(Generate(prompt=CHAT, limits=OutputLimits(stop=(".",))))
    stream.say(*said.replace("Well.", "Well"))
    stream.done(emitted=len(said), length_limited=limited)
    finished = [event async for event in generation if isinstance(event, ChoiceFinished)]
    assert [event.reason for event in finished] == [reason]
    await generation.aclose()


@pytest.mark.seeds("S123")
async def test_strict_calls_that_do_not_hold_fail_the_answer() -> None:
    stage = Stage(dialect=Caller())
    conversation = replace(CHAT, tools=(ToolSpec(name="f"),))
    generation, stream = await stage.running(Generate(prompt=conversation, strict_tool_calls=True))
    stream.say('[f|{"a":1}]')
    with pytest.raises(EngineFailed, match="Additional properties") as failure:
        async for _ in generation:
            pass
    assert failure.value.code is Code.INVALID_TOOL_CALL
    await generation.aclose()
    assert stream.cancelled
    assert stage.diary.load == (0, 0)


async def test_an_engine_that_was_given_up_is_named_so():
    stage = Stage()
    stage.engine.status = "failed"
    with pytest.raises(EngineFailed) as refused:
        await stage.service.generate(Generate(prompt=CHAT), surface="chat", isolation="")
    assert refused.value.code is Code.ENGINE_STOPPED
