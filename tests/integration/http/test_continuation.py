"""The operator's switch for a last message of the assistant, and that chat and /tokenize obey it alike (S54, S64)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.dialects import chatml
from dragoman.dialects.base import ModelTraits
from dragoman.gateway.options import GatewayOptions
from support.house import House

OPEN = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hel"}]}
CONTINUED = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHel"
FRESH = CONTINUED + "<|im_end|>\n<|im_start|>assistant\n"


def house_of(*, continue_assistant: bool) -> House:
    traits = ModelTraits(
        template=None,
        specials=("<|im_start|>", "<|im_end|>"),
        bos_token="",
        eos_token="<|im_end|>",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    return House(dialect=chatml.build(traits), options=GatewayOptions(continue_assistant=continue_assistant))


@pytest.mark.seeds("S54", "S64")
@pytest.mark.parametrize(
    ("switch", "fields", "prompt"),
    [
        (True, {}, CONTINUED),
        (False, {}, FRESH),
        (False, {"continue_final_message": True, "add_generation_prompt": False}, CONTINUED),
        (True, {"continue_final_message": False}, FRESH),
    ],
)
async def test_a_request_that_does_not_say_is_continued_as_the_operator_decided(switch, fields, prompt) -> None:
    house = house_of(continue_assistant=switch)
    exchange = house.client.open("POST", "/v1/chat/completions", {**OPEN, **fields})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.done(emitted=0)
    assert (await exchange.end()).status == 200
    assert stream.request.prompt.text == prompt
    counted = await house.client.post("/tokenize", {**OPEN, **fields})
    assert counted.json()["count"] == len(prompt), "the engine of this test has a token for each character"
