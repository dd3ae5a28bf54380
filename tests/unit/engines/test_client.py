from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from dragoman.core.errors import Cancelled, Code, EngineFailed, Internal, InvalidRequest, Unsupported
from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt
from dragoman.engines.client import Patience
from dragoman.engines.link import LinkBroken
from dragoman.engines.restart import RestartPolicy
from dragoman.engines.simulated import (
    INFO,
    STAT,
    Begin,
    CloseInput,
    Delay,
    Emit,
    Exit,
    Fail,
    FakeClock,
    Hang,
    Hold,
    Raw,
    Say,
    SimulatedEngine,
    modern,
    old,
    say,
    tapes,
)
from dragoman.protocol.frames import Accept, Caps, Data, Done, LoadFail, LoadProgress, Progress, Ready, Telemetry, Tool
from support.engines import asking, outputs, soon, text


@asynccontextmanager
async def running(engine: SimulatedEngine) -> AsyncIterator[SimulatedEngine]:
    await soon(engine.start())
    try:
        yield engine
    finally:
        await soon(engine.aclose())
        assert engine.pending == 0, "every way out drops its entry (S112)"


def engine_for(written, **more) -> SimulatedEngine:
    return SimulatedEngine(tapes(written), **more)


def sent(engine: SimulatedEngine, spawn: int = 0) -> bytes:
    return bytes(engine.links.spawned[spawn].received)


# --- the life of a request -------------------------------------------------------------------------------------------


async def test_outputs_come_in_the_engines_order_and_end_with_done():
    steps = [Begin(), Say(Progress(1, 2, 5)), *say("ab")]
    async with running(engine_for({"hello": steps})) as engine:
        frames = await outputs(await engine.submit(asking("hello", sampling=SamplingParams(seed=1))))
    assert frames[:4] == [Accept(1, 5), Progress(1, 2, 5), Data(1, b"a", None, 97), Data(1, b"b", None, 98)]
    assert isinstance(frames[4], Done)
    assert (frames[4].emitted, frames[4].prompt_tokens, frames[4].length_limited) == (2, 5, False)
    assert len(frames) == 5


async def test_two_requests_at_once_get_their_own_outputs():
    first, second = Hold(), Hold()
    written = {"one": [Begin(), Emit(b"1"), first, Emit(b"!")], "two": [Begin(), Emit(b"2"), second, Emit(b"?")]}
    async with running(engine_for(written)) as engine:
        one = await engine.submit(asking("one", slot=0))
        two = await engine.submit(asking("two", slot=1))
        second.event.set()
        assert await text(two) == "2?"
        first.event.set()
        assert await text(one) == "1!"


async def test_what_was_written_before_anybody_read_is_all_there():
    async with running(engine_for({"hello": say("x" * 5000)})) as engine:
        stream = await engine.submit(asking("hello", max_tokens=4000))
        await soon(stream.released())
        assert await text(stream) == "x" * 4000


async def test_stop_keeps_what_was_generated():
    async with running(engine_for({"hello": [*say("kept"), Hold()]})) as engine:
        stream = await engine.submit(asking("hello"))
        assert isinstance(await soon(anext(stream)), Accept)
        await stream.stop()
        frames = await outputs(stream)
        assert b"".join(frame.payload for frame in frames if isinstance(frame, Data)) == b"kept"
        assert isinstance(frames[-1], Done)
        await stream.stop()  # after the end: nothing is written for an id that is gone
    assert sent(engine).endswith(b"STOP 1\n")


async def test_a_closed_stream_cancels_and_holds_its_slot_until_the_last_frame():
    held = Hold()
    clock = FakeClock()
    async with running(engine_for({"hello": [Begin(), Hang()], "held": [held]}, clock=clock)) as engine:
        stream = await engine.submit(asking("hello"))
        assert isinstance(await soon(anext(stream)), Accept)
        closing = asyncio.create_task(stream.aclose())
        await clock.advance(9)
        assert not closing.done(), "the engine hangs, so the slot is still taken"
        await clock.advance(1)
        await soon(closing)  # but the wait has an end
        assert engine.pending == 1
        with pytest.raises(Cancelled):
            await outputs(stream)
        await clock.advance(120)  # until the silence has killed it
        assert engine.pending == 0
    assert sent(engine).count(b"CANCEL 1\n") == 1


async def test_a_cancelled_request_frees_its_slot_with_the_engines_word():
    async with running(engine_for({"hello": [Begin(), Hold()]})) as engine:
        first = await engine.submit(asking("hello", slot=2))
        await soon(anext(first))
        await soon(first.aclose())
        await soon(first.aclose())  # twice does no harm
        second = await engine.submit(asking("other", slot=2))
        assert (await text(second)).startswith("A dragoman")
    assert sent(engine).count(b"CANCEL") == 1


async def test_closing_after_the_end_sends_nothing():
    async with running(SimulatedEngine()) as engine:
        stream = await engine.submit(asking())
        await outputs(stream)
        await soon(stream.aclose())
    assert b"CANCEL" not in sent(engine)


# --- bytes -----------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S106", "S107")
async def test_a_request_without_extensions_has_the_bytes_of_the_older_form():
    async with running(engine_for({"first": [Begin(), Hold()], "second": [Begin(), Hold()]})) as engine:
        sampling = SamplingParams(temperature=0.7, top_p=0.95)
        first = await engine.submit(asking("first\n", max_tokens=16, sampling=sampling, slot=1))
        second = await engine.submit(asking("sécond", max_tokens=2048, sampling=SamplingParams(), slot=3))
        await soon(anext(first))
        await soon(anext(second))
        await first.stop()
        await soon(second.aclose())
    transcript = (
        b"SUBMIT 1 1 6 16 0.69999999999999996 0.95\nfirst\n\nSUBMIT 2 3 7 2048 1 1\ns\xc3\xa9cond\nSTOP 1\nCANCEL 2\n"
    ).replace(b"0.69999999999999996", b"%.8g" % 0.7)
    assert sent(engine) == transcript


async def test_an_extension_holds_only_what_was_asked_for():
    sampling = SamplingParams(temperature=1.0, top_k=40, min_p=0.05, seed=7)
    async with running(SimulatedEngine()) as engine:
        prompt = TextPrompt(text="é<|im_end|>x", plain=((1, 11),), add_special=False)
        await outputs(await engine.submit(asking(prompt=prompt, max_tokens=3, sampling=sampling, isolation="key")))
    extension = b'{"top_k":40,"min_p":0.05,"seed":7,"isolation":"key","plain":[[2,12]],"add_special":false}'
    payload = "é<|im_end|>x".encode()
    assert sent(engine) == b"SUBMIT 1 0 13 3 1 1 ext=%d\n%b%b\n" % (len(extension), payload, extension)


async def test_token_ids_travel_as_decimal_words():
    async with running(SimulatedEngine()) as engine:
        await outputs(await engine.submit(asking(prompt=TokenPrompt(ids=(257, 65, 258)), max_tokens=1)))
    assert sent(engine) == b"SUBMIT 1 0 10 1 0 1 ids=1\n257 65 258\n"


# --- refusals --------------------------------------------------------------------------------------------------------


async def test_what_the_engine_did_not_announce_is_refused_by_name_and_never_sent():
    async with running(SimulatedEngine(startup=old, info=plain_info())) as engine:
        for request, feature in (
            (asking(prompt=TokenPrompt(ids=(1,))), "ids"),
            (asking(logprobs=0), "logprobs"),
            (asking(echo=True), "echo"),
            (asking(sampling=SamplingParams(top_k=5)), "top_k"),
            (asking(sampling=SamplingParams(min_p=0.1)), "min_p"),
            (asking(sampling=SamplingParams(seed=1)), "seed"),
            (asking(ignore_eos=True), "ignore_eos"),
        ):
            with pytest.raises(Unsupported) as refusal:
                await engine.submit(request)
            assert refusal.value.feature == feature
        with pytest.raises(Unsupported):
            await engine.tokenize(TextPrompt(text="x"))
    assert sent(engine) == b""


@pytest.mark.parametrize(
    ("code", "detail", "kind", "expected", "feature"),
    [
        ("CONTEXT_EXCEEDED", "5000 4096", InvalidRequest, Code.CONTEXT_LENGTH_EXCEEDED, "prompt"),
        ("CONTEXT_EXCEEDED", "prompt_tokens=5000 requested=7 capacity=4096", InvalidRequest, Code.CONTEXT_LENGTH_EXCEEDED, "prompt"),
        ("CANCELLED", "", Cancelled, Code.CANCELLED, None),
        ("NOT_SUPPORTED", "images", Unsupported, Code.UNSUPPORTED_VALUE, None),
        ("EMPTY_PROMPT", "", InvalidRequest, Code.INVALID_VALUE, "prompt"),
        ("SLOT_BUSY", "", EngineFailed, Code.ENGINE_ERROR, None),
        ("SOMETHING_NEW", "with words", EngineFailed, Code.ENGINE_ERROR, None),
    ],
)  # fmt: skip
async def test_an_error_frame_fails_its_request_by_name(code, detail, kind, expected, feature):
    async with running(engine_for({"hello": [Fail(code, detail)]})) as engine:
        stream = await engine.submit(asking("hello"))
        with pytest.raises(kind) as failure:
            await outputs(stream)
        assert (failure.value.code, failure.value.feature) == (expected, feature)
        assert await text(await engine.submit(asking("other")))


@pytest.mark.seeds("S93")
async def test_ids_outside_the_vocabulary_are_the_clients_mistake():
    async with running(SimulatedEngine()) as engine:
        with pytest.raises(InvalidRequest) as failure:
            await outputs(await engine.submit(asking(prompt=TokenPrompt(ids=(1, 100_000)))))
        assert (failure.value.code, failure.value.feature) == (Code.INVALID_VALUE, "prompt")
        with pytest.raises(InvalidRequest):
            await engine.detokenize((100_000,))


async def test_a_command_that_cannot_be_written_is_our_own_mistake():
    async with running(SimulatedEngine()) as engine:
        with pytest.raises(Internal):
            await engine.submit(asking(sampling=SamplingParams(temperature=9.0)))
        assert engine.pending == 0


# --- the tokenizer ---------------------------------------------------------------------------------------------------


async def test_the_tokenizer_sees_control_tokens_only_where_they_are_meant():
    async with running(SimulatedEngine()) as engine:
        assert await engine.tokenize(TextPrompt(text="é<|im_end|>")) == (0xC3, 0xA9, 258)
        forged = await engine.tokenize(TextPrompt(text="é<|im_end|>", plain=((0, 11),)))
        assert forged == tuple("é<|im_end|>".encode())
        assert await engine.tokenize(TextPrompt(text="<|im_end|>", parse_special=False)) == tuple(b"<|im_end|>")
        assert await engine.detokenize((65, 258, 0xC3)) == (b"A", b"<|im_end|>", b"\xc3")
        assert await engine.detokenize((65, 258), special=False) == (b"A", b"")


# --- crashes ---------------------------------------------------------------------------------------------------------


async def test_a_crash_fails_what_was_accepted_and_replays_what_was_not():
    restarts = []
    held = Hold()

    def script(request):
        if "early" in request.text and request.spawn == 0:
            return [held]
        if "late" in request.text:
            return [Begin(), *say("some"), held, Exit(-9)]
        return say("fine")

    async with running(SimulatedEngine(script, on_restart=lambda: restarts.append(1))) as engine:
        late = await engine.submit(asking("late", slot=0))
        early = await engine.submit(asking("early", slot=1))
        assert isinstance(await soon(anext(late)), Accept)
        engine.links.spawned[0].kill()
        got = []
        with pytest.raises(EngineFailed, match="SIGKILL") as failure:
            async for output in late:
                got.append(output.payload)
        assert failure.value.code is Code.ENGINE_CRASHED
        assert b"".join(got) == b"some", "earlier text is kept (S108)"
        assert await text(early) == "fine"
        assert engine.status == "ready"
    assert restarts == [1]
    assert sent(engine, 1).count(b"SUBMIT") == 1


async def test_a_request_that_kills_engines_is_sent_to_two_at_most():
    async with running(engine_for({"poison": [Exit(-11)]})) as engine:
        stream = await engine.submit(asking("poison"))
        with pytest.raises(EngineFailed, match="SIGSEGV") as failure:
            await outputs(stream)
        assert failure.value.code is Code.ENGINE_CRASHED
    assert [b"poison" in sent(engine, spawn) for spawn in range(len(engine.links.spawned))][:2] == [True, True]
    assert not any(b"poison" in sent(engine, spawn) for spawn in range(2, len(engine.links.spawned)))


async def test_a_question_to_the_tokenizer_survives_a_crash():
    async with running(SimulatedEngine()) as engine:
        asked = asyncio.create_task(engine.tokenize(TextPrompt(text="ab")))
        await asyncio.sleep(0)
        engine.links.spawned[0].kill()
        assert await soon(asked) == (97, 98)


@pytest.mark.seeds("S109")
@pytest.mark.parametrize("junk", [b"DATA 1 70000\n", b"what is this\n", b"DATA 1 2\nabc\n", b"DATA x 1\na\n"])
async def test_broken_framing_ends_the_session_and_names_it_to_everybody(junk):
    held = Hold()
    async with running(engine_for({"bad": [Begin(), Raw(junk)], "good": [Begin(), held]})) as engine:
        good = await engine.submit(asking("good", slot=0))
        await soon(anext(good))
        bad = await engine.submit(asking("bad", slot=1))
        for stream in (bad, good):
            with pytest.raises(EngineFailed) as failure:
                await outputs(stream)
            assert failure.value.code is Code.ENGINE_PROTOCOL
        assert (await text(await engine.submit(asking("later")))).startswith("A dragoman")
    assert len(engine.links.spawned) == 2


@pytest.mark.seeds("S84", "S85")
async def test_a_fault_within_one_request_ends_that_one_alone():
    held = Hold()
    bad = [Begin(), Raw(b"DATA 2 1 -0.5 2 7\na\n"), *say("never seen"), Hold()]
    written = {"bad": bad, "good": [Begin(), held, *say("whole")]}
    async with running(engine_for(written, patience=Patience(tick=0.01))) as engine:
        good = await engine.submit(asking("good", slot=0))
        broken = await engine.submit(asking("bad", slot=1, logprobs=2))
        with pytest.raises(EngineFailed) as failure:
            await outputs(broken)
        assert failure.value.code == "engine_logprob_tail_malformed"
        held.event.set()
        assert await text(good) == "whole"
        assert len(engine.links.spawned) == 1
    assert sent(engine).count(b"CANCEL 2\n") == 1


@pytest.mark.seeds("S110")
async def test_lines_from_the_future_and_group_frames_are_skipped_and_counted():
    noise = b"GRPP 9 3\nabc\nGRPG 9 0\n\nGRPS 1\nGRPE\nNOVELTY 1 2 3\nPERF 1\n"
    async with running(engine_for({"hello": [*say("a"), Raw(noise), *say("b")]})) as engine:
        assert await text(await engine.submit(asking("hello"))) == "ab"
        assert engine.unknown_frames == 1


@pytest.mark.seeds("S108")
async def test_a_stop_that_cannot_be_written_ends_the_stream_by_name_and_keeps_the_text():
    async with running(
        engine_for({"hello": [Begin(), CloseInput(), *say("kept"), Hold()]}, clock=FakeClock())
    ) as engine:
        stream = await engine.submit(asking("hello"))
        await soon(anext(stream))
        got = [(await soon(anext(stream))).payload for _ in range(4)]
        await stream.stop()
        await engine._clock.advance(1.0)
        with pytest.raises(EngineFailed) as failure:
            await outputs(stream)
    assert b"".join(got) == b"kept"
    assert failure.value.code is Code.ENGINE_CRASHED


@pytest.mark.seeds("S108")
async def test_a_submit_that_cannot_be_written_goes_to_the_next_engine():
    clock = FakeClock()
    async with running(engine_for({"deaf": [Begin(), CloseInput(), Hold()]}, clock=clock)) as engine:
        await soon(anext(await engine.submit(asking("deaf", slot=0))))
        stream = await engine.submit(asking("other", slot=1))
        await clock.advance(1.0)
        assert (await text(stream)).startswith("A dragoman")
    assert b"other" not in sent(engine, 0)


async def test_silence_while_requests_run_is_a_stuck_engine():
    clock = FakeClock()
    async with running(engine_for({"stuck": [Begin(), Hang()]}, clock=clock)) as engine:
        await clock.advance(1000)
        assert engine.status == "ready", "the silence of an idle engine is none"
        stream = await engine.submit(asking("stuck"))
        await soon(anext(stream))
        await clock.advance(119)
        assert engine.status == "ready"
        await clock.advance(2)
        with pytest.raises(EngineFailed, match="120 s") as failure:
            await outputs(stream)
        assert failure.value.code is Code.ENGINE_CRASHED
        assert await text(await engine.submit(asking("next")))


async def test_an_engine_that_reports_progress_is_never_stuck():
    clock = FakeClock()
    steps = [Begin()]
    for done in range(1, 6):
        steps += [Delay(100), Say(Progress(1, done, 5))]
    async with running(engine_for({"hello": [*steps, *say("x")]}, clock=clock)) as engine:
        stream = await engine.submit(asking("hello", sampling=SamplingParams(seed=1)))
        await clock.advance(501)
        assert await text(stream) == "x"


async def test_health_tells_the_cause_while_the_engine_comes_back():
    hold = Hold()
    seen = []

    def startup(spawn):
        if spawn:
            yield hold
        yield from modern()(spawn)

    async with running(SimulatedEngine(tapes({"die": [Begin(), Exit(3)]}), startup=startup)) as engine:
        assert engine.failure is None
        stream = await engine.submit(asking("die"))
        with pytest.raises(EngineFailed):
            await outputs(stream)
        seen.append((engine.status, engine.failure))
        waiting = asyncio.create_task(engine.submit(asking("patient")))
        hold.event.set()
        assert await text(await soon(waiting))
        seen.append((engine.status, engine.failure))
    assert seen == [("loading", "The engine exited with status 3 while it served."), ("ready", None)]


async def test_a_submit_waits_for_the_next_engine_but_not_for_ever():
    clock = FakeClock()

    def startup(spawn):
        if spawn:
            yield Hold()
        yield from modern()(spawn)

    engine = SimulatedEngine(tapes({"die": [Exit(1)]}), startup=startup, clock=clock)
    async with running(engine):
        replayed = await engine.submit(asking("die"))
        await clock.advance()
        waiting = asyncio.create_task(engine.submit(asking("patient")))
        await clock.advance(61)
        for stream in (waiting, outputs(replayed)):
            with pytest.raises(EngineFailed) as failure:
                await soon(stream)
            assert failure.value.code is Code.ENGINE_LOADING
            assert failure.value.retry_after


async def test_an_engine_that_crashes_again_and_again_is_given_up_by_name():
    clock = FakeClock()
    policy = RestartPolicy(delays=(0.0, 5.0), window=60.0)
    async with running(engine_for({"die": [Begin(), Exit(1)]}, clock=clock, restarts=policy)) as engine:
        for crash in range(3):
            stream = await engine.submit(asking("die"))
            with pytest.raises(EngineFailed):
                await outputs(stream)
            if crash < 2:
                await clock.advance(5.0)
        assert engine.status == "failed"
        assert engine.failure == "The engine exited with status 1 while it served."
        with pytest.raises(EngineFailed, match="exited with status 1") as failure:
            await engine.submit(asking("later"))
        assert failure.value.code is Code.ENGINE_CRASHED
    assert len(engine.links.spawned) == 3


# --- accepting -------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S88")
async def test_an_engine_that_never_accepts_what_it_did_not_announce_gets_thirty_seconds():
    clock = FakeClock()
    async with running(engine_for({"hello": [Hold()]}, startup=old, clock=clock)) as engine:
        stream = await engine.submit(asking("hello", logprobs=3))
        await clock.advance(29)
        assert b"CANCEL" not in sent(engine)
        await clock.advance(2)
        with pytest.raises(EngineFailed) as failure:
            await outputs(stream)
        assert failure.value.code is Code.ENGINE_TIMEOUT
        assert engine.pending == 0
    assert sent(engine) == b"SUBMIT 1 0 5 100 0 1 logprobs=3\nhello\nCANCEL 1\n"


@pytest.mark.seeds("S88")
async def test_an_engine_that_announced_it_is_trusted_to_wait_for_a_long_prefill():
    clock = FakeClock()
    async with running(engine_for({"hello": [Delay(100), *say("x")]}, clock=clock)) as engine:
        stream = await engine.submit(asking("hello", logprobs=3))
        await clock.advance(101)
        assert await text(stream) == "x"


@pytest.mark.seeds("S113")
async def test_the_first_data_of_an_engine_without_accept_counts_as_accept():
    steps = [Raw(b"DATA 1 1\nx\nDONE 1 STAT 1 0.0 0.0 0.0 5 0\n"), Hold()]
    async with running(engine_for({"hello": steps}, startup=old, patience=Patience(drain=0.0))) as engine:
        frames = await outputs(await engine.submit(asking("hello")))
    assert [type(frame) for frame in frames] == [Accept, Data, Done]


@pytest.mark.seeds("S87")
async def test_echo_that_nobody_asked_for_is_dropped():
    async with running(engine_for({"hello": say("x")}, startup=old)) as engine:
        frames = await outputs(await engine.submit(asking("hello", logprobs=0)))
    assert [type(frame) for frame in frames] == [Accept, Data, Done]


async def test_the_tool_side_band_passes():
    async with running(engine_for({"hello": [Begin(), Say(Tool(1, b"")), Say(Tool(1, b"{}"))]}, startup=old)) as engine:
        frames = await outputs(await engine.submit(asking("hello")))
    assert frames[1:3] == [Tool(1, b""), Tool(1, b"{}")]


# --- loading ---------------------------------------------------------------------------------------------------------


async def test_loading_reports_its_progress_and_the_model():
    heard = []

    def startup(_spawn):
        yield Say(LoadProgress(0.25, "weights"))
        yield from modern()(0)

    engine = SimulatedEngine(startup=startup, on_progress=lambda fraction, phase: heard.append((fraction, phase)))
    assert engine.status == "loading"
    with pytest.raises(EngineFailed):
        _ = engine.info
    async with running(engine):
        assert engine.info == INFO
        assert (engine.status, engine.failure) == ("ready", None)
    assert heard == [(0.25, "weights"), (1.0, "script")]


def plain_info():
    return replace(INFO, features=frozenset())


async def test_an_older_engine_is_what_its_operator_says():
    async with running(SimulatedEngine(startup=old, info=plain_info())) as engine:
        assert engine.info == plain_info()
        assert (
            await text(await engine.submit(asking()))
            == "A dragoman stood between two courts and said to each what the other meant."
        )


async def test_an_engine_that_stops_talking_after_ready_is_taken_as_it_is():
    clock = FakeClock()
    engine = SimulatedEngine(startup=lambda _spawn: [Say(Ready())], clock=clock)
    starting = asyncio.create_task(engine.start())
    await clock.advance(4)
    assert engine.status == "loading"
    await clock.advance(2)
    await soon(starting)
    assert engine.status == "ready"
    await soon(engine.aclose())


@pytest.mark.parametrize(
    ("steps", "code", "words"),
    [
        ([Say(LoadFail("nomem", "needs 9 GB"))], Code.ENGINE_CRASHED, "memory.*needs 9 GB"),
        ([Say(LoadFail("format", ""))], Code.ENGINE_CRASHED, "not a model"),
        ([Exit(-4)], Code.ENGINE_CRASHED, "illegal instruction.*dragoman doctor"),
        ([Exit(-9)], Code.ENGINE_CRASHED, "SIGKILL.*memory"),
        ([Exit(1)], Code.ENGINE_CRASHED, "exited with status 1 while it loaded"),
        ([Raw(b"Traceback:\n")], Code.ENGINE_PROTOCOL, "broke the protocol"),
        ([Say(Ready()), Say(Caps({"ext": "1"})), Raw(b'MODEL 13\n{"slots":"x"}\n')], Code.ENGINE_PROTOCOL, "without a usable"),
    ],
)  # fmt: skip
async def test_an_engine_that_cannot_load_says_why(steps, code, words):
    engine = SimulatedEngine(startup=lambda _spawn: steps)
    with pytest.raises(EngineFailed, match=words) as failure:
        await soon(engine.start())
    assert failure.value.code is code
    assert engine.status == "failed"
    assert len(engine.links.spawned) == 1, "a wrong setting is not tried again"
    await soon(engine.aclose())


async def test_a_program_that_does_not_exist_is_named():
    engine = SimulatedEngine()

    async def missing():
        raise LinkBroken("cannot run engine: No such file or directory")

    engine._supervisor._links = missing
    with pytest.raises(EngineFailed, match="No such file"):
        await soon(engine.start())
    await soon(engine.aclose())


# --- the end ---------------------------------------------------------------------------------------------------------


async def test_closing_lets_running_requests_end_and_refuses_new_ones():
    hold = Hold()
    engine = engine_for({"hello": [Begin(), hold, *say("done")]})
    await soon(engine.start())
    stream = await engine.submit(asking("hello"))
    closing = asyncio.create_task(engine.aclose())
    await asyncio.sleep(0)
    with pytest.raises(EngineFailed) as refusal:
        await engine.submit(asking("late"))
    assert refusal.value.code is Code.SHUTTING_DOWN
    hold.event.set()
    assert await text(stream) == "done"
    await soon(closing)
    assert str(engine.links.spawned[0].exit_status) == "exited with status 0"


async def test_closing_does_not_wait_for_ever():
    clock = FakeClock()
    engine = engine_for({"hello": [Begin(), Hang()]}, clock=clock, patience=Patience(drain=30.0, stall=1000.0))
    await soon(engine.start())
    stream = await engine.submit(asking("hello"))
    await soon(anext(stream))
    closing = asyncio.create_task(engine.aclose())
    await clock.advance(61)
    await soon(closing)
    with pytest.raises(EngineFailed) as failure:
        await outputs(stream)
    assert failure.value.code is Code.SHUTTING_DOWN
    assert engine.pending == 0


async def test_closing_an_engine_that_was_never_started_is_quiet():
    await soon(SimulatedEngine().aclose())


async def test_a_status_line_at_any_time_changes_nothing():
    async with running(
        engine_for({"hello": [*say("a"), Say(STAT), Say(Telemetry("HITS", True, "0")), *say("b")]})
    ) as engine:
        assert await text(await engine.submit(asking("hello"))) == "ab"
        assert engine.unknown_frames == 0


async def test_closing_while_a_dead_engine_waits_for_its_turn_starts_no_other():
    clock = FakeClock()
    engine = engine_for({"die": [Begin(), Exit(1)]}, clock=clock, restarts=RestartPolicy(delays=(30.0,)))
    await soon(engine.start())
    with pytest.raises(EngineFailed):
        await outputs(await engine.submit(asking("die")))
    await clock.advance()
    await soon(engine.aclose())
    await clock.advance(60)
    assert len(engine.links.spawned) == 1


async def test_closing_while_an_engine_is_started_leaves_none_behind():
    engine = engine_for({"die": [Begin(), Exit(1)]})
    opened, opening = asyncio.Event(), asyncio.Event()
    links = engine.links

    async def slowly():
        if links.spawned:
            opening.set()
            await opened.wait()
        return await links()

    engine._supervisor._links = slowly
    await soon(engine.start())
    with pytest.raises(EngineFailed):
        await outputs(await engine.submit(asking("die")))
    await soon(opening.wait())
    closing = asyncio.create_task(engine.aclose())
    await asyncio.sleep(0)
    opened.set()
    await soon(closing)
    assert [link.exit_status is not None for link in links.spawned] == [True, True]
