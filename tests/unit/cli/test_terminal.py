"""What the log of a server shows to whoever did not ask for more."""

from __future__ import annotations

import logging
from asyncio import CancelledError

import pytest

from dragoman.cli.terminal import logged
from dragoman.settings import Settings

SERVER = logging.getLogger("uvicorn.error")


def fail(error: BaseException) -> None:
    """As uvicorn's protocols log what an application raises."""
    SERVER.error("Exception in ASGI application\n", exc_info=error)


def test_a_request_that_was_cut_at_the_end_is_counted_and_has_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with logged(Settings()):
        SERVER.error("Cancel 1 running task(s), timeout graceful shutdown exceeded")
        fail(CancelledError("Task cancelled, timeout graceful shutdown exceeded"))
    (line,) = capsys.readouterr().err.splitlines()
    assert "Cancel 1 running task(s)" in line


def test_a_bug_has_its_traceback_and_the_server_s_news_are_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with logged(Settings()):
        SERVER.info("Started server process")
        fail(ValueError("a bug"))
    said = capsys.readouterr().err
    assert "ValueError: a bug" in said
    assert "Started" not in said


def test_debugging_shows_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with logged(Settings(log_level="debug")):
        SERVER.info("Started server process")
        fail(CancelledError("cut"))
    said = capsys.readouterr().err
    assert "Started" in said
    assert "CancelledError" in said
