"""A scripted engine that speaks the real protocol, for tests of everything above an engine. Ships with the package.

    engine = SimulatedEngine(tapes({"weather": [Begin(), *say("Rain"), Exit(-9)]}), clock=FakeClock())
    await engine.start()

``python -m dragoman.engines.simulated`` runs the same thing as a child process.
"""

from __future__ import annotations

from dragoman.engines.clock import FakeClock
from dragoman.engines.simulated.engine import CHAT_TEMPLATE, INFO, SEEING, STAT, SimulatedEngine, modern, old
from dragoman.engines.simulated.link import SimulatedLink, SimulatedLinks
from dragoman.engines.simulated.tape import (
    Begin,
    CloseInput,
    Delay,
    Emit,
    Exit,
    Fail,
    Hang,
    Hold,
    Raw,
    Say,
    Script,
    SimulatedRequest,
    Startup,
    Step,
    canned,
    say,
    tapes,
)

__all__ = [
    "CHAT_TEMPLATE",
    "INFO",
    "SEEING",
    "STAT",
    "Begin",
    "CloseInput",
    "Delay",
    "Emit",
    "Exit",
    "Fail",
    "FakeClock",
    "Hang",
    "Hold",
    "Raw",
    "Say",
    "Script",
    "SimulatedEngine",
    "SimulatedLink",
    "SimulatedLinks",
    "SimulatedRequest",
    "Startup",
    "Step",
    "canned",
    "modern",
    "old",
    "say",
    "tapes",
]
