"""The stored responses of callers, and who makes those that are unfinished: this server, another one, or nobody any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from dragoman.gateway.responses.runs import STALE_SECONDS, Run, Runs
from dragoman.store.base import Store, StoredResponse
from dragoman.surfaces.responses_object import failed

_UNFINISHED: Final = ("queued", "in_progress")


def unfinished(stored: StoredResponse) -> bool:
    """Whether somebody still makes it."""
    return stored.body.get("status") in _UNFINISHED


class Shelf:
    """``now`` gives Unix seconds."""

    def __init__(self, *, store: Store, runs: Runs, now: Callable[[], float]) -> None:
        self._store = store
        self._runs = runs
        self._now = now

    async def look_up(self, owner: str, name: str) -> tuple[StoredResponse, Run | None]:
        """A response, and who makes it here. One that no server works on any more has failed, and is told so from now on.

        Raises ``NotFound``.
        """
        run = self._runs.find(owner, name)  # first: while the store is read it may end
        stored = await self._store.response(owner, name)
        silent = self._now() - stored.updated_at > STALE_SECONDS
        if run is None and silent and unfinished(stored):
            stored = replace(stored, body=failed(stored.body, "the server was stopped while it worked on this"))
            await self._store.save_response(owner, stored)
        return stored, run
