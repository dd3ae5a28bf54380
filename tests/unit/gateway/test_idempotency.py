"""Keys and digests, and an application that does other things than answer well."""

from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from dragoman.core.errors import Code, InvalidRequest, NotFound, ServiceError
from dragoman.gateway.hangup import ClientGone, HangUp
from dragoman.gateway.idempotency import Idempotent, Retries, digest_of, idempotency_key
from dragoman.gateway.outcome import mark_failed
from dragoman.gateway.replies import on_service_error
from dragoman.gateway.shared_run import SharedRun
from support.asgi import Client
from support.kept_replies import KeptReplies
from support.virtual_time import settle

KEY = {"idempotency-key": "k1"}


class Cook:
    """An application that a test tells what to do: each request waits in ``orders`` for its ``course``."""

    def __init__(self, *courses) -> None:
        self.courses = list(courses)
        self.bodies: list[bytes] = []
        self.go = asyncio.Event()
        self.gone = 0

    async def __call__(self, scope, receive, send) -> None:
        self.bodies.append((await receive())["body"])
        course = self.courses.pop(0)
        try:
            async with HangUp(receive):
                await course(self, scope, send)
        except ClientGone:
            self.gone += 1


def serving(*pieces: bytes, status: int = 200, failed: bool = False, headers=(), waits: bool = True, ends: bool = True):
    """Sends the pieces, the last of them when the cook may ``go`` on, if it ``waits`` for that."""

    async def course(cook: Cook, scope, send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        for piece in pieces[:-1]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if waits:
            await cook.go.wait()
        if failed:
            mark_failed(scope)
        await send({"type": "http.response.body", "body": pieces[-1], "more_body": not ends})

    return course


def raising(error: Exception):
    async def course(cook: Cook, scope, send) -> None:
        await cook.go.wait()
        raise error

    return course


class Place:
    """A cook behind a key."""

    def __init__(self, *courses, **options: float) -> None:
        self.cook = Cook(*courses)
        self.store = KeptReplies()
        self.retries = Retries(store=self.store, **options)
        route = Route("/dish", Idempotent(self.cook, retries=self.retries, timeout=30.0), methods=["POST"])
        self.client = Client(Starlette(routes=[route], exception_handlers={ServiceError: on_service_error}))

    def order(self, body: bytes = b"soup", headers: dict[str, str] = KEY):
        return self.client.open("POST", "/dish", body, headers=headers)


@pytest.mark.parametrize("key", ["x", "x" * 255, "a key, with ~ and blanks", "8e03978e-40d5-43dd-bc93-6894a57f9324"])
def test_printable_ascii_is_a_key(key) -> None:
    assert idempotency_key([(b"host", b"x"), (b"idempotency-key", key.encode())]) == key


def test_no_header_is_no_key() -> None:
    assert idempotency_key([(b"host", b"x")]) is None


@pytest.mark.parametrize("values", [[b""], [b"x" * 256], [b"\xc3\xa9"], [b"a\tb"], [b"a\x7f"], [b"a", b"a"]], ids=repr)
def test_anything_else_is_refused_by_the_name_of_the_header(values) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        idempotency_key([(b"idempotency-key", value) for value in values])
    assert refusal.value.param == "Idempotency-Key"
    assert "Idempotency-Key" in refusal.value.message


def test_requests_differ_by_method_path_and_body() -> None:
    requests = [("POST", "/a", b"x"), ("PUT", "/a", b"x"), ("POST", "/b", b"x"), ("POST", "/a", b"y")]
    assert len({digest_of(*request) for request in requests}) == 4
    assert digest_of(*requests[0]) == digest_of("POST", "/a", b"x")


async def test_without_a_key_each_request_is_its_own() -> None:
    place = Place(serving(b"1"), serving(b"2"))
    place.cook.go.set()
    assert [(await place.order(headers={}).end()).body for _ in range(2)] == [b"1", b"2"]
    assert not place.store.replies


async def test_the_application_gets_the_body_in_one_piece() -> None:
    place = Place(serving(b"1"))
    place.cook.go.set()
    await place.client.open("POST", "/dish", b"many pieces", headers=KEY, chunks=5).end()
    assert place.cook.bodies == [b"many pieces"]


async def test_the_reply_comes_again_with_its_headers_and_a_mark() -> None:
    headers = [(b"content-type", b"text/plain"), (b"x-note", b"caf\xe9"), (b"date", b"today"), (b"x-request-id", b"r")]
    place = Place(serving(b"a", b"b", status=201, headers=headers))
    place.cook.go.set()
    first = await place.order().end()
    again = await place.order().end()
    assert "idempotent-replayed" not in first.headers
    assert (again.status, again.body) == (first.status, first.body) == (201, b"ab")
    assert again.headers == {"content-type": "text/plain", "x-note": "café", "idempotent-replayed": "true"}


@pytest.mark.parametrize(
    "course",
    [
        serving(b"no", status=400),
        serving(b"no", status=500),
        serving(b"a", b"no", failed=True),
        serving(b"no", ends=False),
    ],
    ids=["refused", "broken", "failed", "cut"],
)
async def test_what_failed_frees_its_key(course) -> None:
    place = Place(course, serving(b"yes"))
    place.cook.go.set()
    assert (await place.order().end()).body.endswith(b"no")
    assert (await place.order().end()).body == b"yes"


async def test_after_a_failure_another_body_may_have_the_key() -> None:
    place = Place(serving(b"no", status=400), serving(b"yes"))
    place.cook.go.set()
    await place.order().end()
    assert (await place.order(b"salad").end()).body == b"yes"


async def test_an_error_that_is_raised_reaches_all_who_wait_and_is_not_kept() -> None:
    place = Place(raising(NotFound("no soup", code=Code.ITEM_NOT_FOUND)), serving(b"yes"))
    orders = [place.order(), place.order()]
    await settle()
    place.cook.go.set()
    for order in orders:
        reply = await order.end()
        assert (reply.status, reply.json()["error"]["code"]) == (404, "item_not_found")
    assert (await place.order().end()).body == b"yes"


async def test_an_error_that_nobody_hears_is_logged(caplog) -> None:
    place = Place(raising(OSError("the stove is cold")))
    order = place.order()
    await settle()
    order.hang_up()
    await order.end()
    with caplog.at_level(logging.WARNING):
        place.cook.go.set()
        await settle()
    assert "the stove is cold" in caplog.text


@pytest.mark.parametrize("stays", [True, False])
async def test_a_retry_joins_the_run_whether_the_first_client_is_there_or_not(stays) -> None:
    place = Place(serving(b"a", b"b"))
    first = place.order()
    await first.until(writes=1)
    if not stays:
        first.hang_up()
        await first.end()
    await asyncio.sleep(59)
    retry = place.order()
    await retry.until(writes=1)
    assert (retry.body, retry.complete) == (b"a", False)
    await asyncio.sleep(600)
    assert place.cook.gone == 0
    place.cook.go.set()
    assert (await retry.end()).body == b"ab"
    assert retry.headers["idempotent-replayed"] == "true"
    if stays:
        assert (await first.end()).body == b"ab"
    assert len(place.cook.bodies) == 1


async def test_a_run_that_nobody_comes_back_for_is_hung_up_on_after_the_time_of_grace() -> None:
    place = Place(serving(b"a", b"b"), serving(b"new"), grace=60.0)
    first = place.order()
    await first.until(writes=1)
    first.hang_up()
    await first.end()
    await asyncio.sleep(59.9)
    assert place.cook.gone == 0
    await asyncio.sleep(0.2)
    assert place.cook.gone == 1
    place.cook.go.set()
    assert (await place.order().end()).body == b"new"


async def test_the_time_of_grace_begins_with_the_last_who_leaves() -> None:
    place = Place(serving(b"a", b"b"), grace=60.0)
    for _ in range(3):
        order = place.order()
        await order.until(writes=1)
        order.hang_up()
        await order.end()
        await asyncio.sleep(50)
    assert place.cook.gone == 0
    await asyncio.sleep(20)
    assert place.cook.gone == 1


async def test_a_client_that_leaves_early_still_has_its_answer_kept() -> None:
    place = Place(serving(b"a", b"b"))
    first = place.order()
    await first.until(writes=1)
    first.hang_up()
    await first.end()
    place.cook.go.set()
    await settle()
    assert (await place.order().end()).body == b"ab"
    await asyncio.sleep(3600)
    assert place.cook.gone == 0


async def test_a_disconnect_that_follows_the_last_message_is_no_hang_up() -> None:
    """uvicorn says it as soon as the reply is complete, and may still be writing then."""
    over = asyncio.Event()

    async def receive():
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message) -> None:
        if not message.get("more_body", True):
            over.set()
        await settle()

    cook = Cook(serving(b"a", waits=False))
    run = SharedRun(cook, {}, b"", limit=100, grace=60.0)
    serving_it = asyncio.create_task(run.serve())
    await run.follow(receive, send)
    await serving_it


async def test_an_answer_that_outgrows_the_limit_is_sent_whole_but_neither_kept_nor_joined() -> None:
    place = Place(serving(b"12345", b"6789"), serving(b"new", waits=False), limit=4)
    first = place.order()
    await first.until(writes=1)
    assert (await place.order().end()).body == b"new"
    await settle()
    place.cook.go.set()
    assert (await first.end()).body == b"123456789"
    await settle()
    assert [reply.body for reply in place.store.replies.values()] == [b"new"]


async def test_the_end_of_a_run_that_cannot_be_joined_leaves_the_next_one_joinable() -> None:
    going = asyncio.Event()

    async def long(cook: Cook, scope, send) -> None:
        await serving(b"12345", b"6789", waits=False)(cook, scope, send)
        await going.wait()

    place = Place(long, serving(b"a", b"b"), limit=4)
    first = place.order()
    await first.until(writes=2)
    second = place.order()
    await second.until(writes=1)
    going.set()
    await first.end()
    await settle()
    third = place.order()
    await third.until(writes=1)
    place.cook.go.set()
    assert (await third.end()).body == (await second.end()).body == b"ab"


@pytest.mark.parametrize("leaves_first", [True, False])
async def test_an_answer_that_outgrew_the_limit_is_hung_up_on_at_once(leaves_first) -> None:
    """Nobody could ever hear the rest of it."""

    async def course(cook: Cook, scope, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if leaves_first:
            await cook.go.wait()
        await send({"type": "http.response.body", "body": b"12345", "more_body": True})
        await asyncio.sleep(3600)

    place = Place(course, limit=4)
    first = place.order()
    await first.begun()
    await settle()
    first.hang_up()
    await first.end()
    place.cook.go.set()
    await settle()
    assert place.cook.gone == 1


@pytest.mark.parametrize("phase", ["running", "kept"])
async def test_another_body_under_the_key_is_a_conflict(phase) -> None:
    place = Place(serving(b"a"))
    first = place.order()
    await settle()
    if phase == "kept":
        place.cook.go.set()
        await first.end()
    other = await place.order(b"salad").end()
    assert (other.status, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert len(place.cook.bodies) == 1
    place.cook.go.set()
    assert (await first.end()).body == b"a"
    assert (await place.order().end()).body == b"a"


async def test_requests_that_come_at_once_are_one_run() -> None:
    place = Place(serving(b"a"))
    place.store.ready.clear()
    orders = [place.order() for _ in range(5)]
    await settle()
    place.store.ready.set()
    place.cook.go.set()
    assert [(await order.end()).body for order in orders] == [b"a"] * 5
    assert len(place.cook.bodies) == 1


async def test_a_client_that_leaves_while_the_store_is_asked_has_begun_nothing() -> None:
    place = Place(serving(b"a"))
    place.store.ready.clear()
    first = place.order()
    await settle()
    first.task.cancel()
    await settle()
    place.store.ready.set()
    await settle()
    assert not place.cook.bodies
    place.cook.go.set()
    assert (await place.order().end()).body == b"a"


async def test_an_answer_that_cannot_be_kept_is_sent_and_the_key_free(caplog) -> None:
    place = Place(serving(b"a"), serving(b"b"))
    place.store.broken = True
    place.cook.go.set()
    assert (await place.order().end()).body == b"a"
    await settle()
    assert "the disk is full" in caplog.text
    assert (await place.order().end()).body == b"b"


async def test_a_body_that_is_not_sent_to_its_end_is_no_request() -> None:
    place = Place(serving(b"a"))
    never = await place.client.open("POST", "/dish", b"so", headers=KEY, cut=True).end()
    assert (never.status, asyncio.get_running_loop().time()) == (400, pytest.approx(30))
    leaving = place.client.open("POST", "/dish", b"so", headers=KEY, cut=True)
    await settle()
    leaving.hang_up()
    await leaving.end()
    assert leaving.started is None
    assert not place.cook.bodies


async def test_a_look_up_that_takes_long_holds_back_its_own_key_alone() -> None:
    """A database that hangs must not make everybody wait for everybody."""
    place = Place(serving(b"2"))
    place.store.stuck.add("k1")
    place.cook.go.set()
    waiting = place.order()
    await settle()
    assert (await place.order(headers={"idempotency-key": "k2"}).end()).body == b"2"
    assert not waiting.task.done()
    waiting.task.cancel()


async def test_at_the_end_what_runs_is_hung_up_on_and_waited_for() -> None:
    place = Place(serving(b"a", b"b"), serving(b"c", b"d"))
    orders = [place.order(headers={"idempotency-key": key}) for key in "12"]
    await settle()
    orders[0].hang_up()
    await orders[0].end()
    await place.retries.aclose()
    assert place.cook.gone == 2
    assert not place.store.replies
    await orders[1].end()
    assert not orders[1].complete
