"""The bytes of tokens, asked of the engine once each: what alternatives are called (S80).

An engine tells the bytes of the token that it chose, and only the ids of those that it did not choose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from dragoman.core.events import Alternative
from dragoman.engines.base import Engine
from dragoman.protocol.frames import Data, Echo

CHUNK: Final = 4096
"""Ids of one question. The engine answers between two steps, so none may take long."""


class Pieces:
    """One model's, kept for good: a vocabulary does not change while the model is served."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[int, bytes] = {}

    async def alternatives(self, frame: Data | Echo) -> tuple[Alternative, ...]:
        """What could have stood in the place of this token, likeliest first; if anything, the token itself is among it."""
        numeric = frame.numeric
        if numeric is None or not numeric.top:
            return ()
        top = dict(numeric.top)
        if frame.token is not None:
            self._known[frame.token] = frame.payload
            top.setdefault(frame.token, numeric.logprob)
        await self.learn(top)
        ranked = sorted(top.items(), key=lambda pair: -math.inf if math.isnan(pair[1]) else pair[1], reverse=True)
        return tuple(Alternative(token, self._known[token], logprob) for token, logprob in ranked)

    async def learn(self, ids: Iterable[int]) -> None:
        """Ask for those that are not known yet. Engines that keep their tokenizer to themselves leave them with their number."""
        missing = [token for token in dict.fromkeys(ids) if token not in self._known]
        if missing and "tokenize" not in self._engine.info.features:
            self._known.update((token, b"<token_id:%d>" % token) for token in missing)
            return
        for start in range(0, len(missing), CHUNK):
            chunk = tuple(missing[start : start + CHUNK])
            self._known.update(zip(chunk, await self._engine.detokenize(chunk), strict=True))
