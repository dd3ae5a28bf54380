"""An answer that was committed, told to its end: a good one, or the surface's own word for what went wrong (S155)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starlette.types import Scope

from dragoman.core.errors import Code, EngineFailed, ServiceError
from dragoman.core.events import Finished
from dragoman.gateway.event_stream import EventStream
from dragoman.gateway.hangup import HangUp
from dragoman.gateway.outcome import mark_failed
from dragoman.gateway.replies import mistake
from dragoman.serving.generation import Generation
from dragoman.surfaces.base import Projector

logger = logging.getLogger(__name__)


async def tell(
    generation: Generation,
    projector: Projector,
    stream: EventStream,
    *,
    line: HangUp,
    scope: Scope,
    ending: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Write all events, and end the response. ``ending`` is awaited before the last ones, which a client may act upon at once.

    A task that is cancelled although its client is still there belongs to a server that stops: the client is told, and with that its
    request has ended as it should.
    """

    async def fail(error: ServiceError) -> None:
        line.disarm()
        mark_failed(scope)
        await stream.write(projector.fail(error))

    try:
        async for event in generation:
            events = projector.feed(event)
            if isinstance(event, Finished):
                line.disarm()
                if ending is not None:
                    await ending()
            await stream.write(events)
    except ServiceError as error:
        await fail(error)
    except asyncio.CancelledError:
        if line.gone:
            raise
        await fail(EngineFailed("the server was stopped", code=Code.SHUTTING_DOWN))
    except Exception:
        logger.exception("a stream failed by our own mistake")
        await fail(mistake())
    finally:
        stream.stop()
    await stream.close()
