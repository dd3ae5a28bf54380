"""The store that the settings name."""

from __future__ import annotations

import time

from dragoman.compose.failure import StartFailed
from dragoman.settings import Settings
from dragoman.store.base import Store
from dragoman.store.limits import DAY, StoreLimits

_MEGABYTE = 1 << 20


async def open_settings_store(settings: Settings) -> Store:
    """Open it, ready to use. Raises ``StartFailed`` with what can be done about it."""
    # SQLAlchemy and Alembic take a quarter of a second to import, which commands that keep nothing need not wait for.
    from dragoman.store.failures import StoreError
    from dragoman.store.opening import open_store

    limits = StoreLimits(
        max_responses=settings.store_responses,
        max_bytes=settings.store_megabytes * _MEGABYTE,
        max_age=settings.store_days * DAY,
    )
    try:
        return await open_store(settings.store, limits, time.time)
    except StoreError as error:
        raise StartFailed(str(error), hint=error.hint) from error
