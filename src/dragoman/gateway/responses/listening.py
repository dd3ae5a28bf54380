"""A stream of events that are made elsewhere: who stops listening ends nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from starlette.types import Receive, Send

from dragoman.gateway.event_stream import EventStream, raw
from dragoman.gateway.hangup import ClientGone, HangUp
from dragoman.gateway.options import GatewayOptions
from dragoman.gateway.responses.runs import Run
from dragoman.surfaces.openai_stream import DONE


async def listen(
    run: Run,
    *,
    after: int,
    headers: Mapping[str, str],
    options: GatewayOptions,
    receive: Receive,
    send: Send,
) -> None:
    """The events of ``run`` with a greater number than ``after``, as a response."""
    stream = EventStream(send, keepalive=run.beat, interval=options.keepalive)
    with contextlib.suppress(ClientGone):
        async with HangUp(receive):
            await stream.open(raw(headers))
            try:
                async for events in run.broadcast.listen(after):
                    await stream.write(events)
                await stream.write((DONE,))
            finally:
                stream.stop()
            await stream.close()
