"""What had no effect is listed in a header, whether the surface knew it or only the model's dialect (seeds.md 4.1.25 in spirit)."""

from __future__ import annotations

import pytest

from support.house import CHAT, House
from support.tag_dialect import TagDialect


class Stubborn(TagDialect):
    """A model that does not think, whatever it is told."""

    def ignores(self, conversation) -> tuple[str, ...]:
        asked = ["reasoning_effort"] if conversation.thinking.effort else []
        return (*asked, *(f"template_args.{name}" for name in conversation.template_args))


BODY = CHAT | {
    "reasoning_effort": "high",
    "chat_template_kwargs": {"mood": "gay", "evil\r\nx-header": 1},
    "frobnicate": True,
}
NAMES = "frobnicate, reasoning_effort, chat_template_kwargs.mood, chat_template_kwargs.evil\\r\\nx-header"


@pytest.mark.seeds("S62")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_does_not_think_says_that_effort_was_wasted(stream) -> None:
    house = House(dialect=Stubborn())
    exchange = house.client.open("POST", "/v1/chat/completions", BODY | {"stream": stream})
    engine_stream = await house.engine.next_stream()
    engine_stream.accept()
    engine_stream.done(emitted=0)
    reply = await exchange.end()
    assert reply.headers["x-dragoman-ignored"] == NAMES


async def test_tokenize_says_the_same_of_the_same_conversation() -> None:
    house = House(dialect=Stubborn())
    reply = await house.client.post("/tokenize", BODY)
    assert reply.status == 200
    assert reply.headers["x-dragoman-ignored"] == NAMES


async def test_without_anything_wasted_there_is_no_header() -> None:
    house = House(dialect=Stubborn())
    assert "x-dragoman-ignored" not in (await house.client.post("/tokenize", CHAT)).headers
