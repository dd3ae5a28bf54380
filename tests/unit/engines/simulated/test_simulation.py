from __future__ import annotations

import math

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt, Xtc
from dragoman.engines.simulated import Begin, Delay, Emit, FakeClock, SimulatedEngine, canned, say, tapes
from dragoman.protocol.frames import Accept, Data, Done, Echo
from support.engines import asking, outputs, soon, text

SENTENCE = "A dragoman stood between two courts and said to each what the other meant."


@pytest.fixture
async def engine():
    simulated = SimulatedEngine(slots=2)
    await soon(simulated.start())
    yield simulated
    await soon(simulated.aclose())


async def test_the_answer_is_always_the_same_and_ends_with_the_end_of_the_turn(engine):
    frames = await outputs(await engine.submit(asking(ignore_eos=False, isolation="k")))
    data = [frame for frame in frames if isinstance(frame, Data)]
    assert b"".join(frame.payload for frame in data).decode() == SENTENCE + "<|im_end|>"
    assert data[-1].token == 258
    assert await engine.detokenize(tuple(frame.token for frame in data)) == tuple(frame.payload for frame in data)
    assert frames[-1].emitted == len(SENTENCE.split()) + 1


async def test_a_control_token_is_not_shown_to_a_request_without_extensions(engine):
    frames = await outputs(await engine.submit(asking()))
    assert b"".join(frame.payload for frame in frames if isinstance(frame, Data)).decode() == SENTENCE


@pytest.mark.parametrize(("budget", "limited"), [(1, True), (3, True), (15, True), (16, False)])
async def test_the_budget_is_exact_and_says_when_it_was_the_end(engine, budget, limited):
    done = (await outputs(await engine.submit(asking(max_tokens=budget))))[-1]
    assert (done.emitted, done.length_limited) == (min(budget, 15), limited)


async def test_a_budget_of_nothing_generates_nothing(engine):
    frames = await outputs(await engine.submit(asking(max_tokens=0)))
    assert [type(frame) for frame in frames] == [Accept, Done]
    assert frames[-1].emitted == 0


async def test_ignoring_the_end_fills_the_budget(engine):
    answer = await text(await engine.submit(asking(max_tokens=30, ignore_eos=True)))
    assert len(answer.split()) == 30
    assert answer.startswith(f"{SENTENCE} {SENTENCE} A dragoman")


async def test_the_budget_is_clamped_to_the_context_and_a_prompt_above_it_is_refused(engine):
    assert (await outputs(await engine.submit(asking("x" * 4094, ignore_eos=True))))[-1].emitted == 2
    with pytest.raises(InvalidRequest) as refusal:
        await outputs(await engine.submit(asking("x" * 4096)))
    assert refusal.value.code is Code.CONTEXT_LENGTH_EXCEEDED


@pytest.mark.seeds("S134")
async def test_the_common_prefix_with_earlier_prompts_and_answers_counts_as_cached(engine):
    async def counts(prompt, **more):
        frames = await outputs(await engine.submit(asking(prompt, **more)))
        return frames[0].prompt_tokens, frames[0].cached_tokens, frames[-1].computed_tokens

    assert await counts("abcdef", isolation="a") == (6, 0, 6)
    assert await counts("abcxyz", isolation="a") == (6, 3, 3)
    assert await counts("abcdef", isolation="a") == (6, 5, 1), "the last token is always computed"
    assert await counts("abcdef", isolation="b") == (6, 0, 6)
    continued = "abcdef" + SENTENCE + "<|im_end|>!"
    assert (await counts(continued, isolation="a"))[1] == 6 + len(SENTENCE) + 1


async def test_a_slot_takes_one_request(engine):
    simulated = SimulatedEngine(tapes({"hold": [Begin(), Delay(1)]}), clock=FakeClock())
    await soon(simulated.start())
    first = await simulated.submit(asking("hold", slot=0))
    with pytest.raises(Exception, match="SLOT_BUSY"):
        await outputs(await simulated.submit(asking("x", slot=0)))
    with pytest.raises(Exception, match="invalid cache slot"):
        await outputs(await simulated.submit(asking("x", slot=4)))
    await soon(first.aclose())
    await soon(simulated.aclose())


async def test_logprobs_and_echo_describe_every_token(engine):
    frames = await outputs(await engine.submit(asking("ab", max_tokens=1, logprobs=3, echo=3)))
    accept, first, second, data, _ = frames
    assert isinstance(accept, Accept)
    assert isinstance(first, Echo)
    assert (first.position, first.payload, first.token) == (0, b"a", 97)
    assert math.isnan(first.numeric.logprob)
    assert (second.position, second.numeric.top) == (1, ((98, -0.25), (0, -1.25), (1, -2.25)))
    assert data.numeric.logprob == -0.25
    assert len(data.numeric.top) == 3


async def test_delays_pass_on_the_fake_clock_only():
    clock = FakeClock()
    engine = SimulatedEngine(canned(tokens=3, delay=2.0), clock=clock)
    await soon(engine.start())
    stream = await engine.submit(asking())
    await clock.advance(4.0)
    assert isinstance(await soon(anext(stream)), Accept)
    assert [(await soon(anext(stream))).payload for _ in range(2)] == [b"A", b" dragoman"]
    await clock.advance(2.0)
    assert [type(frame) for frame in await outputs(stream)] == [Data, Done]
    await soon(engine.aclose())


async def test_a_script_may_be_any_function_of_the_request():
    seen = []

    def reverse(request):
        seen.append(request)
        return say(request.text[::-1])

    engine = SimulatedEngine(reverse)
    await soon(engine.start())
    assert await text(await engine.submit(asking("stressed", max_tokens=8, isolation="k"))) == "desserts"
    (request,) = seen
    assert (request.slot, request.max_tokens, request.spawn, request.extended) == (0, 8, 0, True)
    assert request.options == {"isolation": "k"}
    await soon(engine.aclose())


async def test_a_script_that_fails_takes_the_engine_with_it():
    def broken(request):
        raise LookupError

    engine = SimulatedEngine(broken)
    await soon(engine.start())
    with pytest.raises(Exception, match="exited with status 70"):
        await outputs(await engine.submit(asking()))
    await soon(engine.aclose())


async def test_half_a_character_is_a_token_too():
    engine = SimulatedEngine(tapes({"hello": [Emit(b"\xc3", 0xC3), Emit(b"\xa9", 0xA9)]}))
    await soon(engine.start())
    assert await text(await engine.submit(asking("hello"))) == "é"
    await soon(engine.aclose())


async def test_ids_are_the_prompt_as_it_stands(engine):
    frames = await outputs(await engine.submit(asking(prompt=TokenPrompt(ids=(257, 65)), max_tokens=1)))
    assert frames[0].prompt_tokens == 2
    assert await engine.tokenize(TextPrompt(text="<|im_start|>A")) == (257, 65)


@pytest.mark.seeds("S48")
async def test_the_tokens_around_a_gap_are_announced_and_recognised(engine):
    gap = engine.info.fill_in
    ids = await engine.tokenize(TextPrompt(text=f"{gap.prefix}a{gap.suffix}b{gap.middle}", plain=()))
    assert [await engine.detokenize((token,)) for token in ids[::2]] == [
        (text.encode(),) for text in (gap.prefix, gap.suffix, gap.middle)
    ]
    assert {token.text for token in engine.info.special_tokens} >= {gap.prefix, gap.suffix, gap.middle}


@pytest.mark.seeds("S37")
async def test_a_stop_token_ends_the_answer_like_the_end_of_the_turn(engine):
    frames = await outputs(await engine.submit(asking(stop_token_ids=(261,))))
    assert b"".join(frame.payload for frame in frames if isinstance(frame, Data)) == b"A dragoman stood"
    assert (frames[-1].emitted, frames[-1].length_limited) == (3, False)


@pytest.mark.seeds("S36")
async def test_an_answer_is_as_long_as_min_tokens_ask(engine):
    frames = await outputs(await engine.submit(asking(min_tokens=30)))
    assert frames[-1].emitted == 31
    assert frames[-2].token == 258
    late = await outputs(await engine.submit(asking(min_tokens=5, stop_token_ids=(261,))))
    assert late[-1].emitted == 15, "the third word is past, and does not come again"


async def test_logprobs_and_echo_are_two_wishes(engine):
    scored = await outputs(await engine.submit(asking("ab", max_tokens=1, echo=2)))
    assert [len(frame.numeric.top) for frame in scored if isinstance(frame, Echo)] == [0, 2]
    assert [frame.numeric for frame in scored if isinstance(frame, Data)] == [None]
    plain = await outputs(await engine.submit(asking("ab", max_tokens=1, logprobs=0)))
    assert [type(frame) for frame in plain] == [Accept, Data, Done]
    assert plain[1].numeric.top == ()


async def test_accept_says_why_a_prompt_was_not_cached(engine):
    async def miss(prompt, **more):
        return (await outputs(await engine.submit(asking(prompt, isolation="misses", **more))))[0].miss

    assert [await miss("abcdef"), await miss("abcxyz"), await miss("abcdef")] == ["cold", "diverged", ""]
    assert await miss("abcdef", echo=0) == "echo"


async def test_a_script_sees_every_option():
    seen = []

    def look(request):
        seen.append(request)
        return say("x")

    sampling = SamplingParams(temperature=0.5, presence_penalty=0.5, bad_words=("no",), xtc=Xtc(probability=0.5))
    engine = SimulatedEngine(look)
    await soon(engine.start())
    await outputs(await engine.submit(asking(sampling=sampling, min_tokens=2, stop_token_ids=(5,), echo=1)))
    (request,) = seen
    assert (request.sampling, request.min_tokens, request.stop_token_ids) == (sampling, 2, (5,))
    assert (request.logprobs, request.echo, request.ignore_eos) == (None, 1, False)
    assert request.options["xtc"] == {"probability": 0.5, "threshold": 0.1}
    await soon(engine.aclose())


async def test_a_value_that_a_real_engine_would_refuse_is_refused(engine):
    with pytest.raises(InvalidRequest) as refusal:
        await outputs(await engine.submit(asking(stop_token_ids=(100_000,))))
    assert refusal.value.feature == "stop_token_ids"
