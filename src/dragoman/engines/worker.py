"""The child's shell: commands in, one step after another, frames out. One thread works; another only reads.

The loop is ``take commands → schedule → compute → draw → write``. The reading thread exists so that a cancel can interrupt a
long chunk; it parses, and touches nothing else. Grammars are compiled and pictures encoded beside the loop, and a request is not scheduled
before all of its own are there.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from dragoman.engines.backend import Backend, BadGrammar, Compiled, Logits, Row
from dragoman.engines.continuing import Continuation, NotFinite, Token
from dragoman.engines.eyes import BadImage, Patch
from dragoman.engines.inbox import Arrival, Inbox
from dragoman.engines.intake import Intake, Refused, read_detokenize, read_submit, read_tokenize
from dragoman.engines.sampling import numeric
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
    Numeric,
    Progress,
    Stop,
    Submit,
    Telemetry,
    Text,
    TokenizeCommand,
    Tokens,
)
from dragoman.scheduler.plan import Run
from dragoman.scheduler.scheduler import Scheduler
from dragoman.scheduler.sequence import Sequence

INTERRUPT_ROWS = 32
"""A step with fewer rows ends sooner than it could be interrupted and done again."""

SIGN_SECONDS = 10.0
"""A loop that waits for pictures says so as often: they may take minutes, and a gateway takes two of silence for a hang."""

_STATM = Path("/proc/self/statm")


@dataclass(slots=True, kw_only=True)
class _Job:
    """A request that runs here. ``computed`` counts the prompt tokens that were given to the model for it.

    ``awaited``: grammars and pictures that are still being prepared.
    """

    intake: Intake
    sequence: Sequence
    continuation: Continuation
    echoed: int = 0
    computed: int = 0
    awaited: int = 0
    first_token: float | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The grammar of a job, or one of its pictures (None), from the thread that prepared it."""

    job: _Job
    result: Compiled | BadImage | None


class Worker:
    """Serves one session over two file descriptors until its input ends and its last request is done."""

    def __init__(  # noqa: PLR0913 - each is one seam
        self,
        session: EngineSession,
        scheduler: Scheduler,
        backend: Backend,
        *,
        slots: int,
        source: int = 0,
        sink: int = 1,
        clock: Callable[[], float] = time.monotonic,
        sign_seconds: float = SIGN_SECONDS,
    ) -> None:
        self._inbox: Inbox[_Prepared] = Inbox(session)
        self._session = session
        self._scheduler = scheduler
        self._backend = backend
        self._slots = slots
        self._source = source
        self._sink = sink
        self._jobs: dict[int, _Job] = {}
        self._preparing: set[int] = set()
        self._output = bytearray()
        self._interruptible: frozenset[int] = frozenset()
        self._clock = clock
        self._sign_seconds = sign_seconds
        self._ended = False

    def run(self) -> None:
        """Serve. Raises what the session raises when the gateway breaks the framing, and ``OSError`` when it is gone."""
        threading.Thread(target=self._inbox.read, args=(self._source, self._arrived), daemon=True).start()
        while not self._ended or self._jobs:
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
        arrivals = self._inbox.arrivals
        while (not self._ended or self._preparing) and (not self._scheduler.busy or not arrivals.empty()):
            try:
                self._take(arrivals.get(timeout=self._sign_seconds if self._preparing else None))
            except queue.Empty:
                self._sign()
            self._flush()

    def _take(self, arrival: Arrival[_Prepared]) -> None:
        match arrival:
            case None:
                self._ended = True
            case RemoteProtocolError() as error:
                raise error
            case _Prepared(job, result):
                self._begin(job, result)
            case command:
                self._handle(command)

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
                    self._write(Tokens(command.id, read_tokenize(command, vocabulary, self._backend.eyes)))
                case DetokenizeCommand():
                    self._write(Text(command.id, read_detokenize(command, vocabulary)))
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
        if not 0 <= command.slot < self._slots:
            raise Refused("BAD_REQUEST", "invalid cache slot")
        if any(job.intake.slot == command.slot for job in self._jobs.values()):
            raise Refused("SLOT_BUSY")
        vocabulary = self._backend.vocabulary
        intake = read_submit(command, vocabulary, self._backend.context, self._backend.eyes)
        sequence = Sequence(
            id=command.id,
            prompt=intake.prompt,
            limit=intake.limit,
            namespace=intake.isolation,
            echo=intake.echo is not None,
            bounded=intake.bounded,
            stretches=intake.stretches,
            kept=intake.kept,
        )
        job = _Job(intake=intake, sequence=sequence, continuation=Continuation(intake, sequence, vocabulary))
        self._jobs[command.id] = job
        self._prepare(job)
        if not job.awaited:
            self._scheduler.add(sequence)

    def _prepare(self, job: _Job) -> None:
        """Ask for all that a job needs before its first step."""
        eyes, stretches, grammar = self._backend.eyes, job.sequence.stretches, job.intake.grammar
        job.awaited = len(stretches) + (grammar is not None)
        if job.awaited:
            self._preparing.add(job.sequence.id)
        for stretch in stretches:
            assert eyes is not None
            assert isinstance(stretch.content, Patch)
            eyes.encode(stretch.content, partial(self._prepared, job))
        if grammar is not None:
            self._backend.grammars.compile(grammar, partial(self._prepared, job))

    def _prepared(self, job: _Job, result: Compiled | BadImage | None) -> None:
        """Called from another thread, or from within ``compile`` and ``encode``."""
        self._inbox.arrivals.put(_Prepared(job, result))

    def _begin(self, job: _Job, result: Compiled | BadImage | None) -> None:
        """Schedule a job once all is there, unless it has ended in the meantime."""
        if self._jobs.get(job.sequence.id) is not job:
            return
        match result:
            case BadGrammar():
                self._end(job, _bad_grammar(job, result))
                return
            case BadImage():
                self._end(job, Error(job.sequence.id, "BAD_IMAGE", str(result)))
                return
            case None:
                self._sign()
            case constraint:
                job.continuation.constraint = constraint
        job.awaited -= 1
        if not job.awaited:
            self._preparing.discard(job.sequence.id)
            self._scheduler.add(job.sequence)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        plan = self._scheduler.schedule(self._clock())
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
        computed = self._backend.compute(runs, self._sign)
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

    def _emit(self, runs: tuple[Run, ...], logits: Logits) -> None:
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
                self._extend(job, rows[-1])

    def _echo(self, job: _Job, run: Run, rows: Logits) -> None:
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

    def _extend(self, job: _Job, row: Row) -> None:
        sequence, continuation = job.sequence, job.continuation
        try:
            tokens = continuation.extend(row)
        except NotFinite:
            self._end(job, Error(sequence.id, "NUMERIC", "the model's logits are not finite"), keep=False)
            return
        except BadGrammar as error:
            self._end(job, _bad_grammar(job, error))
            return
        if job.first_token is None:
            job.first_token = time.perf_counter()
        for token in tokens:
            self._write_token(job, token)
        if continuation.ended or sequence.exhausted:
            self._finish(job, limited=not continuation.ended)

    def _write_token(self, job: _Job, token: Token) -> None:
        vocabulary, extended = self._backend.vocabulary, job.intake.extended
        if extended or not vocabulary.is_control(token.id):
            piece = vocabulary.piece(token.id)
            self._write(Data(job.sequence.id, piece, token.numeric, token.id if extended else None))

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
        self._preparing.discard(job.sequence.id)
        self._forget_pictures(job)
        self._scheduler.finish(job.sequence, keep=keep)
        self._write(frame)

    def _forget_pictures(self, job: _Job) -> None:
        eyes = self._backend.eyes
        for stretch in job.sequence.stretches:
            assert eyes is not None
            assert isinstance(stretch.content, Patch)
            eyes.forget(stretch.content)

    # --- output ------------------------------------------------------------------------------------------------------

    def _sign(self) -> None:
        """Say that pictures are being encoded or computed: a gateway counts the silence of an engine that has work."""
        self._write(Telemetry("PERF", known=True, text="images"))
        self._flush()

    def _write(self, frame: Frame) -> None:
        with self._inbox.lock:
            self._output += self._session.encode(frame)

    def _flush(self) -> None:
        """One write a step. The gateway's absence ends the process by SIGPIPE (S111)."""
        view = memoryview(bytes(self._output))
        self._output.clear()
        while view:
            view = view[os.write(self._sink, view) :]


def _bad_grammar(job: _Job, grammar: BadGrammar) -> Error:
    return Error(job.sequence.id, "BAD_GRAMMAR", str(grammar))


def _resident_gb() -> float:
    """Memory of this process in GB; 0 where the system does not tell."""
    try:
        pages = int(_STATM.read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e9
    except OSError:
        return 0.0
