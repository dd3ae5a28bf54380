"""Client libraries, each in a program of its own in ``programs/``, which says ``ok CASE`` of each thing that it got done.

A program gets two addresses without ``/v1``: that of the demo model, where a grammar forces what is asked for, and that of a model that
plays the scenes below, where it has to choose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clients.served import Served
from dragoman.core.json import JsonObject
from environments import node_with, python_with, run

HERE: Final = Path(__file__).parent
PROGRAMS: Final = HERE / "programs"
_DONE: Final = re.compile(r"^ok (.+)$", re.MULTILINE)
_WEATHER: Final[JsonObject] = {"name": "get_weather", "arguments": {"city": "Paris"}}

SCENES: Final[dict[str, JsonObject]] = {
    "weather": {"thought": "They want the weather.", "calls": [_WEATHER]},
    "dies": {"trouble": "dies"},
}
"""What a prompt can ask the playing model for: a thought, a call and its result repeated; or a death after some words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A program, and how many cases it has."""

    program: str
    cases: int


LIBRARIES: Final[dict[str, Library]] = {
    "anthropic_python": Library(program="with_anthropic.py", cases=14),
    "openai_python": Library(program="with_openai.py", cases=19),
    "langchain": Library(program="with_langchain.py", cases=24),
    "openai_agents": Library(program="with_openai_agents.py", cases=16),
    "pydantic_ai": Library(program="with_pydantic_ai.py", cases=20),
    "instructor": Library(program="with_instructor.py", cases=6),
    "litellm": Library(program="with_litellm.py", cases=12),
    "llm": Library(program="with_llm.py", cases=5),
    "anthropic_node": Library(program="with_anthropic.mjs", cases=12),
    "openai_node": Library(program="with_openai.mjs", cases=16),
    "ai_sdk": Library(program="with_ai_sdk.mjs", cases=35),
    "openai_agents_node": Library(program="with_openai_agents.mjs", cases=16),
}


def play(name: str, demo: Served, player: Served, home: Path) -> list[str]:
    """What went wrong with this one. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    library = LIBRARIES[name]
    python = python_with(HERE / "requirements.txt")
    program = PROGRAMS / library.program
    interpreter = python
    if program.suffix == ".mjs":
        node = node_with(HERE / "package.json", python)
        interpreter = node.program
        program = node.put(program)
    told = run(interpreter, program, demo.url, player.url, cwd=home, HOME=str(home), PYTHONPATH="")
    done = _DONE.findall(told.stdout)
    if told.returncode or len(done) != library.cases:
        return [f"{len(done)} of {library.cases} cases: {', '.join(done)}", told.stdout[-4000:]]
    print(", ".join(done))
    return []
