"""Runs inside an SDK's tests: things of which the server knows, so that they can be asked for. Each call stores another."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx

HEADERS = {"authorization": "Bearer My API Key"}
"""The key of the tests, whose things these are."""

ASKED = {"model": "default", "input": "Hi", "max_output_tokens": 8}


def response() -> str:
    """The id of a response that is complete."""
    return str(_post("/responses", ASKED)["id"])


def background() -> str:
    """The id of a response that is made in the background, and whose stream can be asked for."""
    events = _sent("/responses", ASKED | {"background": True, "stream": True}).decode().splitlines()
    first = next(line for line in events if line.startswith("data: "))
    return str(json.loads(first.removeprefix("data: "))["response"]["id"])


def conversation() -> str:
    """The id of a conversation of one item."""
    return str(_conversation()["id"])


def item() -> str:
    """The id of an item that was just added to ``CONVERSATION``."""
    added = {"items": [{"type": "message", "role": "user", "content": "And?"}]}
    return str(_post(f"/conversations/{CONVERSATION}/items", added)["data"][0]["id"])


def _conversation() -> dict[str, Any]:
    return _post("/conversations", {"items": [{"type": "message", "role": "user", "content": "Hi"}]})


def _post(path: str, body: dict[str, Any]) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(_sent(path, body))
    return stored


def _sent(path: str, body: dict[str, Any]) -> bytes:
    reply = httpx.post(os.environ["TEST_API_BASE_URL"] + path, json=body, headers=HEADERS, timeout=60)
    return reply.raise_for_status().content


CONVERSATION = conversation() if os.environ["TEST_API_BASE_URL"].endswith("/v1") else ""
"""One that all tests of items share. Messages store nothing."""
