"""A prefix that is in the cache is not computed again: counted in tokens given to llama.cpp."""

from __future__ import annotations

import pytest

from dragoman.core.request import TokenPrompt
from dragoman.engines.base import EngineRequest
from support.live import LiveEngine, answer, arbitrary, greedy, together

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]


def after(prefix: tuple[int, ...], seed: int, *, isolation: str = "") -> EngineRequest:
    return greedy(TokenPrompt(ids=prefix + arbitrary(seed, 20)), 1, isolation=isolation)


@pytest.mark.seeds("S52", "S134")
async def test_a_second_request_computes_only_what_follows_the_shared_prefix(engine: LiveEngine):
    prefix = arbitrary(200, 1000)
    first = await answer(engine, after(prefix, 1))
    second = await answer(engine, after(prefix, 2))
    assert (first.accept.cached_tokens, first.done.computed_tokens) == (0, 1020)
    assert (second.accept.cached_tokens, second.done.computed_tokens) == (1000, 20)


@pytest.mark.seeds("S134")
async def test_eight_cold_requests_compute_their_shared_prefix_once(engine: LiveEngine):
    prefix = arbitrary(201, 1000)
    said = await together(engine, [after(prefix, seed) for seed in range(8)])
    computed = sum(answered.done.computed_tokens or 0 for answered in said)
    cached = sum(answered.accept.cached_tokens for answered in said)
    assert computed + cached == 8 * 1020
    # Where a copy costs as much as a few tokens, those may be computed twice; a second time all of it would be 2,000.
    assert 1000 + 8 * 20 <= computed < 2000


async def test_callers_with_different_keys_never_share(engine: LiveEngine):
    prefix = arbitrary(202, 100)
    mine = await answer(engine, after(prefix, 1, isolation="mine"))
    yours = await answer(engine, after(prefix, 1, isolation="yours"))
    nobodys = await answer(engine, after(prefix, 1))
    mine_again = await answer(engine, after(prefix, 1, isolation="mine"))
    assert [said.accept.cached_tokens for said in (mine, yours, nobodys, mine_again)] == [0, 0, 0, 119]
    assert mine.ids == yours.ids == nobodys.ids == mine_again.ids
