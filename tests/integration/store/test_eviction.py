"""What goes when there is too much of it, or when it is too old (peers.md 97)."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, NotFound
from dragoman.store.base import KeptReply, PageWish, StoredConversation, StoredEvent
from dragoman.store.tables import ROW_BYTES
from support.stores import answer, ids, item, opened

MEBIBYTE = "x" * (1 << 20)


async def kept(store, *names, owner="ada"):
    """Which of the responses are there, asked without counting as use."""
    found = []
    for name in names:
        try:
            await store.find_item(owner, f"out_{name}")
        except NotFound:
            continue
        found.append(name)
    return " ".join(found)


async def test_of_one_more_than_may_be_kept_the_first_is_gone(clock):
    async with opened("memory", clock, max_responses=1000) as store:
        for number in range(1001):
            await store.save_response("ada", answer(str(number)))
        with pytest.raises(NotFound) as caught:
            await store.response("ada", "resp_0")
        assert caught.value.code is Code.RESPONSE_NOT_FOUND
        assert (await store.response("ada", "resp_1")).id == "resp_1"
        assert (await store.response("ada", "resp_1000")).id == "resp_1000"


async def test_the_longest_unused_goes_first(url, clock):
    async with opened(url, clock, max_responses=3) as store:
        for name in "abc":
            await store.save_response("ada", answer(name))
            clock.pass_(seconds=1)
        await store.save_response("ada", answer("d"))
        assert await kept(store, *"abcd") == "b c d"


USES = {
    "reading it": lambda store: store.response("ada", "resp_a"),
    "reading its history": lambda store: store.history("ada", "resp_a"),
    "listing its items": lambda store: store.input_items("ada", "resp_a", PageWish()),
    "reading its events": lambda store: store.events("ada", "resp_a"),
    "adding to its events": lambda store: store.append_events("ada", "resp_a", []),
    "saving it again": lambda store: store.save_response("ada", answer("a")),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
async def test_what_is_used_stays(url, clock, use):
    async with opened(url, clock, max_responses=3) as store:
        for name in "abc":
            await store.save_response("ada", answer(name))
            clock.pass_(seconds=100)
        await use(store)
        await store.save_response("ada", answer("d"))
        assert await kept(store, *"abcd") == "a c d"


async def test_going_on_from_a_response_is_a_use_of_it(url, clock):
    async with opened(url, clock, max_responses=3) as store:
        await store.save_response("ada", answer("a"))
        clock.pass_(seconds=100)
        await store.save_response("ada", answer("b"))
        clock.pass_(seconds=100)
        await store.save_response("ada", answer("c", previous="a"))
        await store.save_response("ada", answer("d"))
        assert await kept(store, *"abcd") == "a c d"


async def test_evicting_the_beginning_leaves_the_history_of_the_end(url, clock):
    async with opened(url, clock, max_responses=1) as store:
        await store.save_response("ada", answer("1"))
        for turn in range(2, 6):
            await store.save_response("ada", answer(str(turn), previous=str(turn - 1)))
        with pytest.raises(NotFound):
            await store.response("ada", "resp_4")
        assert ids(await store.history("ada", "resp_5")) == " ".join(f"in_{n} out_{n}" for n in range(1, 6))


async def test_conversations_count_and_may_go_too(url, clock):
    async with opened(url, clock, max_responses=2) as store:
        await store.save_conversation("ada", StoredConversation(id="conv_1", created_at=1))
        await store.add_items("ada", "conv_1", [item("said")])
        clock.pass_(seconds=1)
        await store.save_response("ada", answer("a"))
        await store.save_response("ada", answer("b"))
        with pytest.raises(NotFound):
            await store.conversation("ada", "conv_1")
        with pytest.raises(NotFound):
            await store.find_item("ada", "said")
        assert await kept(store, *"ab") == "a b"


async def test_kept_replies_take_no_places_of_responses(url, clock):
    async with opened(url, clock, max_responses=2) as store:
        await store.save_response("ada", answer("a"))
        for key in range(5):
            await store.keep_reply("ada", str(key), KeptReply(digest="", status=200, headers=(), body=b""))
        await store.save_response("ada", answer("b"))
        assert await kept(store, *"ab") == "a b"


async def test_bytes_are_bounded_whatever_they_belong_to(url, clock):
    """Five times a mebibyte where four have room: each kind of content is counted."""
    async with opened(url, clock, max_bytes=(4 << 20) + 10_000) as store:
        await store.save_response("ada", answer("body", text=MEBIBYTE))
        clock.pass_(seconds=1)
        await store.save_response("ada", answer("events"))
        await store.append_events("ada", "resp_events", [StoredEvent(sequence=0, name="e", data=MEBIBYTE.encode())])
        clock.pass_(seconds=1)
        await store.save_conversation("ada", StoredConversation(id="conv_1", created_at=1, metadata={"m": MEBIBYTE}))
        clock.pass_(seconds=1)
        reply = KeptReply(digest="", status=200, headers=(), body=MEBIBYTE.encode())
        await store.keep_reply("ada", "key", reply)
        assert await kept(store, "body", "events") == "body events"
        clock.pass_(seconds=1)
        await store.save_response("ada", answer("new", text=MEBIBYTE))
        assert await kept(store, "body", "events", "new") == "events new"
        await store.save_response("ada", answer("newer", text=MEBIBYTE))
        assert await kept(store, "events", "new", "newer") == "new newer"
        assert (await store.conversation("ada", "conv_1")).metadata == {"m": MEBIBYTE}
        assert await store.kept_reply("ada", "key") == reply


async def test_a_conversation_that_grows_makes_others_go(url, clock):
    async with opened(url, clock, max_bytes=(2 << 20) + 10_000) as store:
        await store.save_conversation("ada", StoredConversation(id="conv_1", created_at=1))
        await store.save_response("ada", answer("a", text=MEBIBYTE))
        clock.pass_(seconds=1)
        await store.add_items("ada", "conv_1", [item("1", MEBIBYTE)])
        assert await kept(store, "a") == "a"
        await store.delete_item("ada", "conv_1", "1")
        await store.add_items("ada", "conv_1", [item("2", MEBIBYTE)])
        assert await kept(store, "a") == "a"
        await store.add_items("ada", "conv_1", [item("3", MEBIBYTE)])
        assert await kept(store, "a") == ""
        assert ids(await store.all_items("ada", "conv_1")) == "2 3"


async def test_rows_without_content_are_counted_too(url, clock):
    """A response is three rows here: the entry, its turn, an item; so nine of them are too much for 25 rows."""
    async with opened(url, clock, max_bytes=25 * ROW_BYTES) as store:
        for number in range(9):
            await store.save_response("ada", answer(str(number)))
        assert await kept(store, *"012345678") != "0 1 2 3 4 5 6 7 8"


async def test_what_is_alone_larger_than_the_store_is_not_kept(url, clock):
    async with opened(url, clock, max_bytes=1 << 20) as store:
        await store.save_response("ada", answer("large", text=MEBIBYTE))
        with pytest.raises(NotFound):
            await store.response("ada", "resp_large")


async def test_a_history_that_goes_on_for_ever_is_bounded(url, clock):
    async with opened(url, clock, max_responses=2, max_bytes=(3 << 20) + 10_000) as store:
        await store.save_response("ada", answer("0", text=MEBIBYTE))
        with pytest.raises(NotFound):
            for turn in range(1, 6):
                clock.pass_(seconds=1)
                await store.save_response("ada", answer(str(turn), previous=str(turn - 1), text=MEBIBYTE))
        assert turn == 4  # the fourth mebibyte was too much: all that is one history has gone with it


async def test_after_thirty_days_without_use_it_is_not_there(url, clock):
    async with opened(url, clock) as store:
        await store.save_response("ada", answer("used"))
        await store.save_response("ada", answer("unused"))
        await store.save_conversation("ada", StoredConversation(id="conv_1", created_at=1))
        clock.pass_(days=20)
        await store.response("ada", "resp_used")
        clock.pass_(days=11)
        assert (await store.response("ada", "resp_used")).id == "resp_used"
        for call in store.response("ada", "resp_unused"), store.conversation("ada", "conv_1"):
            with pytest.raises(NotFound):
                await call
        with pytest.raises(NotFound):
            await store.save_response("ada", answer("next", previous="unused"))


async def test_what_is_too_old_is_removed_by_the_next_write_or_at_the_next_start(lasting, clock):
    async with opened(lasting, clock) as store:
        await store.save_response("ada", answer("a"))
        clock.pass_(days=31)
        assert await kept(store, "a") == "a"  # an item says nothing of its age
        await store.save_response("ada", answer("b"))
        assert await kept(store, *"ab") == "b"
        clock.pass_(days=31)
    async with opened(lasting, clock) as store:
        assert await kept(store, *"ab") == ""


async def test_limits_that_are_lower_now_hold_from_the_start(lasting, clock):
    async with opened(lasting, clock) as store:
        for number in range(250):
            await store.save_response("ada", answer(str(number), previous=str(number - 1) if number % 3 else None))
    async with opened(lasting, clock, max_responses=2) as store:
        assert await kept(store, *map(str, range(250))) == "246 247 248 249"  # 246 led to those that stay
        for name in "248", "249":
            assert (await store.response("ada", f"resp_{name}")).id == f"resp_{name}"


async def test_a_tree_that_is_evicted_at_once_leaves_no_turn_behind(lasting, clock):
    async with opened(lasting, clock) as store:
        await store.save_response("ada", answer("root"))
        await store.save_response("ada", answer("stem", previous="root"))
        for name in "ab":
            await store.save_response("ada", answer(name, previous="stem"))
            await store.save_response("ada", answer(name * 2, previous=name))
        clock.pass_(seconds=1)
        await store.save_response("ada", answer("new"))
    async with opened(lasting, clock, max_responses=1) as store:
        assert await kept(store, "root", "stem", "a", "b", "aa", "bb", "new") == "new"
