"""Pictures on their way from a conversation to an engine that the test plays by hand."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.events import PromptRead
from dragoman.core.request import (
    Conversation,
    Generate,
    ImagePart,
    Message,
    Part,
    Readout,
    Role,
    TextPart,
    TextPrompt,
    Tokenize,
)
from dragoman.dialects import chatml
from dragoman.dialects.base import ModelTraits
from dragoman.engines.base import EngineImage
from support.hand_engine import FEATURES, HandEngine, info
from support.pictures import file
from support.stage import CHAT, Stage

RED = ImagePart(data=file((1, 1), (255, 0, 0)), media_type="image/png", place="messages.0.content.0.image_url.url")
BLUE = ImagePart(data=file((1, 1), (0, 0, 255)), media_type="image/png", place="messages.0.content.2.image_url.url")
BROKEN = replace(RED, data=RED.data[:20])
DIALECT = chatml.build(
    ModelTraits(
        template=None,
        specials=("<|im_start|>", "<|im_end|>"),
        bos_token="",
        eos_token="<|im_end|>",
        clock=lambda: datetime(2026, 3, 9, tzinfo=UTC),
    )
)


def seeing() -> Stage:
    return Stage(HandEngine(engine_info=info(features=FEATURES | {"images"})), DIALECT)


def asking(*parts: Part | str, **more) -> Generate:
    said = tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)
    return Generate(prompt=Conversation(messages=(Message(role=Role.USER, parts=said),)), **more)


def decoded() -> set[int]:
    """Which pictures there are as pixels, anywhere."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if isinstance(each, EngineImage)}


@pytest.mark.seeds("S153")
class TestAModelThatSees:
    async def test_the_engine_gets_each_picture_decoded_for_its_place_in_the_text(self):
        generation, stream = await seeing().running(asking(RED, "or", BLUE))
        request = stream.request
        assert isinstance(request.prompt, TextPrompt)
        (first, _), (second, _) = request.prompt.images
        assert request.prompt.text[first:second] == "or"
        assert [picture.rgb for picture in request.images] == [b"\xff\0\0", b"\0\0\xff"]
        await generation.aclose()

    async def test_every_choice_sees_them(self):
        stage = seeing()
        task = stage.begin(asking(RED, n=2))
        streams = []
        for _ in range(2):
            streams.append(await stage.engine.next_stream())
            streams[-1].accept()
        assert [len(stream.request.images) for stream in streams] == [1, 1]
        await (await task).aclose()

    async def test_a_text_has_none(self):
        generation, stream = await seeing().running(Generate(prompt=CHAT))
        assert stream.request.images == ()
        await generation.aclose()

    async def test_a_queue_holds_files_and_not_pixels(self):
        """Decoded before it had a slot, each of many small files would take up to 16 MiB for as long as it waits."""
        stage = seeing()
        held = [await stage.running(asking("hi")) for _ in range(stage.engine.info.slots)]
        before = decoded()
        reached = asyncio.Event()
        waiting = asyncio.create_task(
            stage.service.generate(asking(RED), surface="chat", isolation="key", queued=reached.set)
        )
        await reached.wait()
        assert decoded() <= before
        await held[0][0].aclose()
        stream = await stage.engine.next_stream()
        assert len(stream.request.images) == 1
        stream.accept()
        await (await waiting).aclose()
        await held[1][0].aclose()

    async def test_a_picture_that_does_not_decode_is_refused_before_it_waits(self):
        stage = seeing()
        with pytest.raises(InvalidRequest) as refusal:
            await stage.begin(asking("look", BROKEN))
        assert (refusal.value.code, refusal.value.param) == (Code.INVALID_IMAGE, BROKEN.place)
        assert not stage.engine.submitted

    @pytest.mark.parametrize("readout", [Readout(prompt_logprobs=0), Readout(echo=True, logprobs=0)])
    async def test_a_prompt_that_shows_one_is_not_read_out(self, readout: Readout):
        with pytest.raises(Unsupported, match="picture"):
            await seeing().begin(asking(RED, readout=readout))

    async def test_a_count_is_of_pictures_too(self):
        """The engine by hand takes a character for a token and a picture for one; 1000 is the number behind the last token's."""
        stage = seeing()
        text = await stage.service.tokenize(Tokenize(source=asking("hi").prompt))
        counted = await stage.service.tokenize(Tokenize(source=asking(RED, "hi", BLUE).prompt, return_token_strs=True))
        assert len(counted.ids) == len(text.ids) + 2
        assert [index for index, token in enumerate(counted.ids) if token == 1000] == [
            counted.strs.index(""),
            counted.strs.index("", counted.strs.index("") + 1),
        ]
        assert "".join(counted.strs) == "".join(map(chr, text.ids))

    async def test_the_ids_of_a_prompt_are_the_ones_that_are_counted(self):
        stage = seeing()
        counted = await stage.service.tokenize(Tokenize(source=asking(RED, "hi").prompt))
        generation, stream = await stage.running(asking(RED, "hi", readout=Readout(token_ids=True)))
        stream.say("A")
        stream.done(1)
        (read,) = [event async for event in generation if isinstance(event, PromptRead)]
        assert read.ids == counted.ids
        assert 1000 in read.ids

    async def test_its_card_says_that_it_reads_images(self):
        assert seeing().service.card().input_modalities == ("text", "image")
        assert Stage().service.card().input_modalities == ("text",)


class TestAModelThatReadsText:
    async def test_the_first_picture_is_refused_by_its_path_before_anything_else_is_looked_at(self):
        """Peers 126. The picture is broken, and this template of one word would leave it out: neither matters here."""
        stage = Stage()
        with pytest.raises(Unsupported, match="reads text only") as refusal:
            await stage.begin(asking("look", BROKEN, BLUE))
        assert (refusal.value.code, refusal.value.param) == (Code.UNSUPPORTED_VALUE, BROKEN.place)
        assert not stage.engine.submitted

    async def test_so_it_is_where_tokens_are_counted(self):
        with pytest.raises(Unsupported) as refusal:
            await Stage().service.tokenize(Tokenize(source=asking(RED).prompt))
        assert refusal.value.param == RED.place
