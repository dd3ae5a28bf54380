"""Conversations and their items."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dragoman.core.errors import Code, NotFound
from dragoman.store.base import PageWish, StoredConversation
from support.stores import answer, ids, item

pytestmark = pytest.mark.seeds("S144")

TALK = StoredConversation(id="conv_1", created_at=1_699_000_000, metadata={"topic": "tea"})


@pytest.fixture
async def talk(store):
    """A store with a conversation of three items."""
    await store.save_conversation("ada", TALK)
    await store.add_items("ada", "conv_1", [item("a"), item("b"), item("c")])
    return store


async def test_a_conversation_comes_back_with_its_metadata(talk):
    assert await talk.conversation("ada", "conv_1") == TALK


async def test_its_metadata_can_be_replaced_and_its_items_stay(talk):
    changed = replace(TALK, metadata={})
    assert await talk.change_conversation("ada", "conv_1", {}) == changed
    assert await talk.conversation("ada", "conv_1") == changed
    assert ids(await talk.all_items("ada", "conv_1")) == "a b c"


@pytest.mark.parametrize("owner, name", [("eve", "conv_1"), ("ada", "conv_2")])
async def test_what_is_not_there_is_not_begun_by_a_change(talk, owner, name):
    with pytest.raises(NotFound):
        await talk.change_conversation(owner, name, {})
    with pytest.raises(NotFound):
        await talk.conversation(owner, name)


async def test_items_are_appended_and_those_that_are_there_stay_as_they_are(talk):
    await talk.add_items("ada", "conv_1", [item("d"), item("b", "changed"), item("d", "twice"), {"text": "no id"}])
    await talk.add_items("ada", "conv_1", [{"text": "no id"}])
    assert await talk.all_items("ada", "conv_1") == (
        item("a"),
        item("b"),
        item("c"),
        item("d"),
        {"text": "no id"},
        {"text": "no id"},
    )


async def test_more_items_than_a_query_takes_values_are_compared(talk):
    many = [item(f"n{number}") for number in range(1200)]
    await talk.add_items("ada", "conv_1", many)
    await talk.add_items("ada", "conv_1", [*many, item("last")])
    assert len(await talk.all_items("ada", "conv_1")) == 3 + 1200 + 1


@pytest.mark.parametrize(
    "wish, expected, more",
    [
        (PageWish(), "c b a", False),
        (PageWish(order="asc"), "a b c", False),
        (PageWish(limit=2), "c b", True),
        (PageWish(limit=2, after="b"), "a", False),
        (PageWish(limit=1, order="asc", after="a"), "b", True),
        (PageWish(after="a"), "", False),
    ],
)
async def test_items_are_listed_in_pages(talk, wish, expected, more):
    page = await talk.items("ada", "conv_1", wish)
    assert (ids(page.items), page.more) == (expected, more)


async def test_one_item_is_read_or_taken_out_by_its_id(talk):
    assert await talk.item("ada", "conv_1", "b") == item("b")
    assert await talk.find_item("ada", "b") == item("b")
    await talk.delete_item("ada", "conv_1", "b")
    assert ids(await talk.all_items("ada", "conv_1")) == "a c"
    await talk.add_items("ada", "conv_1", [item("b")])
    assert ids(await talk.all_items("ada", "conv_1")) == "a c b"


async def test_an_item_that_is_not_there_is_not_found(talk):
    await talk.save_response("ada", answer("1"))
    for unknown in "z", "out_1", "", "a\0":
        for call in talk.item("ada", "conv_1", unknown), talk.delete_item("ada", "conv_1", unknown):
            with pytest.raises(NotFound) as caught:
                await call
            assert caught.value.code is Code.ITEM_NOT_FOUND


async def test_a_deleted_conversation_is_gone_with_its_items(talk):
    await talk.delete_conversation("ada", "conv_1")
    for call in talk.conversation("ada", "conv_1"), talk.all_items("ada", "conv_1"), talk.find_item("ada", "a"):
        with pytest.raises(NotFound):
            await call


@pytest.mark.seeds("S17")
async def test_another_owners_conversation_is_answered_as_one_that_never_was(talk):
    async def told(owner, id):
        calls = (
            talk.conversation(owner, id),
            talk.all_items(owner, id),
            talk.items(owner, id, PageWish()),
            talk.item(owner, id, "a"),
            talk.add_items(owner, id, [item("x")]),
            talk.delete_item(owner, id, "a"),
            talk.delete_conversation(owner, id),
        )
        results = await asyncio.gather(*calls, return_exceptions=True)
        return [(type(error), str(error).replace(id, "ID"), getattr(error, "code", None)) for error in results]

    foreign = await told("bob", "conv_1")
    assert foreign == await told("bob", "conv_unknown")
    assert {(kind, code) for kind, _, code in foreign} == {(NotFound, Code.CONVERSATION_NOT_FOUND)}
    assert ids(await talk.all_items("ada", "conv_1")) == "a b c"


async def test_a_response_and_a_conversation_are_not_taken_for_each_other(talk):
    await talk.save_response("ada", answer("1"))
    with pytest.raises(NotFound):
        await talk.conversation("ada", "resp_1")
    with pytest.raises(NotFound):
        await talk.response("ada", "conv_1")
