"""The part of a store that retries need, in a dict."""

from __future__ import annotations

import asyncio

from dragoman.store.base import KeptReply


class KeptReplies:
    """``ready`` holds each look-up back while it is not set; of a key that is ``stuck`` none ever ends; ``broken`` makes keeping fail."""

    def __init__(self) -> None:
        self.replies: dict[tuple[str, str], KeptReply] = {}
        self.ready = asyncio.Event()
        self.ready.set()
        self.stuck: set[str] = set()
        self.broken = False

    async def kept_reply(self, owner: str, key: str) -> KeptReply | None:
        await (asyncio.Event() if key in self.stuck else self.ready).wait()
        return self.replies.get((owner, key))

    async def keep_reply(self, owner: str, key: str, reply: KeptReply) -> None:
        if self.broken:
            raise OSError("the disk is full")
        self.replies[owner, key] = reply
