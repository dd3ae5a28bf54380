"""An engine that plays the model's part where the demo model is too small for it: it does what a scene says.

    dragoman serve --engine-command "python scripts/clients/scripted_model.py --scenes scenes.json --notes FOLDER"

A user asks for a scene by its name: ``Please look it up. [scene: bash]``. The scenes are a JSON object, of each name a ``Scene``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from dragoman.core.json import JsonObject
from dragoman.core.request import ToolCall
from dragoman.dialects.tool_prompt import TAGS
from dragoman.engines.simulated import (
    SEEING,
    Begin,
    Delay,
    Emit,
    Exit,
    Fail,
    Script,
    SimulatedRequest,
    Step,
    canned,
    say,
)
from dragoman.engines.simulated.child import run
from dragoman.engines.simulated.vocabulary import IM_END, PIECES

TEMPLATE: Final = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n"
    "{% if turn.reasoning_content %}<think>\n{{ turn.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ turn.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML with all thoughts of earlier turns, so that one that a client lost is missing in the prompt."""

_CUE: Final = re.compile(r"\[scene: ([a-z0-9-]+)\]")
_RESULT: Final = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)

QUOTED: Final = 200
"""Characters of a result, its last ones, that an answer may repeat."""

Trouble: TypeAlias = Literal["", "dies", "dies once", "fails", "overflows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the model does once a user has asked for it: ``calls``, one in each turn and each after a ``thought``, then the ``answer``.

    In the answer ``{result}`` is the end of the last call's result, ``{thoughts}`` how many of the model's thoughts came back to it, and
    ``{images}`` how many pictures the prompt has. Instead of an answer, the engine ``dies`` in the middle of it or ``fails`` there, or
    ``overflows``: says that the prompt is too long.
    """

    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str = "The result: {result}"
    trouble: Trouble = ""


def read_scenes(text: str) -> dict[str, Scene]:
    """Scenes by their names. Raises ``ValueError`` and ``TypeError`` for what is none."""
    return {name: _scene(written) for name, written in json.loads(text).items()}


def _scene(written: Mapping[str, object]) -> Scene:
    scene = Scene(**{key: value for key, value in written.items() if key != "calls"})  # type: ignore[arg-type]  # a scene is ours, and a wrong one fails at once
    calls: object = written.get("calls", [])
    if not isinstance(calls, list):
        raise TypeError(calls)
    return replace(scene, calls=tuple(_call(number, **call) for number, call in enumerate(calls)))


def _call(number: int, *, name: str, arguments: JsonObject) -> ToolCall:
    return ToolCall(id=str(number), name=name, arguments=json.dumps(arguments))


def script_of(scenes: Mapping[str, Scene], notes: Path) -> Script:
    """The model that knows these scenes. ``notes`` is a folder for what it must remember after its death.

    To a prompt that names none, or offers no tools (a title for the conversation, say), it has one answer.
    """
    otherwise = canned()

    def script(request: SimulatedRequest) -> Iterator[Step]:
        name, since = _cue(request.text)
        if name not in scenes or TAGS.how not in request.text:
            yield from otherwise(request)
            return
        scene, results = scenes[name], _RESULT.findall(since)
        if len(results) < len(scene.calls):
            yield from _written(scene, TAGS.calls([scene.calls[len(results)]]))
        elif scene.trouble and _strikes(scene.trouble, notes / name):
            yield from _troubled(scene, request)
        else:
            yield from _written(scene, _answer(scene, results, since, pictures=len(request.images)))

    return script


def _cue(prompt: str) -> tuple[str, str]:
    """The last scene that a user asked for, and what came since."""
    turns = prompt.split("<|im_start|>")
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].startswith("user\n") and (cue := _CUE.search(turns[at])):
            return cue[1], "".join(turns[at + 1 :])
    return "", ""


def _answer(scene: Scene, results: Sequence[str], since: str, *, pictures: int) -> str:
    told = {
        "{result}": " ".join(results[-1].split())[-QUOTED:] if results else "there is none",
        "{thoughts}": str(since.count("<think>")),
        "{images}": str(pictures),
    }
    answer = scene.answer
    for place, value in told.items():
        answer = answer.replace(place, value)
    return answer


def _written(scene: Scene, text: str) -> Iterator[Step]:
    yield Begin()
    thought = f"<think>\n{scene.thought}\n</think>\n\n" if scene.thought else ""
    for step in say(thought + text):
        yield step
        yield Delay()
    yield Emit(PIECES[IM_END], IM_END)


def _strikes(trouble: Trouble, note: Path) -> bool:
    if trouble != "dies once":
        return True
    struck = note.exists()
    note.touch()
    return not struck


def _troubled(scene: Scene, request: SimulatedRequest) -> Iterator[Step]:
    if scene.trouble == "overflows":
        yield Fail("CONTEXT_EXCEEDED", f"{len(request.ids)} {len(request.ids) - 1}")
        return
    yield Begin()
    for step in say("It is as follows, and"):
        yield step
        yield Delay()
    yield Fail("INTERNAL", "the scene says so") if scene.trouble == "fails" else Exit(1)


def main() -> None:
    """Serve one session over stdin and stdout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=Path, required=True, help="JSON file")
    parser.add_argument("--notes", type=Path, required=True, help="folder for what must outlive this process")
    parser.add_argument("--context", type=int, default=1_000_000, help="tokens, each a byte")
    options = parser.parse_args()
    scenes = read_scenes(options.scenes.read_text(encoding="utf-8"))
    info = replace(SEEING, model="scripted", context_length=options.context, chat_template=TEMPLATE)
    run(script_of(scenes, options.notes), info)


if __name__ == "__main__":
    main()
