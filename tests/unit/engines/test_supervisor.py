from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.request import SamplingParams, TextPrompt
from dragoman.engines.client import Patience
from dragoman.engines.description import describe
from dragoman.engines.link import LinkBroken
from dragoman.engines.restart import RestartPolicy
from dragoman.engines.simulated import (
    INFO,
    STAT,
    Begin,
    CloseInput,
    Delay,
    Exit,
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
from dragoman.protocol.frames import Accept, Caps, LoadFail, LoadProgress, Model, Progress, Ready, Telemetry
from support.engines import asking, engine_for, outputs, plain_info, running, sent, soon, text

# --- crashes ---------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S112")
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
        assert failure.value.code is Code.ENGINE_STOPPED
    assert len(engine.links.spawned) == 3


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


async def test_an_engine_that_has_described_itself_is_ready_at_once():
    steps = [Say(Ready()), Say(Caps({"ext": "1"})), Say(Model(describe(INFO)))]
    async with running(SimulatedEngine(startup=lambda _spawn: steps, clock=FakeClock())) as engine:
        assert engine.status == "ready"
        assert await text(await engine.submit(asking()))


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


async def test_a_bug_of_ours_leaves_nobody_waiting():
    async with running(engine_for({"hello": [Begin(), Hold(), *say("x")]})) as engine:
        stream = await engine.submit(asking("hello"))
        await soon(anext(stream))

        def broken(frame):
            raise LookupError

        engine._supervisor._owner = SimpleNamespace(deliver=broken, lost=engine.lost)
        await stream.stop()
        with pytest.raises(EngineFailed, match="LookupError") as failure:
            await outputs(stream)
        assert failure.value.code is Code.INTERNAL
        assert engine.status == "failed"
    assert engine.links.spawned[0].exit_status is not None
