"""Continuous batching with prefix sharing, decided on plain data: no model, no clock, no I/O.

A step is ``schedule`` (decide), then the backend's work, then ``advance`` or ``abandon`` (what became of it).
The theory in four rules:

1.  Every running sequence whose prompt is done decodes one token in each step; the rest of the step's token budget goes to
    prompts, oldest first. So a long prompt stalls nobody for longer than a chunk. Tokens that an answer got all at once are
    read like a prompt, and none that is still being read is older.
2.  A new sequence takes the longest prefix that any cache sequence holds. If its holder is idle and little else would be lost,
    it continues there; otherwise the prefix is copied to the least recently used idle one.
3.  If a running prompt is about to compute a longer prefix, the new sequence waits for it instead of computing it again.
4.  Cells are credited for a bounded budget before it is admitted. If they run out all the same, idle sequences are dropped, oldest
    first, and then the youngest running one is preempted: it keeps its tokens, and computes them again later. Nobody starts before
    one that runs has ended: else what was preempted would come back at once, and neither would ever get on.

Two refinements. A stretch of a prompt that can not be divided (a picture) is computed in one piece, and no prefix ends in it. Idle
sequences whose client announced that it will come back are overwritten after all others (``keeping``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dragoman.scheduler.ghosts import Ghosts
from dragoman.scheduler.keeping import Keeping
from dragoman.scheduler.miss import Found, Miss, why
from dragoman.scheduler.plan import Copy, Cut, PlanDraft, Run, StepPlan
from dragoman.scheduler.prefix_cache import Match, PrefixCache
from dragoman.scheduler.sequence import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """What the scheduler must know of the cache below it.

    ``cells`` is the number of tokens that all cache sequences together may hold if they share one pool, else None.
    ``copy_cost`` says how many tokens could be computed in the time that one copy takes. ``cuttable`` is false for models whose state
    cannot be cut back to a shorter prefix (recurrent ones). ``keep_answers`` is false where a generated token leaves other bits in the
    cache than the same token read as part of a prompt, and that matters.
    """

    sequences: int = 16
    prefill_chunk: int = 256
    cells: int | None = None
    copy_cost: int = 32
    cuttable: bool = True
    keep_answers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placement:
    """``length`` tokens of ``source`` go to ``target``. ``known`` and ``ready`` are for ``miss.Found``."""

    target: int
    source: int | None
    length: int
    known: int
    ready: int


class Scheduler:
    """Decides what each step computes. ``add``, ``cancel`` and ``finish`` may be called between any two steps."""

    def __init__(self, options: SchedulerOptions, cache: PrefixCache) -> None:
        self._options = options
        self._cache = cache
        self._ghosts = Ghosts()
        self._waiting: deque[Sequence] = deque()
        self._running: dict[int, Sequence] = {}
        self._last_used = [0] * options.sequences
        self._keeping = Keeping(most=options.sequences // 2)
        self._now = 0.0
        self._tick = 0
        self._emptied: list[Cut] = []
        self._pressed = False

    @property
    def busy(self) -> bool:
        """Whether any sequence waits or runs."""
        return bool(self._waiting or self._running)

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence."""
        self._waiting.append(sequence)

    def finish(self, sequence: Sequence, *, keep: bool = True) -> None:
        """End a sequence, waiting or running; what it computed stays for others unless ``keep`` is false."""
        if sequence.seq_id is None:
            if sequence in self._waiting:
                self._waiting.remove(sequence)
            return
        self._pressed = False
        reusable = sequence.computed if self._options.keep_answers else min(sequence.computed, len(sequence.prompt))
        kept = reusable if keep else 0
        if kept < sequence.computed:
            self._emptied.append(Cut(sequence.seq_id, kept))
            if keep:
                self._ghosts.lose(sequence.tokens(0, sequence.computed), sequence.namespace, Miss.ANSWER)
        self._release(sequence, kept)

    def schedule(self, now: float = 0.0) -> StepPlan:
        """Decide the next step. ``now`` is in seconds, and matters only to what is kept."""
        self._now = now
        draft = PlanDraft(edits=[*self._emptied])
        self._emptied.clear()
        self._admit(draft)
        draft.runs.extend(_run(sequence, 1) for sequence in self._running.values() if not sequence.prefilling)
        budget = self._options.prefill_chunk
        for sequence in self._running.values():
            if budget > 0 and sequence.prefilling:
                count = sequence.next(budget)
                if count <= budget or budget == self._options.prefill_chunk:  # a longer stretch has a step for itself
                    budget -= count
                    draft.runs.append(_run(sequence, count))
        return draft.finish()

    def advance(self, runs: Iterable[Run]) -> None:
        """These runs of the plan are computed."""
        for run in runs:
            run.sequence.computed = run.end

    def abandon(self, runs: Iterable[Run]) -> list[Cut]:
        """These runs of the plan were not computed, or in part: return the edits that undo the part."""
        cuts = []
        for run in runs:
            if not self._options.cuttable:
                run.sequence.computed = 0
            cuts.append(Cut(run.seq_id, run.sequence.computed))
        return cuts

    def relieve(self) -> Cut | None:
        """Cells have run out: return the edit that frees some, or None if nothing can be given up."""
        idle = [
            seq_id
            for seq_id in range(self._options.sequences)
            if seq_id not in self._running and self._cache.held(seq_id)
        ]
        if idle:
            oldest = min(idle, key=self._worth)
            self._lose(oldest, kept=0)
            self._cache.remove(oldest)
            self._keeping.forget(oldest)
            return Cut(oldest, 0)
        if len(self._running) < 2:
            return None
        youngest = next(reversed(self._running.values()))
        seq_id = youngest.seq_id
        assert seq_id is not None
        self._ghosts.lose(youngest.tokens(0, youngest.computed), youngest.namespace, Miss.EVICTED)
        self._release(youngest, 0)
        self._pressed = True
        youngest.computed = 0
        self._waiting.appendleft(youngest)
        return Cut(seq_id, 0)

    # --- admission ---------------------------------------------------------------------------------------------------

    def _admit(self, draft: PlanDraft) -> None:
        if self._pressed:
            return
        for sequence in tuple(self._waiting):
            if len(self._running) >= self._options.sequences:
                return
            placement = self._place(sequence)
            if placement is None:
                continue
            shared = placement.length if placement.source in self._running else 0
            if not self._affordable(sequence, shared):
                return
            sequence.shared = shared
            self._waiting.remove(sequence)
            self._start(sequence, placement, draft)

    def _affordable(self, sequence: Sequence, shared: int) -> bool:
        cells = self._options.cells
        if cells is None or not self._running:
            return True
        return sum(map(_credit, self._running.values())) + _credit(sequence) - shared <= cells

    def _start(self, sequence: Sequence, placement: _Placement, draft: PlanDraft) -> None:
        if not sequence.accepted:
            sequence.cached = placement.length
            sequence.miss = self._why(sequence, placement)
        self._lose(placement.target, kept=placement.length if placement.source == placement.target else 0)
        self._keep_on(sequence, placement)
        if placement.source is None or placement.source == placement.target:
            if self._cache.held(placement.target):
                draft.edits.append(Cut(placement.target, placement.length))
        else:
            draft.edits.append(Copy(placement.source, placement.target, placement.length))
        sequence.seq_id = placement.target
        sequence.computed = placement.length
        self._running[placement.target] = sequence
        self._cache.insert(placement.target, sequence.tokens(0, sequence.length), sequence.namespace)
        draft.admitted.append(sequence)

    def _keep_on(self, sequence: Sequence, placement: _Placement) -> None:
        """A use makes what is kept last longer; a sequence that goes on in it is kept in its place."""
        source, target = placement.source, placement.target
        if source == target:
            sequence.kept = sequence.kept or self._keeping.keeps(target, self._now)
        elif source is not None:
            self._keeping.use(source, self._now)
        self._keeping.forget(target)

    def _why(self, sequence: Sequence, placement: _Placement) -> Miss | None:
        options, wanted = self._options, len(sequence.prompt) - 1
        lost, cause = self._ghosts.longest(sequence.prompt[:wanted], sequence.namespace)
        found = Found(known=placement.known, ready=placement.ready, taken=placement.length, lost=lost, cause=cause)
        return why(found, wanted=wanted, echo=sequence.echo, cuttable=options.cuttable, worth=options.copy_cost)

    def _lose(self, seq_id: int, *, kept: int) -> None:
        """What a cache sequence holds beyond ``kept`` tokens is about to be overwritten."""
        held = self._cache.held(seq_id)
        if len(held) > kept:
            self._ghosts.lose(held, self._cache.namespace(seq_id), Miss.EVICTED)

    def _place(self, sequence: Sequence) -> _Placement | None:
        """Where to run a sequence; None if it should wait for a prefix that is being computed."""
        tokens = sequence.tokens(0, sequence.length - 1)
        matches = [] if sequence.echo else self._cache.match(tokens, sequence.namespace)
        usable = [self._usable(match, sequence) for match in matches]
        best = max(usable, key=lambda match: match.length, default=None)
        have = best.length if best else 0
        worth = have + self._options.copy_cost
        if any(sequence.border(match.length) > worth and self._promises(match) for match in matches):
            return None
        target, source = self._choose(best)
        return _Placement(
            target=target,
            source=source,
            length=0 if source is None else have,
            known=matches[0].length if matches else 0,
            ready=have,
        )

    def _choose(self, best: Match | None) -> tuple[int, int | None]:
        """The cache sequence to run in, and the one whose prefix to take, if it is worth it."""
        idle = self._idle()
        if best is None or not best.length:
            return self._victim(idle), None
        others = [seq_id for seq_id in idle if seq_id != best.seq_id]
        if best.seq_id in idle:
            lost = len(self._cache.held(best.seq_id)) - best.length
            if lost <= self._options.copy_cost or not others:
                return best.seq_id, best.seq_id
        if best.length <= self._options.copy_cost:
            return self._victim(idle), None
        return self._victim(others), best.seq_id

    def _usable(self, match: Match, sequence: Sequence) -> Match:
        """The part of a match that is computed, and that the model can be cut back to."""
        holder = self._running.get(match.seq_id)
        held = holder.computed if holder else len(self._cache.held(match.seq_id))
        length = sequence.border(min(match.length, held))
        return Match(match.seq_id, length if self._options.cuttable or length == held else 0)

    def _promises(self, match: Match) -> bool:
        """Whether a running sequence is about to compute this match."""
        holder = self._running.get(match.seq_id)
        return holder is not None and self._options.cuttable and holder.computed < match.length

    def _idle(self) -> list[int]:
        return [seq_id for seq_id in range(self._options.sequences) if seq_id not in self._running]

    def _victim(self, idle: list[int]) -> int:
        """The idle cache sequence to overwrite: one that holds nothing, as near to the others as possible, or the least worth."""
        return min(idle, key=lambda seq_id: (self._worth(seq_id) if self._cache.held(seq_id) else _NOTHING, seq_id))

    def _worth(self, seq_id: int) -> tuple[bool, int]:
        """Kept ones are worth more than others, and what was used later more than what was used before."""
        return self._keeping.keeps(seq_id, self._now), self._last_used[seq_id]

    def _release(self, sequence: Sequence, keep: int) -> None:
        seq_id = sequence.seq_id
        assert seq_id is not None
        del self._running[seq_id]
        self._tick += 1
        self._last_used[seq_id] = self._tick
        self._cache.insert(seq_id, sequence.tokens(0, keep), sequence.namespace)
        if sequence.kept and keep:
            self._keeping.keep(seq_id, self._now)
        sequence.seq_id = None
        sequence.shared = 0


_NOTHING: Final = (False, -1)


def _run(sequence: Sequence, count: int) -> Run:
    assert sequence.seq_id is not None
    start, end = sequence.computed, sequence.computed + count
    return Run(
        sequence,
        sequence.seq_id,
        start,
        sequence.tokens(start, end),
        last=end == sequence.length and not sequence.exhausted,
        every=sequence.echo and start < len(sequence.prompt),
    )


def _credit(sequence: Sequence) -> int:
    """Cells that a sequence may need of its own: open-ended budgets are admitted on their prompt alone."""
    return len(sequence.prompt) + (sequence.limit if sequence.bounded else len(sequence.generated)) - sequence.shared
