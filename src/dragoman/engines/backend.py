"""What a model runtime must do for the worker: compute planned tokens, and know its vocabulary. Runs in the child."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import TextPrompt
from dragoman.engines.eyes import Eyes
from dragoman.scheduler.plan import Copy, Cut, Run

Logits: TypeAlias = NDArray[np.float32]
"""Shape (rows, vocabulary size)."""

Row: TypeAlias = NDArray[np.float32]
"""Shape (vocabulary size,)."""


@dataclass(frozen=True, slots=True)
class Computed:
    """What became of a group of runs.

    ``done``: ``logits`` has the rows that the runs asked for, in order, valid until the next call. ``interrupted``: nothing may
    be relied on. ``full``: nothing was computed, for lack of cells.
    """

    status: Literal["done", "interrupted", "full"]
    logits: Logits


class Vocabulary(Protocol):
    """Text to tokens and back."""

    @property
    def size(self) -> int:
        """Ids are 0 to ``size`` - 1."""
        ...

    def tokenize(self, prompt: TextPrompt) -> list[int]:
        """Ids of a text; special tokens are recognised outside ``prompt.plain`` only."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes of a token; a control token's are its text."""
        ...

    def is_control(self, token: int) -> bool:
        """Whether a token is never text."""
        ...

    def ends(self, token: int) -> bool:
        """Whether a token ends the generation."""
        ...

    @property
    def end_tokens(self) -> frozenset[int]:
        """All tokens that end the generation."""
        ...


class BadGrammar(Exception):
    """A grammar that is none, is too complex, or can not be followed any further; the words are for people."""


class Constraint(Protocol):
    """Where one sequence stands in a grammar. All but ``complete`` raise ``BadGrammar`` where it can not be followed."""

    @property
    def complete(self) -> bool:
        """Whether nothing can follow: it was a sentence, and has ended."""
        ...

    def ceiling(self) -> Row:
        """Infinity for each token that may come next, minus infinity for the others. Valid until anybody's next call."""
        ...

    def take(self, token: int) -> None:
        """Go on with a token that the ceiling allowed."""
        ...

    def force(self) -> list[int]:
        """Go on as far as there is only one way: the tokens, often none."""
        ...


Compiled: TypeAlias = Constraint | BadGrammar


class Grammars(Protocol):
    """Makes constraints of texts, beside the model."""

    def compile(self, grammar: str, done: Callable[[Compiled], None]) -> None:
        """Call ``done`` once and soon, from any thread, with a constraint that nobody else has, or with what is wrong."""
        ...


class Backend(Protocol):
    """A loaded model and its cache."""

    @property
    def context(self) -> int:
        """Tokens that one sequence may have, prompt and completion together."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's vocabulary."""
        ...

    @property
    def grammars(self) -> Grammars:
        """Its compiler of grammars."""
        ...

    @property
    def eyes(self) -> Eyes | None:
        """What it sees with; None where it reads text only."""
        ...

    def edit(self, edits: Iterable[Cut | Copy]) -> None:
        """Cut and copy cache sequences, in order."""
        ...

    def groups(self, runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
        """Share a step's runs out to the calls of ``compute`` that do them fastest, those first that others wait for."""
        ...

    def compute(self, runs: tuple[Run, ...], working: Callable[[], None]) -> Computed:
        """Compute one group's tokens. Raises ``RuntimeError`` if the model fails for good.

        ``working`` is called between the parts of a picture, which may together take minutes.
        """
        ...

    def interrupt(self) -> None:
        """Make the running ``compute`` return early; called from another thread."""
        ...

    def resume(self) -> None:
        """Forget an ``interrupt`` that came between two steps."""
        ...
