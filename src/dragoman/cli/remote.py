"""Asking a running server for an answer, with nothing but the standard library: what ``chat --url`` speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

TIMEOUT_SECONDS = 600.0
"""Between two reads; the server keeps a stream alive much more often, so only a dead connection takes so long."""


class RemoteFailed(Exception):
    """The server refused, failed, or is not there; the message is for people."""


def ask(url: str, body: dict[str, Any], *, key: str | None) -> Iterator[str]:
    """Stream one chat completion and yield its text. Raises ``RemoteFailed``."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    data = json.dumps({**body, "stream": True}).encode()
    request = Request(chat_address(url), data=data, headers=headers, method="POST")  # noqa: S310 - checked below
    if request.type not in {"http", "https"}:
        raise RemoteFailed(f"{url} is not an http address")
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - http and https only
            yield from read_stream(response)
    except HTTPError as error:
        raise RemoteFailed(f"{error.code}: {_reason(error.read()) or error.reason}") from error
    except URLError as error:
        raise RemoteFailed(f"{url} cannot be reached: {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise RemoteFailed(f"the connection broke: {error}") from error


def chat_address(url: str) -> str:
    """The route for a base URL, with or without the ``/v1`` that SDKs want."""
    return url.rstrip("/").removesuffix("/v1") + "/v1/chat/completions"


def read_stream(lines: Iterator[bytes] | Sequence[bytes]) -> Iterator[str]:
    """Text of the chunks in a stream of server-sent events. Raises ``RemoteFailed`` at an error event, or no end."""
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        data = line[len(b"data:") :].strip()
        if data == b"[DONE]":
            return
        chunk = json.loads(data)
        if "error" in chunk:
            raise RemoteFailed(_reason(data) or "the server failed")
        for choice in chunk.get("choices", ()):
            if text := choice.get("delta", {}).get("content"):
                yield text
    raise RemoteFailed("the answer broke off")


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
