"""One answer as it grows: the tokens that its grammar forces, and between them those that are drawn.

Where a grammar leaves one way on, nothing is drawn: those tokens are appended together, and the next step computes them like a piece
of a prompt. A request that asks for log-probabilities gets the same tokens, one a step, since each needs the row before it.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from secrets import randbits

from dragoman.engines.backend import Constraint, Row, Vocabulary
from dragoman.engines.intake import Intake
from dragoman.engines.pictured import words
from dragoman.engines.sampling import numeric, prepare, uniform
from dragoman.protocol.frames import Numeric
from dragoman.scheduler.sequence import Sequence


class NotFinite(Exception):
    """The model's logits are no numbers, so nothing can be drawn."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the answer, and its numbers where they were asked for."""

    id: int
    numeric: Numeric | None


class Continuation:
    """Appends to ``sequence.generated``. ``constraint`` is set before the first token, if there is to be one."""

    def __init__(self, intake: Intake, sequence: Sequence, vocabulary: Vocabulary) -> None:
        self.constraint: Constraint | None = None
        self.ended = False
        """Whether the newest token is the last, for another reason than the budget."""
        self._intake = intake
        self._sequence = sequence
        self._vocabulary = vocabulary
        self._seed = randbits(63) if intake.sampling.seed is None else intake.sampling.seed
        self._sampler = prepare(
            intake.sampling, min_tokens=intake.min_tokens, stop_token_ids=intake.stop_token_ids, vocabulary=vocabulary
        )
        self._said = words(sequence.prompt) if sequence.stretches else sequence.prompt
        self._forced: deque[int] = deque()
        """What must come next: the constraint knows of it already."""

    def extend(self, row: Row) -> list[Token]:
        """The next tokens, at least one; ``row`` has the model's logits after the newest.

        Raises ``NotFinite``, and ``BadGrammar`` where the grammar can not be followed any further.
        """
        if not self._sequence.generated:
            self._force()
        token = self._forced.popleft() if self._forced else self._draw(row)
        count = self._intake.logprobs
        tokens = [Token(token, None if count is None else numeric(row, token, count))]
        self._append(token)
        while count is None and self._forced and not self.ended and not self._sequence.exhausted:
            tokens.append(Token(self._forced.popleft(), None))
            self._append(tokens[-1].id)
        return tokens

    def _draw(self, row: Row) -> int:
        sequence, constraint = self._sequence, self.constraint
        greedy = self._intake.sampling.temperature <= 0
        chance = 0.0 if greedy else uniform(self._seed, sequence.length)
        ceiling = None if constraint is None else constraint.ceiling()
        token = self._sampler.pick(row, self._said, sequence.generated, chance, ceiling)
        if not math.isfinite(row[token]):
            raise NotFinite
        if constraint is not None:
            constraint.take(token)
            self._force(drawn=1)
        return token

    def _force(self, *, drawn: int = 0) -> None:
        """Ask what must come next. ``drawn``: tokens that the constraint knows of, and the sequence does not yet."""
        if self.constraint is None:
            return
        self._forced.extend(self.constraint.force())
        if self._forced:
            self._sequence.read = self._sequence.length + drawn + len(self._forced)

    def _append(self, token: int) -> None:
        self._sequence.generated.append(token)
        self.ended = self._ends(token)

    def _ends(self, token: int) -> bool:
        """Whether an answer ends with this token. The sampler lets none end too early, unless there is no other (S36).

        Under a grammar the model's end token ends the answer where the grammar can end, and so does a sentence that nothing can follow.
        """
        intake, constraint = self._intake, self.constraint
        if constraint is not None and constraint.complete and not self._forced:
            return True
        if len(self._sequence.generated) <= intake.min_tokens:
            return False
        ends = constraint is None and self._vocabulary.ends(token) and not intake.ignore_eos
        return ends or token in intake.stop_token_ids
