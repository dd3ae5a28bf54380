"""What had to be changed in a conversation is told in a header."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.house import CHAT, House
from support.tag_dialect import TagDialect


class Mender(TagDialect):
    def render(self, conversation):
        return replace(super().render(conversation), repairs=("roles_joined", "system_merged"))


@pytest.mark.parametrize("more", [{}, {"stream": True}, {"n": 2}])
async def test_repairs_are_listed(more) -> None:
    house = House(dialect=Mender())
    exchange = house.client.open("POST", "/v1/chat/completions", CHAT | more)
    for _ in range(more.get("n", 1)):
        stream = await house.engine.next_stream()
        stream.accept()
        stream.done(emitted=0)
    reply = await exchange.end()
    assert reply.headers["x-dragoman-repaired"] == "roles_joined, system_merged"


async def test_what_was_fine_has_no_such_header() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", CHAT)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.done(emitted=0)
    assert "x-dragoman-repaired" not in (await exchange.end()).headers
