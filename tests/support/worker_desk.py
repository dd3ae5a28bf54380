"""A worker in a thread with a gateway's session in front of it, over two real pipes."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from dragoman.core.json import Json
from dragoman.engines.backend import Backend
from dragoman.engines.worker import SIGN_SECONDS, Worker
from dragoman.protocol import EngineSession, GatewaySession
from dragoman.protocol.frames import (
    Caps,
    Command,
    Done,
    Error,
    Fault,
    Frame,
    Model,
    Ready,
    RequestFrame,
    Submit,
    Telemetry,
    Text,
    Tokens,
)
from dragoman.scheduler.prefix_cache import PrefixCache
from dragoman.scheduler.scheduler import Scheduler, SchedulerOptions

PATIENCE = 20.0
"""Seconds after which a frame that has not come will not come; none takes long."""

SLOTS = 4


def submit(id: int, text: str | bytes, max_tokens: int = 8, *, slot: int = 0, **options: Json) -> Submit:
    """An extended, greedy request."""
    payload = text if isinstance(text, bytes) else text.encode()
    temperature = float(options.pop("temperature", 0.0))  # type: ignore[arg-type]
    return Submit(
        id=id,
        slot=slot,
        payload=payload,
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=1.0,
        extension=options,
    )


class WorkerDesk:
    """Sends commands, reads frames. The gateway's session checks the order of every frame; a fault fails the test."""

    def __init__(
        self,
        backend: Backend,
        *,
        sequences: int = SLOTS,
        prefill_chunk: int = 64,
        cells: int | None = None,
        sees: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sign_seconds: float = SIGN_SECONDS,
    ) -> None:
        options = SchedulerOptions(sequences=sequences, prefill_chunk=prefill_chunk, cells=cells, copy_cost=1)
        source, self._commands = os.pipe()
        self._frames, sink = os.pipe()
        session = EngineSession()
        caps = {"ext": "1", "vision": str(int(sees))}
        greeting: list[Frame] = [Ready(), Caps(caps), Model({}), Telemetry("STAT", True, "0 0.00 0.0 0.00")]
        os.write(sink, b"".join(map(session.encode, greeting)))
        scheduler = Scheduler(options, PrefixCache())
        worker = Worker(
            session,
            scheduler,
            backend,
            slots=SLOTS,
            source=source,
            sink=sink,
            clock=clock,
            sign_seconds=sign_seconds,
        )
        self._ends = (source, sink)
        self._gateway = GatewaySession()
        self._open = True
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(worker,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        for _ in range(4):
            self.next()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.hang_up()
        if kind is None:
            self.join()
        os.close(self._frames)

    def send(self, *commands: Command | bytes) -> None:
        """In one write; bytes are what no gateway of ours would send."""
        encoded = [command if isinstance(command, bytes) else self._gateway.send(command) for command in commands]
        os.write(self._commands, b"".join(encoded))

    def next(self) -> Frame:
        """The next frame."""
        frame = self.next_or_fault()
        assert not isinstance(frame, Fault), frame
        return frame

    def next_or_fault(self) -> Frame:
        """The next frame, or what a gateway finds wrong with it."""
        while (frame := self._gateway.next_frame()) is None:
            assert select.select([self._frames], [], [], PATIENCE)[0], "no frame came"
            data = os.read(self._frames, 1 << 16)
            assert data, f"the worker ended: {self.failure!r}"
            self._gateway.receive_data(data)
        return frame

    def until_ended(self, *ids: int) -> dict[int, list[RequestFrame]]:
        """All frames until each of these requests has its last one, by request."""
        frames: dict[int, list[RequestFrame]] = {number: [] for number in ids}
        open_ids = set(ids)
        while open_ids:
            frame = self.next()
            if isinstance(frame, Telemetry):
                continue
            assert isinstance(frame, RequestFrame)
            frames.setdefault(frame.id, []).append(frame)
            if isinstance(frame, Done | Error | Tokens | Text):
                open_ids.discard(frame.id)
        return frames

    def ask(self, command: Submit) -> list[RequestFrame]:
        """Send a request, and read it to its end."""
        self.send(command)
        return self.until_ended(command.id)[command.id]

    def hang_up(self) -> None:
        """End the commands."""
        if self._open:
            self._open = False
            os.close(self._commands)

    def join(self) -> None:
        """Wait for the worker to return. It has not failed unless the test has looked at ``failure`` and cleared it."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the worker does not end"
        assert self.failure is None, self.failure

    def _work(self, worker: Worker) -> None:
        try:
            worker.run()
        except BaseException as failure:  # noqa: BLE001 - the test's thread must see it
            self.failure = failure
        finally:
            for end in self._ends:
                os.close(end)
