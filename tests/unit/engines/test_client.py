from __future__ import annotations

import asyncio

import pytest

from dragoman.core.errors import Cancelled, Code, EngineFailed, Internal, InvalidRequest, Unsupported
from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt
from dragoman.engines.calls import MAX_UNREAD
from dragoman.engines.client import Patience
from dragoman.engines.description import describe
from dragoman.engines.older import as_asked
from dragoman.engines.simulated import (
    INFO,
    Begin,
    Delay,
    Emit,
    Fail,
    FakeClock,
    Hang,
    Hold,
    Raw,
    Say,
    SimulatedEngine,
    old,
    say,
)
from dragoman.protocol.frames import (
    Accept,
    Caps,
    Data,
    Done,
    Echo,
    Image,
    Model,
    Numeric,
    Progress,
    Ready,
    Submit,
    Tool,
)
from support.engines import asking, engine_for, outputs, plain_info, running, sent, soon, text

# --- the life of a request -------------------------------------------------------------------------------------------


async def test_outputs_come_in_the_engines_order_and_end_with_done():
    steps = [Begin(), Say(Progress(1, 2, 5)), *say("ab")]
    async with running(engine_for({"hello": steps})) as engine:
        frames = await outputs(await engine.submit(asking("hello", sampling=SamplingParams(seed=1))))
    assert frames[:4] == [Accept(1, 5, 0, "cold"), Progress(1, 2, 5), Data(1, b"a", None, 97), Data(1, b"b", None, 98)]
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


@pytest.mark.seeds("S106", "S107")
async def test_an_image_and_its_request_are_written_one_right_after_the_other():
    seeing = [Say(Ready()), Say(Caps({"ext": "1", "vision": "1"})), Say(Model(describe(INFO)))]
    async with running(engine_for({"see": say("x")}, startup=lambda _spawn: seeing)) as engine:
        image = Image(id=9, payload=b"\0\0\x80?" * 2, grid_h=1, grid_w=2)
        command = Submit(id=9, slot=0, payload=b"see", max_tokens=1, temperature=0.0, top_p=1.0, images=(image,))
        engine._supervisor.send(command)
        assert await engine.tokenize(TextPrompt(text="later")) == tuple(b"later")
    pair = b"IMAGE 9 8 1 2\n\0\0\x80?\0\0\x80?\nSUBMIT 9 0 3 1 0 1\nsee\n"
    assert sent(engine) == pair + b"TOKENIZE 1 5\nlater\n"


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


@pytest.mark.seeds("S87")
@pytest.mark.parametrize(
    ("logprobs", "echo", "of_prompt", "of_answer"),
    [(2, None, [], 2), (0, None, [], 0), (None, 1, [0, 1], None), (1, 3, [0, 3], 1), (3, 1, [0, 1], 3)],
)
async def test_an_older_engine_that_says_more_than_was_asked_is_cut_to_it(logprobs, echo, of_prompt, of_answer):
    async with running(engine_for({"ab": say("x")}, startup=old)) as engine:
        frames = await outputs(await engine.submit(asking("ab", logprobs=logprobs, echo=echo)))
    assert [len(frame.numeric.top) for frame in frames if isinstance(frame, Echo)] == of_prompt
    (data,) = [frame for frame in frames if isinstance(frame, Data)]
    assert (None if data.numeric is None else len(data.numeric.top)) == of_answer


def test_the_likeliest_alternatives_are_kept_in_whatever_order_they_came():
    top = ((1, -3.0), (2, float("nan")), (3, -1.0), (4, -2.0))
    cut = as_asked(Data(1, b"x", Numeric(-3.0, top), 1), 2)
    assert cut == Data(1, b"x", Numeric(-3.0, ((3, -1.0), (4, -2.0))), 1)


# --- refusals --------------------------------------------------------------------------------------------------------


async def test_what_the_engine_did_not_announce_is_refused_by_name_and_never_sent():
    async with running(SimulatedEngine(startup=old, info=plain_info())) as engine:
        for request, feature in (
            (asking(prompt=TokenPrompt(ids=(1,))), "ids"),
            (asking(logprobs=0), "logprobs"),
            (asking(echo=0), "echo"),
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
@pytest.mark.seeds("S112")
async def test_an_error_frame_fails_its_request_by_name(code, detail, kind, expected, feature):
    async with running(engine_for({"hello": [Fail(code, detail)]})) as engine:
        stream = await engine.submit(asking("hello"))
        with pytest.raises(kind) as failure:
            await outputs(stream)
        assert (failure.value.code, failure.value.feature) == (expected, feature)
        assert engine.pending == 0
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


# --- limits ----------------------------------------------------------------------------------------------------------


async def test_a_caller_that_goes_away_while_its_request_is_written_takes_it_along():
    async with running(engine_for({"hello": [Begin(), Hold()]})) as engine:
        link = engine.links.spawned[0]
        stuck = asyncio.Event()
        link.drain = stuck.wait
        submitting = asyncio.create_task(engine.submit(asking("hello")))
        await asyncio.sleep(0)
        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting
        assert await engine_is_idle(engine)
    assert sent(engine).endswith(b"hello\nCANCEL 1\n")


async def engine_is_idle(engine) -> bool:
    await soon(engine._idle.wait())
    return engine.pending == 0


async def test_an_engine_that_writes_more_than_any_answer_holds_loses_that_request():
    more = b"DATA 1 0\n\n" * (MAX_UNREAD + 1)
    async with running(engine_for({"hello": [Begin(), Raw(more), Hold()]})) as engine:
        stream = await engine.submit(asking("hello"))
        await soon(stream.released())
        with pytest.raises(EngineFailed, match="more than any answer"):
            await outputs(stream)
    assert sent(engine).endswith(b"CANCEL 1\n")
