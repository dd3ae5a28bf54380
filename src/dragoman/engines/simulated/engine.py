"""An ``Engine`` whose answers are written down: the real client over the real protocol, without a model or a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from dragoman.engines.base import IMAGES, EngineInfo
from dragoman.engines.client import EngineClient, Patience
from dragoman.engines.clock import Clock, LoopClock
from dragoman.engines.description import describe
from dragoman.engines.restart import RestartPolicy
from dragoman.engines.simulated.link import SimulatedLinks
from dragoman.engines.simulated.tape import Say, Script, Startup, Step, canned
from dragoman.engines.simulated.vocabulary import FILL_IN, PIECES, SPECIAL
from dragoman.protocol.frames import Caps, LoadProgress, Model, Ready, Telemetry

CHAT_TEMPLATE: Final = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

INFO: Final = EngineInfo(
    model="simulated",
    description="Answers from a script; for tests and for measuring everything but a model.",
    context_length=4096,
    vocabulary_size=len(PIECES),
    slots=4,
    architecture="simulated",
    chat_template=CHAT_TEMPLATE,
    special_tokens=SPECIAL,
    eos_token="<|im_end|>",  # noqa: S106 - a token, but no secret
    fill_in=FILL_IN,
    features=frozenset(
        {
            "ids",
            "logprobs",
            "echo",
            "seed",
            "top_k",
            "min_p",
            "processors",
            "stop_ids",
            "grammar",
            "ignore_eos",
            "isolation",
            "tokenize",
            "special",
            "cancel-in-prefill",
            "deterministic",
        }
    ),
    fingerprint="simulated-1",
)
"""What the engine says of itself; replace fields of it to say something else."""

SEEING: Final = replace(INFO, features=INFO.features | {IMAGES, "pin"})
"""The same, of an engine that sees: every picture is four positions of the context."""

STAT: Final = Telemetry("STAT", True, "0 0.000 0.0 0.00 0 0")


def modern(info: EngineInfo = INFO) -> Startup:
    """An engine with extensions, that loads at once."""

    def startup(_spawn: int) -> Iterator[Step]:
        yield Say(LoadProgress(1.0, "script"))
        yield Say(Ready())
        yield Say(Caps({"ext": "1", "vision": "1"} if IMAGES in info.features else {"ext": "1"}))
        yield Say(Model(describe(info)))
        yield Say(STAT)

    return startup


def old(_spawn: int) -> Iterator[Step]:
    """An engine that knows no extension and says nothing of itself: the client needs ``defaults`` for it."""
    yield Say(Ready())
    yield Say(STAT)


class SimulatedEngine(EngineClient):
    """An engine that follows ``script``; ``links`` has what it was sent, one link for each time it was started.

    ``startup`` gives the steps of loading, ``clock`` the time of the client and of the script alike. Start it, and close it.
    """

    def __init__(  # noqa: PLR0913 - the client's arguments and its own
        self,
        script: Script | None = None,
        *,
        info: EngineInfo = INFO,
        slots: int | None = None,
        startup: Startup | None = None,
        clock: Clock | None = None,
        patience: Patience | None = None,
        restarts: RestartPolicy | None = None,
        on_progress: Callable[[float, str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> None:
        info = info if slots is None else replace(info, slots=slots)
        clock = clock or LoopClock()
        self.links = SimulatedLinks(info, script or canned(), startup or modern(info), clock=clock)
        super().__init__(
            self.links,
            defaults=info,
            clock=clock,
            patience=patience,
            restarts=restarts,
            on_progress=on_progress,
            on_restart=on_restart,
        )
