"""What a client sees of its prompt."""

from __future__ import annotations

import asyncio
import math

import pytest

from dragoman.core.events import Alternative, PromptRead, Visibility
from dragoman.core.request import Readout, TextPrompt, TokenPrompt
from dragoman.protocol.frames import Data, Echo, Numeric
from dragoman.serving.pieces import Pieces
from dragoman.serving.prompts import PromptView, read_back, reads_out, view_of
from support.hand_engine import END, HandEngine, info

NAN = float("nan")


@pytest.mark.seeds("S86")
@pytest.mark.parametrize(
    ("readout", "alternatives"),
    [
        (Readout(), None),
        (Readout(logprobs=5), None),  # the answer's records alone keep the prefix cache
        (Readout(echo=True), None),
        (Readout(token_ids=True), None),
        (Readout(echo=True, logprobs=5), 5),
        (Readout(prompt_logprobs=2), 2),
        (Readout(echo=True, logprobs=5, prompt_logprobs=2), 5),
    ],
)
def test_only_log_probabilities_of_the_prompt_are_worth_reading_it_out(readout, alternatives) -> None:
    assert reads_out(readout) == alternatives


@pytest.mark.seeds("S47")
@pytest.mark.parametrize(
    ("prompt", "readout", "expected"),
    [
        (TextPrompt(text="Hé"), Readout(echo=True), PromptRead(text="Hé")),
        (TokenPrompt(ids=(72, 233)), Readout(echo=True), PromptRead(text="Hé")),
        (TextPrompt(text="Hé"), Readout(token_ids=True), PromptRead(ids=(72, 233))),
        (TokenPrompt(ids=(72,)), Readout(echo=True, token_ids=True), PromptRead(text="H", ids=(72,))),
        (TextPrompt(text="Hé"), Readout(), None),
        (TextPrompt(text="Hé"), Readout(echo=True, logprobs=0), None),
    ],
)
async def test_what_needs_no_read_out_is_known_before(prompt, readout, expected) -> None:
    assert (await view_of(prompt, readout, HandEngine())).known == expected


async def test_of_a_gap_the_client_sees_what_it_sent() -> None:
    view = await view_of(TextPrompt(text="<pre>a<suf>b<mid>"), Readout(echo=True), HandEngine(), shown="a")
    assert view.known == PromptRead(text="a")


async def test_a_long_prompt_is_told_without_keeping_everybody_else_waiting() -> None:
    turns = 0

    async def somebody_else() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    other = asyncio.create_task(somebody_else())
    echoes = [Echo(1, position, b"x", Numeric(-1.0, ((120, -1.0),)), 120) for position in range(8192)]
    view = PromptView(prompt=TextPrompt(text="x" * 8192), readout=Readout(prompt_logprobs=1))
    found = await read_back(view, echoes, Pieces(HandEngine()), info())
    other.cancel()
    assert len(found.tokens) == 8192
    assert turns >= 8, "a thousand positions are enough for one turn"


async def read(prompt, readout, *echoes: Echo) -> PromptRead:
    view = PromptView(prompt=prompt, readout=readout)
    return await read_back(view, list(echoes), Pieces(HandEngine()), info())


@pytest.mark.seeds("S76", "S77", "S78")
async def test_an_echo_is_placed_by_its_position_and_joins_to_the_text() -> None:
    found = await read(
        TextPrompt(text="né!"),
        Readout(echo=True, logprobs=0),
        Echo(1, 2, b"\xa9!", Numeric(-2.0), 12),
        Echo(1, 0, b"n", Numeric(NAN), 10),
        Echo(1, 1, b"\xc3", Numeric(-1.0), 11),
    )
    assert found.text == "né!"
    assert [(record.text, record.data, record.logprob) for record in found.tokens] == [
        ("n", b"n", None),
        ("", b"\xc3", -1.0),
        ("é!", b"\xa9!", -2.0),
    ]


async def test_a_prompt_that_ends_inside_a_character_keeps_its_bytes() -> None:
    found = await read(
        TokenPrompt(ids=(1, 2)),
        Readout(echo=True, logprobs=0),
        Echo(1, 0, b"a", Numeric(NAN), 1),
        Echo(1, 1, b"\xc3", Numeric(-1), 2),
    )
    assert found.text == "a\ufffd"
    assert [(record.text, record.data) for record in found.tokens] == [("a", b"a"), ("\ufffd", b"\xc3")]


async def test_a_control_token_is_text_where_the_client_wrote_it_and_not_where_the_tokenizer_added_it() -> None:
    echoes = (
        Echo(1, 0, END.text.encode(), Numeric(NAN), END.id),
        Echo(1, 1, b"a", Numeric(-1.0), 1),
        Echo(1, 2, END.text.encode(), Numeric(-1.0), END.id),
    )
    found = await read(TextPrompt(text=f"a{END.text}"), Readout(echo=True, logprobs=0), *echoes)
    assert found.text == f"a{END.text}"
    assert [record.visibility for record in found.tokens] == [Visibility.CONTROL, Visibility.SHOWN, Visibility.SHOWN]
    ids = await read(TokenPrompt(ids=(2, 1, 2)), Readout(echo=True, logprobs=0), *echoes)
    assert ids.text == f"{END.text}a{END.text}"


async def test_prompt_logprobs_alone_show_no_text() -> None:
    found = await read(
        TextPrompt(text="ab"),
        Readout(prompt_logprobs=1, token_ids=True),
        Echo(1, 0, b"a", Numeric(NAN), 97),
        Echo(1, 1, b"b", Numeric(-1.5, ((99, -0.5),)), 98),
    )
    assert (found.text, found.ids) == ("", (97, 98))
    assert found.tokens[0].alternatives == ()
    # The token itself is always among them, and the likeliest comes first (seeds.md 4.1.4).
    assert found.tokens[1].alternatives == (Alternative(99, b"c", -0.5), Alternative(98, b"b", -1.5))


class CountingEngine(HandEngine):
    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.asked: list[tuple[int, ...]] = []

    async def detokenize(self, ids, *, special=True):
        self.asked.append(ids)
        return await super().detokenize(ids, special=special)


@pytest.mark.seeds("S80")
async def test_a_token_is_asked_for_once() -> None:
    engine = CountingEngine()
    pieces = Pieces(engine)
    first = await pieces.alternatives(Data(1, b"c", Numeric(-0.5, ((99, -0.5), (98, -1.0))), 99))
    await pieces.alternatives(Data(1, b"b", Numeric(-1.0, ((97, -3.0), (99, -0.5), (98, -1.0))), 98))
    assert first == (Alternative(99, b"c", -0.5), Alternative(98, b"b", -1.0))
    assert engine.asked == [(98,), (97,)]


async def test_many_tokens_are_asked_for_in_bounded_questions() -> None:
    engine = CountingEngine()
    await Pieces(engine).learn(range(10_000))
    assert [len(asked) for asked in engine.asked] == [4096, 4096, 1808]


@pytest.mark.seeds("S80")
async def test_an_engine_without_a_tokenizer_leaves_alternatives_with_their_numbers() -> None:
    engine = HandEngine(engine_info=info(features=frozenset({"logprobs"})))
    found = await Pieces(engine).alternatives(Data(1, b"x", Numeric(-math.inf, ((7, -0.5),)), None))
    assert found == (Alternative(7, b"<token_id:7>", -0.5),)
