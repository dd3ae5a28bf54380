"""What the rest of the server may ask of an engine, whatever runs behind it.

An engine is the tokenizer too, so that counts and prompts cannot disagree. Its outputs are the frames of
the protocol: an engine that speaks another language translates into them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Protocol, TypeAlias

from dragoman.core.limits import MAX_PROMPT_BYTES
from dragoman.core.request import Prompt, SamplingParams, TextPrompt
from dragoman.protocol.frames import Accept, Data, Done, Echo, Progress, Tool

EngineOutput: TypeAlias = Accept | Echo | Data | Tool | Progress | Done
"""One request's frames, in the order ``Accept, (Echo | Progress)*, (Data | Tool | Progress)*, Done``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialToken:
    """A control token: its id and the text that a chat template writes for it."""

    id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FillInTokens:
    """The texts of the control tokens around a gap: before what precedes it, before what follows, before what fills it (S48)."""

    prefix: str
    suffix: str
    middle: str


MAX_PIXELS: Final = MAX_PROMPT_BYTES // 3
"""Of one picture as an engine takes it, some 2,300 by 2,300: no vision tower looks closer. Whoever decodes scales down to it."""

IMAGES: Final = "images"
"""The feature of an engine that sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineImage:
    """A decoded picture: rows from the top, three bytes for each pixel. Raises ``ValueError`` where ``rgb`` has not just those bytes."""

    width: int
    height: int
    rgb: bytes = field(repr=False)

    def __post_init__(self) -> None:
        pixels = self.width * self.height if min(self.width, self.height) > 0 else 0
        if not 0 < pixels <= MAX_PIXELS or len(self.rgb) != 3 * pixels:
            raise ValueError(f"{len(self.rgb)} bytes are no picture of {self.width} by {self.height} pixels")

    @property
    def digest(self) -> str:
        """Names what is seen: equal pictures share a prefix in the cache, different ones never do."""
        return sha256(b"%d %d " % (self.width, self.height) + self.rgb).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What an engine said of itself and its model once it had loaded.

    ``features`` holds what it announced (``ids``, ``logprobs``, ``echo``, ``seed``, ``top_k``, ``min_p``, ``processors``,
    ``stop_ids``, ``grammar``, ``ignore_eos``, ``tokenize``, ``special``, ``isolation``, ``images``, ``pin``, ``cancel-in-prefill``,
    ``invariant``, ``deterministic``); absent means that it must not be asked for. ``processors`` are all that change logits or draw otherwise,
    ``min_tokens`` among them. ``fill_in`` is None where the vocabulary has no tokens for a gap.
    """

    model: str
    description: str = ""
    context_length: int
    vocabulary_size: int
    slots: int
    architecture: str = ""
    chat_template: str | None = None
    special_tokens: tuple[SpecialToken, ...] = ()
    bos_token: str | None = None
    eos_token: str | None = None
    fill_in: FillInTokens | None = None
    features: frozenset[str] = frozenset()
    fingerprint: str = ""
    build: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """One sequence to compute.

    ``max_tokens`` is a ceiling of at least 0, clamped by the engine to its context. Before ``min_tokens`` the model can not end it, nor
    can ``stop_token_ids``, which end it like the model's own end token and are written as the last token. ``logprobs`` is the number
    of alternatives per generated token (0 to 32; None is off); ``echo`` asks for one Echo per prompt position, with as many as it
    says. ``grammar`` is Lark as llguidance reads it; the generated tokens are a sentence of it, or the beginning of one that the budget
    cut. ``slot`` is the admission slot, 0 to ``EngineInfo.slots`` - 1. Requests share cached prefixes only within one ``isolation`` key.

    Three ask for what the older form of the protocol does not tell: ``token_ids`` for the ids of the generated tokens,
    ``special_tokens`` for control tokens among them, and ``reports``, where the engine can, for how far the prefill is, how much of the
    prompt was cached, and why not more.

    ``images`` are the pictures of ``prompt.images`` in their order: one for each place there. The text has no marker for them, so nobody can
    write one. ``keep_prefix`` asks that this prompt leaves the cache after others do; an engine that can not (``pin``) is not asked.
    """

    prompt: Prompt
    max_tokens: int
    sampling: SamplingParams
    min_tokens: int = 0
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    grammar: str | None = None
    logprobs: int | None = None
    echo: int | None = None
    token_ids: bool = False
    special_tokens: bool = False
    reports: bool = False
    slot: int = 0
    isolation: str = ""
    images: tuple[EngineImage, ...] = ()
    keep_prefix: bool = False


class EngineStream(Protocol):
    """The outputs of one request. Iteration raises ``ServiceError`` where the engine failed it."""

    def __aiter__(self) -> AsyncIterator[EngineOutput]:
        """Yield the frames; the last is ``Done``."""
        ...

    async def stop(self) -> None:
        """Finish early and keep what was generated; ``Done`` follows. No effect after it."""
        ...

    async def aclose(self) -> None:
        """Cancel if still running. Safe to call twice, and after the end."""
        ...


class Engine(Protocol):
    """A running model."""

    @property
    def info(self) -> EngineInfo:
        """The model; raises ``EngineFailed`` before the first load."""
        ...

    @property
    def status(self) -> str:
        """``loading``, ``ready`` or ``failed``."""
        ...

    @property
    def failure(self) -> str | None:
        """Why the engine is not ready, for people; None when it is."""
        ...

    async def start(self) -> None:
        """Load the model; raises ``EngineFailed`` when it cannot."""
        ...

    async def submit(self, request: EngineRequest) -> EngineStream:
        """Hand a request over; its first output is ``Accept``. Raises ``ServiceError`` when it cannot be sent."""
        ...

    async def tokenize(self, prompt: TextPrompt, images: tuple[EngineImage, ...] = ()) -> tuple[int, ...]:
        """Token ids of a text, exactly as ``submit`` would see them. Each position of a picture is ``EngineInfo.vocabulary_size``."""
        ...

    async def detokenize(self, ids: tuple[int, ...], *, special: bool = True) -> tuple[bytes, ...]:
        """The bytes of each id; control tokens are empty unless ``special``. Raises ``InvalidRequest`` on unknown ids."""
        ...

    async def aclose(self) -> None:
        """Let running requests end for a while, then stop the engine."""
        ...
