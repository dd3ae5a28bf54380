"""The application is tested on virtual time."""

from __future__ import annotations

from support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    return {"virtual": VirtualTimeLoop}
