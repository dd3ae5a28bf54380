"""Five hundred answers under random JSON Schemas: each complete one must validate, each cut one must be the beginning of one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import openai
from environment import Judges

TESTS: Final = Path(__file__).parents[2] / "tests"
SEEDS: Final = range(500)
PATIENCE: Final = 600.0
"""Seconds for one answer, of which some wait their turn."""


def judge(_judges: Judges, url: str, _model: Path, _folder: Path) -> list[str]:
    """Answers that are not what their schema says; refusals, too, as every schema can be enforced."""
    sys.path.append(str(TESTS))
    from support.schema_answers import verdict

    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(
            base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=PATIENCE
        ) as client:
            found = await verdict(client, SEEDS)
        print(", ".join(f"{count} ended by {end}" for end, count in found.ends.most_common()))
        faults: list[str] = found.faults
        return faults

    return asyncio.run(ask())
