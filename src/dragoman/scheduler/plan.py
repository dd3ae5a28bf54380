"""What the scheduler decided for one step: plain data that a backend executes in this order."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.scheduler.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Cut:
    """Keep the first ``length`` tokens of a cache sequence, and drop the rest."""

    seq_id: int
    length: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Make ``target`` hold the first ``length`` tokens of ``source``, and nothing else."""

    source: int
    target: int
    length: int


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens of one sequence to compute in this step, from position ``start``.

    Logits are wanted after every token if ``every``, else after the last if ``last``, else not at all.
    """

    sequence: Sequence
    seq_id: int
    start: int
    tokens: tuple[int, ...]
    last: bool
    every: bool = False

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + len(self.tokens)

    @property
    def content(self) -> object | None:
        """What the backend computes instead of tokens, where these stand for it (``Stretch``)."""
        return next((each.content for each in self.sequence.stretches if each.start == self.start), None)

    @property
    def decodes(self) -> bool:
        """Whether it holds drawn tokens only: no part of the prompt, and none that were appended together."""
        return self.start >= max(len(self.sequence.prompt), self.sequence.read)

    @property
    def outputs(self) -> int:
        """How many rows of logits this run asks for."""
        return len(self.tokens) if self.every else int(self.last)


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step. ``admitted`` are the sequences that got their cache sequence in it."""

    edits: tuple[Cut | Copy, ...] = ()
    runs: tuple[Run, ...] = ()
    admitted: tuple[Sequence, ...] = ()

    @property
    def rows(self) -> int:
        """Tokens to compute."""
        return sum(len(run.tokens) for run in self.runs)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to compute."""
        return not self.runs


@dataclass(slots=True)
class PlanDraft:
    """A plan while it is being made."""

    edits: list[Cut | Copy] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    admitted: list[Sequence] = field(default_factory=list)

    def finish(self) -> StepPlan:
        """The finished plan; runs go in cache order, which lets a split cache batch neighbours together."""
        return StepPlan(tuple(self.edits), tuple(sorted(self.runs, key=lambda run: run.seq_id)), tuple(self.admitted))
