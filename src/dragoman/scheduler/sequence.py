"""One request's progress through the engine. What can be derived is derived, so that it cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.scheduler.miss import Miss


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Tokens ``start`` to ``end`` of a prompt that are computed together or not at all: a picture's. ``content`` is the backend's.

    Their numbers are outside every vocabulary, and equal just where the contents are.
    """

    start: int
    end: int
    content: object = field(compare=False, repr=False)


@dataclass(slots=True, kw_only=True, eq=False)
class Sequence:
    """A prompt that is being continued.

    ``limit`` is the number of tokens that it may generate; ``seq_id`` is the cache sequence that it runs in, None while it
    waits; ``computed`` counts its leading tokens whose keys and values are in it. ``cached`` of them were found when it was
    first admitted, and ``miss`` says why not more; ``shared`` of them are cells of a sequence that ran already when it was last admitted.
    Generated tokens before position ``read`` were appended together with others, and are computed as those of a prompt are.
    ``stretches`` of the prompt are in order, and never its end. ``kept``: whoever asked will come back with this prompt and more.
    """

    id: int
    prompt: tuple[int, ...]
    limit: int
    namespace: str = ""
    echo: bool = False
    bounded: bool = True
    stretches: tuple[Stretch, ...] = ()
    kept: bool = False
    generated: list[int] = field(default_factory=list)
    seq_id: int | None = None
    computed: int = 0
    cached: int = 0
    miss: Miss | None = None
    shared: int = 0
    read: int = 0
    accepted: bool = False

    @property
    def length(self) -> int:
        """All tokens, computed or not."""
        return len(self.prompt) + len(self.generated)

    @property
    def pending(self) -> int:
        """Tokens that must be computed before the next one can be drawn."""
        return self.length - self.computed

    @property
    def prefilling(self) -> bool:
        """Whether more than the newest token is still to be computed."""
        return not self.generated or self.pending > 1

    def next(self, budget: int) -> int:
        """How many of the pending tokens can be computed together: at most ``budget``, or one whole stretch of any length."""
        ahead = self._ahead()
        if ahead is None:
            return min(budget, self.pending)
        if ahead.start == self.computed:
            return ahead.end - ahead.start
        return min(budget, ahead.start - self.computed)

    def border(self, length: int) -> int:
        """The most leading tokens, at most ``length``, that end in no stretch."""
        return next((each.start for each in self.stretches if each.start < length < each.end), length)

    def _ahead(self) -> Stretch | None:
        return next((each for each in self.stretches if each.end > self.computed), None)

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return len(self.generated) >= self.limit

    def tokens(self, start: int, end: int) -> tuple[int, ...]:
        """Tokens at positions ``start`` to ``end``."""
        size = len(self.prompt)
        if start >= size:
            return tuple(self.generated[start - size : end - size])
        if end <= size:
            return self.prompt[start:end]
        return self.prompt[start:] + tuple(self.generated[: end - size])
