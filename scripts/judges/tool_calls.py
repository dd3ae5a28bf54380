"""A hundred answers that must call one to five random tools, or a named one; streams must say the same as whole answers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import openai
from environment import Judges

TESTS: Final = Path(__file__).parents[2] / "tests"
SEEDS: Final = range(100)
PATIENCE: Final = 600.0
"""Seconds for one answer, of which some wait their turn."""


def judge(_judges: Judges, url: str, _model: Path, _folder: Path) -> list[str]:
    """Calls that are none of the tools', or not what their schemas say; answers that end otherwise than OpenAI's."""
    sys.path.append(str(TESTS))
    from support.forced_calls import forced

    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(
            base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=PATIENCE
        ) as client:
            found = await forced(client, SEEDS)
        ends = ", ".join(f"{count} ended by {end}" for end, count in found.ends.most_common())
        print(f"{found.calls} calls; {ends}")
        faults: list[str] = found.faults
        return faults

    return asyncio.run(ask())
