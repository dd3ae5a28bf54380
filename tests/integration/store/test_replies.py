"""Replies that a retry would get again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.store.base import KeptReply

pytestmark = pytest.mark.seeds("S15")

REPLY = KeptReply(
    digest="d1", status=200, headers=(("content-type", "application/json"), ("x-é", "\xff")), body=b"{}\0\xff"
)


async def test_a_reply_comes_back_to_the_owner_of_its_key(store):
    await store.keep_reply("ada", "key", REPLY)
    assert await store.kept_reply("ada", "key") == REPLY
    assert await store.kept_reply("bob", "key") is None
    assert await store.kept_reply("ada", "other") is None


async def test_a_reply_is_kept_for_a_day_however_often_it_is_read(store, clock):
    await store.keep_reply("ada", "key", REPLY)
    clock.pass_(seconds=86_399)
    assert await store.kept_reply("ada", "key") == REPLY
    clock.pass_(seconds=2)
    assert await store.kept_reply("ada", "key") is None


async def test_a_key_may_be_used_anew(store, clock):
    await store.keep_reply("ada", "key", REPLY)
    clock.pass_(days=2)
    again = replace(REPLY, digest="d2", status=400)
    await store.keep_reply("ada", "key", again)
    assert await store.kept_reply("ada", "key") == again


@pytest.mark.parametrize("key", ["", "k" * 100_000, "a\0b", "\ud800", "ключ"])
async def test_a_key_may_be_any_text(store, key):
    await store.keep_reply("ada", key, REPLY)
    assert await store.kept_reply("ada", key) == REPLY
