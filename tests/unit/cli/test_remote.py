"""What ``chat --url`` reads from a server."""

from __future__ import annotations

import json

import pytest

from dragoman.cli.remote import RemoteFailed, ask, chat_address, read_stream


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n"


def delta(text: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}}]})


def test_the_text_of_the_chunks_is_read_past_comments_roles_and_usage() -> None:
    role = event({"choices": [{"delta": {"role": "assistant"}}]})
    usage = event({"choices": [], "usage": {"total_tokens": 3}})
    stream = [role, b"\n", b": keep-alive\n", delta("Bon"), b"\n", delta("jour"), usage, b"data: [DONE]\n"]
    assert list(read_stream(stream)) == ["Bon", "jour"]


def test_an_error_event_ends_the_answer_with_its_message() -> None:
    stream = read_stream([delta("Bon"), event({"error": {"message": "the engine died"}})])
    assert next(stream) == "Bon"
    with pytest.raises(RemoteFailed, match="the engine died"):
        next(stream)


def test_a_stream_that_breaks_off_is_a_failure() -> None:
    with pytest.raises(RemoteFailed, match="broke off"):
        list(read_stream([delta("Bon")]))


@pytest.mark.parametrize("url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_a_base_url_may_or_may_not_end_in_v1(url: str) -> None:
    assert chat_address(url) == "http://h:1/v1/chat/completions"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://h/"])
def test_only_http_is_spoken(url: str) -> None:
    with pytest.raises(RemoteFailed, match="not an http address"):
        list(ask(url, {}, key=None))


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(RemoteFailed, match=r"http://127\.0\.0\.1:1 cannot be reached"):
        list(ask("http://127.0.0.1:1", {}, key=None))
