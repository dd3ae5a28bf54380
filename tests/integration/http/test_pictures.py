"""Pictures over HTTP, to a model that sees and to one that does not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.dialects import chatml
from dragoman.dialects.base import ModelTraits
from support.hand_engine import FEATURES, HandEngine, info
from support.house import House
from support.pictures import data_url, file, image_url

RED = file((1, 1), (255, 0, 0))
PATH = "messages.0.content.1.image_url.url"


def house(*, sees: bool = True) -> House:
    features = FEATURES | {"images"} if sees else FEATURES
    traits = ModelTraits(
        template=None,
        specials=("<|im_start|>", "<|im_end|>"),
        bos_token="",
        eos_token="<|im_end|>",
        clock=lambda: datetime(2026, 3, 9, tzinfo=UTC),
    )
    return House(engine=HandEngine(engine_info=info(features=features)), dialect=chatml.build(traits))


def chat(*parts: dict) -> dict:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, *parts]}]}


@pytest.mark.seeds("S153")
async def test_a_chat_about_a_picture_is_answered() -> None:
    home = house()
    exchange = home.client.open("POST", "/v1/chat/completions", chat(image_url(RED, detail="high")))
    stream = await home.engine.next_stream()
    stream.accept()
    stream.say("Red.")
    stream.done(1)
    reply = await exchange.end()
    assert reply.status == 200
    assert reply.json()["choices"][0]["message"]["content"] == "Red."
    assert reply.headers["x-dragoman-ignored"] == "messages.*.content.*.image_url.detail"
    (picture,) = stream.request.images
    assert (picture.width, picture.height, picture.rgb) == (1, 1, b"\xff\0\0")


SHOWN = {
    "/v1/chat/completions": chat(image_url(RED)),
    "/v1/messages": {
        "model": "small",
        "max_tokens": 5,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/png",
                            "data": data_url(RED).partition(",")[2],
                        },
                    },
                ],
            }
        ],
    },
    "/v1/responses": {
        "store": False,
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is it?"},
                    {"type": "input_image", "image_url": data_url(RED), "detail": "auto"},
                ],
            }
        ],
    },
}
"""The same picture, as each surface has it."""


@pytest.mark.feature("images", "chat", "responses", "messages")
@pytest.mark.seeds("S153")
@pytest.mark.parametrize("path", SHOWN)
async def test_each_surface_shows_the_model_the_same(path: str) -> None:
    home = house()
    exchange = home.client.open("POST", path, SHOWN[path])
    stream = await home.engine.next_stream()
    stream.accept()
    stream.done(0)
    assert (await exchange.end()).status == 200
    ((place, _),) = stream.request.prompt.images
    assert stream.request.prompt.text[:place].endswith("What is it?")
    assert [picture.rgb for picture in stream.request.images] == [b"\xff\0\0"]


@pytest.mark.parametrize(
    ("path", "param"),
    [
        ("/v1/chat/completions", PATH),
        ("/v1/messages", "messages.0.content.1.source.data"),
        ("/v1/responses", "input.0.content.1.image_url"),
    ],
)
async def test_each_surface_says_where_a_picture_stands_that_a_model_of_text_cannot_see(path: str, param: str) -> None:
    """Peers 126."""
    reply = await house(sees=False).client.post(path, SHOWN[path])
    assert reply.status == 400
    assert reply.json()["error"]["message"].startswith(f"{param}: ")


@pytest.mark.parametrize(
    ("parts", "param", "code"),
    [
        ([image_url(b"GIF89a")], PATH, "invalid_image"),
        ([image_url(RED[:30])], PATH, "invalid_image"),
        ([image_url(RED)] * 11, "messages", "invalid_value"),
        ([{"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}], PATH, "unsupported_value"),
    ],
    ids=["no_picture", "cut", "eleven", "remote"],
)
async def test_what_is_no_picture_and_too_many_are_a_400_that_names_them(parts, param: str, code: str) -> None:
    """Peers 126."""
    reply = await house().client.post("/v1/chat/completions", chat(*parts))
    assert reply.status == 400
    assert (reply.json()["error"]["param"], reply.json()["error"]["code"]) == (param, code)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/tokenize"])
async def test_a_model_of_text_refuses_a_picture_by_its_path(path: str) -> None:
    """Peers 126."""
    reply = await house(sees=False).client.post(path, chat(image_url(RED)))
    assert reply.status == 400
    assert (reply.json()["error"]["param"], reply.json()["error"]["code"]) == (PATH, "unsupported_value")


async def test_a_picture_of_ten_mebibytes_arrives() -> None:
    home = house()
    padded = RED + bytes(10 * 1024 * 1024 - len(RED))
    exchange = home.client.open("POST", "/v1/chat/completions", chat(image_url(padded), image_url(padded)))
    stream = await home.engine.next_stream()
    stream.accept()
    stream.done(0)
    assert (await exchange.end()).status == 200
    assert len(stream.request.images) == 2


@pytest.mark.seeds("S10")
async def test_the_model_card_says_whether_pictures_are_seen() -> None:
    for sees, modalities in ((True, ["text", "image"]), (False, ["text"])):
        listed = (await house(sees=sees).client.get("/v1/models")).json()
        assert listed["data"][0]["input_modalities"] == modalities


async def test_a_url_is_a_picture_as_well() -> None:
    counted = await house().client.post("/tokenize", chat({"type": "image_url", "image_url": data_url(RED)}))
    assert counted.json()["tokens"].count(1000) == 1
