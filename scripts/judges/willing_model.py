"""An engine that calls the first tool of its prompt with whatever its schema requires, and answers anything else in the canned words.

dragoman serve --engine-command "python scripts/judges/willing_model.py --think"
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from clients.scripted_model import TEMPLATE
from dragoman.core.request import ToolCall
from dragoman.dialects.tool_prompt import TAGS
from dragoman.engines.simulated import SEEING, Begin, Delay, Emit, Script, SimulatedRequest, Step, canned, say
from dragoman.engines.simulated.child import run
from dragoman.engines.simulated.vocabulary import ANSWER, IM_END, PIECES

THOUGHT: Final = "<think>\nThey want something.\n</think>\n\n"


_VALUES: Final[dict[str, Any]] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
"""Of each type; anything else is a string."""


def willing(*, think: bool) -> Script:
    """The script; ``think`` puts a thought before every answer."""
    otherwise = canned()

    def script(request: SimulatedRequest) -> Iterator[Step]:
        call = _call(request.text)
        if call is None and not think:
            yield from otherwise(request)
            return
        yield Begin()
        for step in say((THOUGHT if think else "") + (call or ANSWER)):
            yield step
            yield Delay()
        yield Emit(PIECES[IM_END], IM_END)

    return script


def _call(prompt: str) -> str | None:
    """A call of the first tool; None where there is none, or it was called in this turn."""
    before, how, _ = prompt.partition(TAGS.how)
    if not how or "<tool_response>" in prompt.rpartition("<|im_start|>user\n")[2]:
        return None
    tool = next(filter(None, map(_tool, before.splitlines())), None)
    if tool is None:
        return None
    schema = tool.get("parameters", {})
    properties = schema.get("properties", {})
    arguments = {name: _value(properties.get(name, {})) for name in schema.get("required", [])}
    return TAGS.calls([ToolCall(id="0", name=tool["name"], arguments=json.dumps(arguments))])


def _tool(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "name" in found else None


def _value(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "anything"
    if "enum" in schema:
        return schema["enum"][0]
    return _VALUES.get(str(schema.get("type")), "anything")


def main() -> None:
    """Serve one session over stdin and stdout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--think", action="store_true", help="think before every answer")
    options = parser.parse_args()
    run(
        willing(think=options.think),
        replace(SEEING, model="willing", chat_template=TEMPLATE, slots=32, context_length=65536),
    )


if __name__ == "__main__":
    main()
