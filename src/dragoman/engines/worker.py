"""The child's shell: commands in, one step after another, frames out. One thread works; another only reads.

The loop is ``take commands → schedule → compute → draw → write``. The reading thread exists so that a cancel can interrupt a
long chunk; it parses, and touches nothing else.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import randbits
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.backend import Backend
from dragoman.engines.intake import Intake, Refused, read_detokenize, read_submit, read_tokenize
from dragoman.engines.sampling import Sampler, numeric, prepare, uniform
from dragoman.protocol import EngineSession, RemoteProtocolError
from dragoman.protocol.frames import (
    Accept,
    BadCommand,
    Cancel,
    Command,
    Data,
    DetokenizeCommand,
    Done,
    Echo,
    Error,
    Frame,
    Image,
    Numeric,
    Progress,
    Stop,
    Submit,
    Text,
    TokenizeCommand,
    Tokens,
)
from dragoman.scheduler.plan import Run
from dragoman.scheduler.scheduler import Scheduler
from dragoman.scheduler.sequence import Sequence

INTERRUPT_ROWS = 32
"""A step with fewer rows ends sooner than it could be interrupted and done again."""

READ_BYTES = 1 << 16

_STATM = Path("/proc/self/statm")

Row: TypeAlias = NDArray[np.float32]


@dataclass(slots=True, kw_only=True)
class _Job:
    """A request that runs here. ``computed`` counts the prompt tokens that were given to the model for it."""

    intake: Intake
    sequence: Sequence
    sampler: Sampler
    seed: int
    started: float
    echoed: int = 0
    computed: int = 0
    first_token: float | None = None


@dataclass(slots=True)
class _Inbox:
    """Commands from the reading thread. None is the end of the input, and an error the gateway's broken framing."""

    session: EngineSession
    lock: threading.Lock = field(default_factory=threading.Lock)
    commands: queue.SimpleQueue[Command | BadCommand | RemoteProtocolError | None] = field(
        default_factory=queue.SimpleQueue
    )

    def read(self, descriptor: int, arrived: Callable[[Command | BadCommand], None]) -> None:
        """Read until the input ends; runs on a thread of its own."""
        try:
            while data := os.read(descriptor, READ_BYTES):
                with self.lock:
                    self.session.receive_data(data)
                    while (command := self.session.next_command()) is not None:
                        self.commands.put(command)
                        arrived(command)
            self.commands.put(None)
        except RemoteProtocolError as error:
            self.commands.put(error)


class Worker:
    """Serves one session over two file descriptors until its input ends and its last request is done."""

    def __init__(
        self,
        session: EngineSession,
        scheduler: Scheduler,
        backend: Backend,
        *,
        slots: int,
        source: int = 0,
        sink: int = 1,
    ) -> None:
        self._inbox = _Inbox(session)
        self._session = session
        self._scheduler = scheduler
        self._backend = backend
        self._slots = slots
        self._source = source
        self._sink = sink
        self._jobs: dict[int, _Job] = {}
        self._output = bytearray()
        self._interruptible: frozenset[int] = frozenset()
        self._pictured = 0
        self._ended = False

    def run(self) -> None:
        """Serve. Raises what the session raises when the gateway breaks the framing, and ``OSError`` when it is gone."""
        threading.Thread(target=self._inbox.read, args=(self._source, self._arrived), daemon=True).start()
        while not self._ended or self._scheduler.busy:
            self._backend.resume()
            self._take_commands()
            self._step()
            self._flush()

    def _arrived(self, command: Command | BadCommand) -> None:
        if isinstance(command, Cancel) and command.id in self._interruptible:
            self._backend.interrupt()

    # --- commands ----------------------------------------------------------------------------------------------------

    def _take_commands(self) -> None:
        """Handle what has arrived; wait for something if there is nothing else to do."""
        commands = self._inbox.commands
        while not self._ended and (not self._scheduler.busy or not commands.empty()):
            command = commands.get()
            if command is None:
                self._ended = True
            elif isinstance(command, RemoteProtocolError):
                raise command
            else:
                self._handle(command)
                self._flush()

    def _handle(self, command: Command | BadCommand) -> None:
        vocabulary = self._backend.vocabulary
        try:
            match command:
                case Submit():
                    self._submit(command)
                case Cancel(id):
                    self._end(self._find(id), Error(id, "CANCELLED"))
                case Stop(id):
                    self._finish(self._find(id), limited=False)
                case TokenizeCommand():
                    self._write(Tokens(command.id, tuple(vocabulary.tokenize(read_tokenize(command)))))
                case DetokenizeCommand():
                    self._write(Text(command.id, read_detokenize(command, vocabulary)))
                case Image():
                    self._pictured = command.id  # its Submit follows, and is refused
                case BadCommand():
                    self._answer_bad(command)
        except Refused as refusal:
            self._write(Error(command.id, refusal.code, refusal.detail))

    def _answer_bad(self, command: BadCommand) -> None:
        """Refuse it. A request that has the same id ends, as the gateway must take it, unless only the id was wrong."""
        error = Error(command.id, command.code, command.detail)
        job = self._jobs.get(command.id)
        if job is None or command.code == "DUPLICATE_ID":
            self._write(error)
        else:
            self._end(job, error)

    def _find(self, id: int) -> _Job:
        if id not in self._jobs:
            raise Refused("NOT_FOUND")
        return self._jobs[id]

    def _submit(self, command: Submit) -> None:
        if command.id == self._pictured:
            raise Refused("NOT_SUPPORTED", "images")
        if not 0 <= command.slot < self._slots:
            raise Refused("BAD_REQUEST", "invalid cache slot")
        if any(job.intake.slot == command.slot for job in self._jobs.values()):
            raise Refused("SLOT_BUSY")
        vocabulary = self._backend.vocabulary
        intake = read_submit(command, vocabulary, self._backend.context)
        sequence = Sequence(
            id=command.id,
            prompt=intake.prompt,
            limit=intake.limit,
            namespace=intake.isolation,
            echo=intake.echo is not None,
            bounded=intake.bounded,
        )
        seed = randbits(63) if intake.sampling.seed is None else intake.sampling.seed
        sampler = prepare(
            intake.sampling, min_tokens=intake.min_tokens, stop_token_ids=intake.stop_token_ids, vocabulary=vocabulary
        )
        self._jobs[command.id] = _Job(
            intake=intake, sequence=sequence, sampler=sampler, seed=seed, started=time.perf_counter()
        )
        self._scheduler.add(sequence)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        plan = self._scheduler.schedule()
        self._backend.edit(plan.edits)
        for sequence in plan.admitted:
            self._accept(sequence)
        groups = self._backend.groups(plan.runs)
        while groups:
            self._let_interrupt(groups[0])  # first: a gateway may cancel as soon as it sees the ACCEPT
            self._flush()  # neither an ACCEPT, which commits headers, nor a token waits for the next group
            status = self._compute(groups[0])
            if status == "done":
                groups.pop(0)
                continue
            if status == "interrupted":
                self._backend.edit(self._scheduler.abandon(run for group in groups for run in group))
            return

    def _let_interrupt(self, runs: tuple[Run, ...]) -> None:
        if sum(len(run.tokens) for run in runs) >= INTERRUPT_ROWS:
            self._interruptible = frozenset(run.sequence.id for run in runs)

    def _compute(self, runs: tuple[Run, ...]) -> Literal["done", "interrupted", "full"]:
        computed = self._backend.compute(runs)
        self._interruptible = frozenset()
        if computed.status == "done":
            self._scheduler.advance(runs)
            self._emit(runs, computed.logits)
        elif computed.status == "full":
            relief = self._scheduler.relieve()
            if relief is not None:
                self._backend.edit((relief,))
            else:
                sequence = runs[0].sequence
                self._end(self._jobs[sequence.id], Error(sequence.id, "NOMEM", "the cache is full"))
        return computed.status

    def _accept(self, sequence: Sequence) -> None:
        if not sequence.accepted:
            sequence.accepted = True
            self._write(Accept(sequence.id, len(sequence.prompt), sequence.cached, sequence.miss or ""))

    def _emit(self, runs: tuple[Run, ...], logits: Row) -> None:
        row = 0
        for run in runs:
            job = self._jobs[run.sequence.id]
            job.computed += max(0, min(run.end, len(run.sequence.prompt)) - run.start)
            rows = logits[row : row + run.outputs]
            row += run.outputs
            if run.every:
                self._echo(job, run, rows)
            if run.end < run.sequence.length:
                self._write(Progress(run.sequence.id, run.end, run.sequence.length))
            elif run.sequence.exhausted:
                self._finish(job, limited=True)
            else:
                self._draw(job, rows[-1])

    def _echo(self, job: _Job, run: Run, rows: Row) -> None:
        """Describe prompt positions: the row after token i tells of token i + 1, and nothing tells of the first."""
        prompt, wanted = job.sequence.prompt, job.intake.echo or 0
        if run.start == 0 and job.echoed == 0:
            self._write_echo(job, 0, Numeric(float("nan")))
        for position in range(max(run.start + 1, job.echoed), min(run.end + 1, len(prompt))):
            self._write_echo(job, position, numeric(rows[position - 1 - run.start], prompt[position], wanted))

    def _write_echo(self, job: _Job, position: int, value: Numeric) -> None:
        token = job.sequence.prompt[position]
        piece = self._backend.vocabulary.piece(token)
        self._write(Echo(job.sequence.id, position, piece, value, token if job.intake.extended else None))
        job.echoed = position + 1

    def _draw(self, job: _Job, row: Row) -> None:
        sequence, intake = job.sequence, job.intake
        token = job.sampler.pick(row, sequence.prompt, sequence.generated, _uniform(job))
        if not np.isfinite(row[token]):
            self._end(job, Error(sequence.id, "NUMERIC", "the model's logits are not finite"), keep=False)
            return
        sequence.generated.append(token)
        if job.first_token is None:
            job.first_token = time.perf_counter()
        ended = self._ends(job, token)
        if intake.extended or not self._backend.vocabulary.is_control(token):
            value = None if intake.logprobs is None else numeric(row, token, intake.logprobs)
            piece = self._backend.vocabulary.piece(token)
            self._write(Data(sequence.id, piece, value, token if intake.extended else None))
        if ended or sequence.exhausted:
            self._finish(job, limited=not ended)

    def _ends(self, job: _Job, token: int) -> bool:
        """Whether the newest token is the last. The sampler lets none end too early, unless there is no other (S36)."""
        intake = job.intake
        if len(job.sequence.generated) <= intake.min_tokens:
            return False
        return (self._backend.vocabulary.ends(token) and not intake.ignore_eos) or token in intake.stop_token_ids

    def _finish(self, job: _Job, *, limited: bool) -> None:
        sequence, now = job.sequence, time.perf_counter()
        self._accept(sequence)  # a STOP may come before the first step
        emitted, since = len(sequence.generated), job.first_token or now
        done = Done(
            id=sequence.id,
            emitted=emitted,
            tokens_per_second=(emitted - 1) / (now - since) if emitted > 1 and now > since else 0.0,
            hit_percent=100.0 * sequence.cached / max(1, len(sequence.prompt)),
            rss_gb=_resident_gb(),
            prompt_tokens=len(sequence.prompt),
            length_limited=limited,
            computed_tokens=job.computed,
        )
        self._end(job, done)

    def _end(self, job: _Job, frame: Done | Error, *, keep: bool = True) -> None:
        del self._jobs[job.sequence.id]
        self._scheduler.finish(job.sequence, keep=keep)
        self._write(frame)

    # --- output ------------------------------------------------------------------------------------------------------

    def _write(self, frame: Frame) -> None:
        with self._inbox.lock:
            self._output += self._session.encode(frame)

    def _flush(self) -> None:
        """One write a step. The gateway's absence ends the process by SIGPIPE (S111)."""
        view = memoryview(bytes(self._output))
        self._output.clear()
        while view:
            view = view[os.write(self._sink, view) :]


def _uniform(job: _Job) -> float:
    greedy = job.intake.sampling.temperature <= 0
    return 0.0 if greedy else uniform(job.seed, job.sequence.length)


def _resident_gb() -> float:
    """Memory of this process in GB; 0 where the system does not tell."""
    try:
        pages = int(_STATM.read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e9
    except OSError:
        return 0.0
