"""A model that does as it is told: the lines of the last turn are what it thinks, calls and says. For tests through real clients.

    think They want the weather.
    call get_weather {"city": "Paris"}
    wait 0.5
    say Here you are.
    die

Told nothing, it says ``HELLO``; given the result of a tool, it repeats it. It writes calls as the dialect of ChatML asks for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from dragoman.engines.simulated import Begin, Delay, Emit, Exit, SimulatedRequest, Step, say
from dragoman.engines.simulated.vocabulary import IM_END, PIECES

HELLO = "Hello. What can I do for you?"

_ORDER = re.compile(r"^(think|call|wait|say|die)\b ?(.*)$", re.MULTILINE)
_RESULT = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)


def told(result: str) -> str:
    """What the model says of a tool's result."""
    return f"The tool says: {result}"


def obedient(request: SimulatedRequest) -> Iterator[Step]:
    """The script of an engine whose prompts are ChatML's."""
    yield Begin()
    turn = request.text.rpartition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]
    for step in _steps(turn):
        yield step
        yield Delay()  # other requests have their turn, and the client sees pieces
    yield Emit(PIECES[IM_END], IM_END)


def _steps(turn: str) -> Iterator[Step]:
    if results := _RESULT.findall(turn):
        yield from say(told(", ".join(results)))
        return
    orders = _ORDER.findall(turn)
    if not orders:
        yield from say(HELLO)
    for order, words in orders:
        match order:
            case "think":
                yield from say(f"<think>{words}</think>")
            case "call":
                name, _, arguments = words.partition(" ")
                call = {"name": name, "arguments": json.loads(arguments)}
                yield from say(f"<tool_call>\n{json.dumps(call)}\n</tool_call>")
            case "wait":
                yield Delay(float(words))
            case "say":
                yield from say(words)
            case _:
                yield Exit(-9)
