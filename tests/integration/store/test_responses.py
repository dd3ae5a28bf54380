"""Responses, the history that they end, their items and their events."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dragoman.core.errors import Code, NotFound
from dragoman.store.base import PageWish, StoredEvent, StoredResponse
from support.stores import NOON, answer, ids, item

pytestmark = pytest.mark.seeds("S144")


async def three_turns(store, owner="ada"):
    await store.save_response(owner, answer("1"))
    await store.save_response(owner, answer("2", previous="1"))
    await store.save_response(owner, answer("3", previous="2"))


async def test_a_response_comes_back_as_it_was_kept(store):
    kept = StoredResponse(
        id="resp_1",
        created_at=1_699_999_999,
        body={
            "id": "resp_1",
            "output": [item("out_1"), {"type": "reasoning"}],
            "big": 2**63 - 1,
            "half": 0.5,
            "no": None,
        },
        input=(item("in_1"), {"role": "user", "content": "no id"}),
        background=True,
    )
    await store.save_response("ada", kept)
    assert await store.response("ada", "resp_1") == replace(kept, updated_at=int(NOON))


async def test_the_fields_of_a_body_keep_their_order(store):
    await store.save_response("ada", answer("1"))
    assert list((await store.response("ada", "resp_1")).body) == ["id", "status", "output", "usage"]


@pytest.mark.parametrize("text", ["a\0b", "\ud83d", "日本語 🙂", '"\\\n', "\u2028"])
async def test_any_string_of_json_comes_back(store, text):
    kept = StoredResponse(id="resp_1", created_at=1, body={"output": [{"t": text}]}, input=({"id": text, text: text},))
    await store.save_response("ada", kept)
    found = await store.response("ada", "resp_1")
    assert (found.body, found.input) == (kept.body, kept.input)


async def test_an_output_that_is_no_list_of_objects_comes_back_too(store):
    await store.save_response("ada", StoredResponse(id="resp_1", created_at=1, body={"output": ["text", 1]}))
    assert (await store.response("ada", "resp_1")).body == {"output": ["text", 1]}


async def test_saving_again_replaces_what_was_kept(store, clock):
    await store.save_response("ada", answer("1"))
    await store.save_response("ada", answer("2", previous="1", status="in_progress"))
    clock.pass_(seconds=30)
    done = answer("2", previous="1", text="done")
    await store.save_response("ada", done)
    assert await store.response("ada", "resp_2") == replace(done, updated_at=int(NOON) + 30)
    assert ids(await store.history("ada", "resp_2")) == "in_1 out_1 in_2 out_2"


async def test_history_is_every_turn_input_before_output_oldest_first(store):
    await three_turns(store)
    assert ids(await store.history("ada", "resp_3")) == "in_1 out_1 in_2 out_2 in_3 out_3"
    assert ids(await store.history("ada", "resp_1")) == "in_1 out_1"


async def test_two_responses_may_go_on_from_the_same_one(store):
    await three_turns(store)
    await store.save_response("ada", answer("other", previous="1"))
    assert ids(await store.history("ada", "resp_other")) == "in_1 out_1 in_other out_other"
    assert ids(await store.history("ada", "resp_3")) == "in_1 out_1 in_2 out_2 in_3 out_3"


async def test_a_history_of_two_hundred_turns_is_whole(store):
    await store.save_response("ada", answer("0"))
    for turn in range(1, 200):
        await store.save_response("ada", answer(str(turn), previous=str(turn - 1)))
    history = await store.history("ada", "resp_199")
    assert ids(history) == " ".join(f"in_{turn} out_{turn}" for turn in range(200))


async def test_going_on_from_what_is_not_there_keeps_nothing(store):
    with pytest.raises(NotFound, match="'resp_1'") as caught:
        await store.save_response("ada", answer("2", previous="1"))
    assert caught.value.code is Code.PREVIOUS_RESPONSE_NOT_FOUND
    with pytest.raises(NotFound):
        await store.response("ada", "resp_2")


@pytest.mark.parametrize("order", ["1 2", "2 1"])
async def test_deleting_responses_leaves_the_history_of_those_that_went_on(store, order):
    await three_turns(store)
    for name in order.split():
        await store.delete_response("ada", f"resp_{name}")
        with pytest.raises(NotFound):
            await store.response("ada", f"resp_{name}")
    assert ids(await store.history("ada", "resp_3")) == "in_1 out_1 in_2 out_2 in_3 out_3"


async def test_what_is_deleted_is_gone_with_all_that_led_to_it_alone(store):
    await three_turns(store)
    await store.save_response("ada", answer("other", previous="1"))
    for name in "1", "2", "3":
        await store.delete_response("ada", f"resp_{name}")
    for gone in "in_2", "out_2", "in_3", "out_3":
        with pytest.raises(NotFound):
            await store.find_item("ada", gone)
    assert ids(await store.history("ada", "resp_other")) == "in_1 out_1 in_other out_other"
    await store.delete_response("ada", "resp_other")
    with pytest.raises(NotFound):
        await store.find_item("ada", "in_1")


async def test_a_response_that_is_being_made_pins_what_it_goes_on_from(store):
    await store.save_response("ada", answer("1"))
    await store.save_response("ada", answer("2", previous="1", status="in_progress"))
    await store.delete_response("ada", "resp_1")
    await store.save_response("ada", answer("2", previous="1"))
    assert ids(await store.history("ada", "resp_2")) == "in_1 out_1 in_2 out_2"


# --- what one owner has, nobody else sees


@pytest.mark.seeds("S17")
async def test_another_owners_id_is_answered_as_one_that_never_was(store):
    await store.save_response("ada", answer("1"))
    await store.append_events("ada", "resp_1", [StoredEvent(sequence=0, name="e", data=b"{}")])

    async def told(owner, id):
        calls = (
            store.response(owner, id),
            store.history(owner, id),
            store.input_items(owner, id, PageWish()),
            store.events(owner, id),
            store.append_events(owner, id, []),
            store.delete_response(owner, id),
            store.save_response(owner, StoredResponse(id="resp_x", created_at=1, body={}, previous=id)),
        )
        results = await asyncio.gather(*calls, return_exceptions=True)
        return [(type(error), str(error).replace(id, "ID"), getattr(error, "code", None)) for error in results]

    foreign = await told("bob", "resp_1")
    assert foreign == await told("bob", "resp_unknown")
    assert {kind for kind, _, _ in foreign} == {NotFound}
    assert (await store.response("ada", "resp_1")).id == "resp_1"


@pytest.mark.seeds("S17")
async def test_an_item_is_found_by_its_owner_alone(store):
    await store.save_response("ada", answer("1"))
    assert await store.find_item("ada", "out_1") == item("out_1")
    with pytest.raises(NotFound) as caught:
        await store.find_item("bob", "out_1")
    assert caught.value.code is Code.ITEM_NOT_FOUND


async def test_two_owners_may_have_the_same_id(store):
    await store.save_response("ada", answer("1", text="ada's"))
    await store.save_response("bob", answer("1", text="bob's"))
    await store.delete_response("bob", "resp_1")
    assert (await store.response("ada", "resp_1")).body["output"] == [item("out_1", "ada's")]


@pytest.mark.parametrize("id", ["", "a\0b", "\ud800", "x" * 100_000, "' OR 1=1 --", "🙂"])
async def test_no_text_makes_an_id_that_is_more_than_not_found(store, id):
    await store.save_response("ada", answer("1"))
    for call in store.response("ada", id), store.find_item("ada", id), store.conversation("ada", id):
        with pytest.raises(NotFound) as caught:
            await call
        assert len(str(caught.value)) < 2000


async def test_an_item_with_an_id_that_cannot_be_asked_for_is_kept_all_the_same(store):
    odd = ({"id": "x" * 10_000}, {"id": "a\0"}, {"id": ""}, {"id": 7}, {"id": None})
    await store.save_response("ada", StoredResponse(id="resp_1", created_at=1, body={"output": []}, input=odd))
    assert await store.history("ada", "resp_1") == odd


# --- pages of items


async def pages(store, order, limit):
    """All pages, one after another."""
    found, after = [], None
    while True:
        page = await store.input_items("ada", "resp_3", PageWish(limit=limit, order=order, after=after))
        found.append(ids(page.items))
        if not page.more:
            return found
        after = page.items[-1]["id"]


@pytest.mark.parametrize(
    "order, limit, expected",
    [
        ("asc", 20, ["in_1 out_1 in_2 out_2 in_3"]),
        ("desc", 20, ["in_3 out_2 in_2 out_1 in_1"]),
        ("asc", 2, ["in_1 out_1", "in_2 out_2", "in_3"]),
        ("desc", 3, ["in_3 out_2 in_2", "out_1 in_1"]),
        ("desc", 5, ["in_3 out_2 in_2 out_1 in_1"]),
    ],
)
async def test_input_items_are_what_came_before_its_own_output_page_by_page(store, order, limit, expected):
    await three_turns(store)
    assert await pages(store, order, limit) == expected


async def test_an_item_that_was_sent_twice_does_not_make_pages_go_round(store):
    await store.save_response("ada", answer("1"))
    again = StoredResponse(
        id="resp_2", created_at=1, body={"output": []}, input=(item("in_1"), item("in_2")), previous="resp_1"
    )
    await store.save_response("ada", again)
    await store.save_response("ada", answer("3", previous="2"))
    for order in "asc", "desc":
        found = " ".join(await pages(store, order, 1)).split()
        assert found[-1] == ("in_3" if order == "asc" else "in_1")


async def test_a_page_after_an_item_that_is_not_there_is_refused(store):
    await three_turns(store)
    for unknown in "out_3", "nowhere", "a\0b":
        with pytest.raises(NotFound) as caught:
            await store.input_items("ada", "resp_3", PageWish(after=unknown))
        assert caught.value.code is Code.ITEM_NOT_FOUND


# --- events


async def test_the_events_of_a_stream_are_read_as_they_were_appended(store):
    await store.save_response("ada", answer("1", status="in_progress"))
    first = [StoredEvent(sequence=number, name=f"event.{number}", data=b'{"n":%d}' % number) for number in range(3)]
    await store.append_events("ada", "resp_1", first)
    last = StoredEvent(sequence=3, name="event.3", data=b"\0\xff")
    await store.append_events("ada", "resp_1", [last])
    assert await store.events("ada", "resp_1") == (*first, last)


async def test_the_final_save_keeps_the_events_and_deletion_takes_them(store):
    await store.save_response("ada", answer("1", status="in_progress"))
    await store.append_events("ada", "resp_1", [StoredEvent(sequence=0, name="e", data=b"{}")])
    await store.save_response("ada", answer("1"))
    assert len(await store.events("ada", "resp_1")) == 1
    await store.delete_response("ada", "resp_1")
    await store.save_response("ada", answer("1"))
    assert await store.events("ada", "resp_1") == ()


# --- many at once, and some that leave


async def test_many_writers_and_readers_do_not_disturb_each_other(store):
    await store.save_response("ada", answer("root"))

    async def chain(name):
        previous = "root"
        for turn in range(5):
            await store.save_response("ada", answer(f"{name}.{turn}", previous=previous))
            previous = f"{name}.{turn}"
            assert ids(await store.history("ada", f"resp_{previous}")).startswith("in_root out_root")
        return ids(await store.history("ada", f"resp_{previous}"))

    found = await asyncio.gather(*(chain(name) for name in "abcdefgh"))
    for name, history in zip("abcdefgh", found, strict=True):
        own = (f"in_{name}.{turn} out_{name}.{turn}" for turn in range(5))
        assert history == " ".join(["in_root out_root", *own])


async def test_a_caller_that_is_cancelled_does_not_undo_its_save(store):
    save = asyncio.create_task(store.save_response("ada", answer("1")))
    await asyncio.sleep(0)
    save.cancel()
    with pytest.raises(asyncio.CancelledError):
        await save
    await store.save_response("ada", answer("2", previous="1"))
    assert ids(await store.history("ada", "resp_2")) == "in_1 out_1 in_2 out_2"


async def test_writes_happen_in_the_order_in_which_they_were_asked_for(store):
    saves = [asyncio.create_task(store.save_response("ada", answer("1", text=str(number)))) for number in range(20)]
    await asyncio.sleep(0)
    for save in saves[:-1:2]:
        save.cancel()
    await asyncio.gather(*saves, return_exceptions=True)
    assert (await store.response("ada", "resp_1")).body["output"] == [item("out_1", "19")]
