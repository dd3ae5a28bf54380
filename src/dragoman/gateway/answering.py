"""What all endpoints that generate do alike: begin an answer, stamp it, and say in headers what became of the request."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from starlette.types import Scope

from dragoman.gateway.caller import caller_of
from dragoman.gateway.ignored import ignored_header
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.options import GatewayOptions
from dragoman.serving.generation import Generation
from dragoman.serving.service import Service
from dragoman.surfaces.base import Call, Stamp


def mint_id() -> str:
    """An id that nobody can guess (S17)."""
    return secrets.token_hex(12)


class Answering:
    """``mint`` makes ids; ``now`` gives Unix seconds."""

    def __init__(
        self, *, service: Service, options: GatewayOptions, mint: Callable[[], str], now: Callable[[], float]
    ) -> None:
        self.service = service
        self.options = options
        self.mint = mint
        self.now = now

    async def begin(
        self, call: Call, *, surface: str, scope: Scope, queued: Callable[[], None] | None = None
    ) -> Generation:
        """The answer, once the engine has accepted it. Raises ``ServiceError`` before that. ``queued`` as in ``Service.generate``."""
        isolation = caller_of(scope).isolation
        return await self.service.generate(call.operation, surface=surface, isolation=isolation, queued=queued)

    def stamp(self, call: Call, scope: Scope) -> Stamp:
        """What a reply to this call carries."""
        return Stamp(
            id=self.mint(),
            created=int(self.now()),
            model=self.service.card(call.operation.model).id,
            fingerprint=self.service.fingerprint,
            request_id=request_id_of(scope),
        )

    def headers(self, call: Call, generation: Generation | None = None) -> dict[str, str]:
        """How long it waited, what was repaired, and what had no effect."""
        headers: dict[str, str] = {}
        if generation is not None:
            headers["x-dragoman-queue-wait-ms"] = str(round(generation.queue_wait * 1000))
            if generation.repairs:
                headers["x-dragoman-repaired"] = ", ".join(generation.repairs)
        return headers | ignored_header(call.ignored, self.service.unused(call.operation), call.spelling)
