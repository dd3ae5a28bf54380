"""A scheduler at work without a model: a cache that is a list of tokens for each sequence, and the worker's loop around it.

Every step is checked: what the scheduler believes to be computed is held, token for token, by the cache that it edits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dragoman.scheduler.plan import Copy, Cut, Run, StepPlan
from dragoman.scheduler.prefix_cache import PrefixCache
from dragoman.scheduler.scheduler import Scheduler, SchedulerOptions
from dragoman.scheduler.sequence import Sequence


@dataclass(frozen=True, eq=False)
class Cell:
    """What one token takes in the cache. A copy shares it, as in llama.cpp's unified cache."""

    token: int
    namespace: str
    owner: int


@dataclass
class FakeCache:
    """``cells`` bounds the distinct cells in use; ``cuttable`` false forbids to keep a part of what a sequence holds."""

    cells: int | None = None
    cuttable: bool = True
    held: dict[int, list[Cell]] = field(default_factory=dict)
    given: int = 0

    def tokens(self, seq_id: int) -> tuple[int, ...]:
        return tuple(cell.token for cell in self.held.get(seq_id, ()))

    @property
    def used(self) -> int:
        return len({cell for cells in self.held.values() for cell in cells})

    def edit(self, edits: Iterable[Cut | Copy]) -> None:
        for edit in edits:
            match edit:
                case Cut(seq_id, length):
                    self.held[seq_id] = self._part(seq_id, length)
                case Copy(source, target, length):
                    assert source != target
                    self.held[target] = self._part(source, length)

    def compute(self, runs: tuple[Run, ...], rows: int | None = None) -> bool:
        """Compute all runs, or their first ``rows`` rows; false if there is no room, and then nothing has changed."""
        wanted = sum(len(run.tokens) for run in runs)
        if self.cells is not None and self.used + wanted > self.cells:
            return False
        left = wanted if rows is None else rows
        for run in runs:
            assert run.tokens, "an empty run"
            cells = self.held.setdefault(run.seq_id, [])
            assert len(cells) == run.start, "a run does not start where its cache sequence ends"
            part = run.tokens[:left]
            cells.extend(Cell(token, run.sequence.namespace, run.sequence.id) for token in part)
            left -= len(part)
            self.given += len(part)
        return True

    def _part(self, seq_id: int, length: int) -> list[Cell]:
        cells = self.held.get(seq_id, [])
        assert length <= len(cells), "more is kept than is held"
        assert self.cuttable or length in (0, len(cells)), "this state cannot be cut"
        return cells[:length]


class Loop:
    """The worker's loop. ``draw`` is a function of the sequence alone, so preemption must not change an answer."""

    def __init__(self, options: SchedulerOptions | None = None, cache: PrefixCache | None = None) -> None:
        self.options = options or SchedulerOptions()
        self.prefixes = cache or PrefixCache()
        self.scheduler = Scheduler(self.options, self.prefixes)
        self.cache = FakeCache(self.options.cells, self.options.cuttable)
        self.live: list[Sequence] = []
        self.done: list[Sequence] = []
        self.preempted: set[Sequence] = set()
        self.restarted: set[Sequence] = set()
        self.computed: Counter[tuple[Sequence, int]] = Counter()
        self.reported: dict[Sequence, int] = {}
        self.full = 0
        self.now = 0.0
        self._ids = 0

    def add(self, prompt: Iterable[int], limit: int = 1, **options: object) -> Sequence:
        self._ids += 1
        sequence = Sequence(id=self._ids, prompt=tuple(prompt), limit=limit, **options)  # type: ignore[arg-type]
        self.live.append(sequence)
        self.scheduler.add(sequence)
        return sequence

    def fed(self, sequence: Sequence) -> int:
        """How many tokens of a sequence were computed, those computed again included."""
        return sum(count for (owner, _), count in self.computed.items() if owner is sequence)

    def end(self, sequence: Sequence, *, keep: bool = True) -> None:
        self.live.remove(sequence)
        self.scheduler.finish(sequence, keep=keep)

    def step(self, *, interrupt_after: int | None = None) -> StepPlan:
        """One step; interrupted after so many rows, if it has more than them."""
        plan = self.scheduler.schedule(self.now)
        self._check_plan(plan)
        self.cache.edit(plan.edits)
        for sequence in plan.admitted:
            sequence.accepted = True
            self.reported.setdefault(sequence, sequence.cached)
        if not plan.idle:
            self._compute(plan, interrupt_after)
        self.check()
        return plan

    def run(self, *sequences: Sequence, steps: int = 10_000) -> list[StepPlan]:
        """Step until these sequences have ended, or all of them."""
        plans = []
        while any(sequence in self.live for sequence in sequences or tuple(self.live)):
            plans.append(self.step())
            assert len(plans) <= steps, "the sequences do not end"
        return plans

    def _compute(self, plan: StepPlan, interrupt_after: int | None) -> None:
        if interrupt_after is not None and interrupt_after < plan.rows:
            if self.cache.compute(plan.runs, interrupt_after):
                self._abandon(plan)
                return
        elif self.cache.compute(plan.runs):
            self._advance(plan)
            return
        self.full += 1
        running = {sequence for sequence in self.live if sequence.seq_id is not None}
        relief = self.scheduler.relieve()
        assert relief is not None, "nothing can be given up, although every sequence fits alone"
        self.preempted |= {sequence for sequence in running if sequence.seq_id is None}
        self.cache.edit((relief,))

    def _abandon(self, plan: StepPlan) -> None:
        undo = self.scheduler.abandon(plan.runs)
        self.restarted |= {run.sequence for run in plan.runs if run.sequence.computed < run.start}
        self.cache.edit(undo)

    def _advance(self, plan: StepPlan) -> None:
        self.scheduler.advance(plan.runs)
        for run in plan.runs:
            sequence = run.sequence
            self.computed.update((sequence, position) for position in range(run.start, run.end))
            if run.end < sequence.length:
                assert run.outputs == (len(run.tokens) if run.every else 0)
                continue
            if not sequence.exhausted:
                assert run.outputs > 0, "a token must be drawn, and there is nothing to draw from"
                sequence.generated.append((sequence.id * 7 + sequence.length) % 3)
            if sequence.exhausted:
                self.done.append(sequence)
                self.end(sequence)

    def _check_plan(self, plan: StepPlan) -> None:
        running = [sequence for sequence in self.live if sequence.seq_id is not None]
        decoding = {sequence for sequence in running if not sequence.prefilling}
        in_plan = [run.sequence for run in plan.runs]
        assert len(in_plan) == len(set(in_plan)), "a sequence has two runs"
        assert decoding <= set(in_plan), "a sequence that decodes was left out"
        assert [run.seq_id for run in plan.runs] == sorted(run.seq_id for run in plan.runs)
        longest = max((run.end - run.start for run in plan.runs if run.content is not None), default=0)
        assert plan.rows <= max(self.options.prefill_chunk, longest) + len(decoding)
        for run in plan.runs:
            whole = [(each.start, each.end) for each in run.sequence.stretches]
            assert all((run.start, run.end) == each or run.end <= each[0] or run.start >= each[1] for each in whole), (
                "a stretch is divided, or shares its run"
            )
        assert plan.idle == (not self.live), "somebody waits, and nothing is computed"

    def check(self) -> None:
        """The scheduler's belief against what the cache holds."""
        running = {sequence.seq_id: sequence for sequence in self.live if sequence.seq_id is not None}
        assert len(running) == sum(sequence.seq_id is not None for sequence in self.live), "two share a cache sequence"
        for seq_id in range(self.options.sequences):
            if sequence := running.get(seq_id):
                assert self.cache.tokens(seq_id) == sequence.tokens(0, sequence.computed)
                cells = self.cache.held.get(seq_id, [])
                assert {cell.namespace for cell in cells} <= {sequence.namespace}, "namespaces share a prefix"
                assert not sequence.echo or {cell.owner for cell in cells} <= {sequence.id}, "an echo was not computed"
            else:
                held, known = self.cache.tokens(seq_id), self.prefixes.held(seq_id)
                # An answer that is not kept is cut by the next step, before anybody is computed.
                assert (held if self.options.keep_answers else held[: len(known)]) == known
        assert all(sequence.cached == cached for sequence, cached in self.reported.items()), "what was told has changed"
        for (sequence, position), times in self.computed.items():
            if sequence not in self.preempted | self.restarted:
                assert times == 1, "a token was computed twice"
                assert position >= sequence.cached, "a token that was said to be cached was computed"
