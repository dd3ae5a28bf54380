"""Transformers renders conversations with the chat templates of some seventy models; so must we, byte for byte.

Also counted: what Transformers cannot render, and we can after a repair.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from environment import Judges

from dragoman.core.errors import InvalidRequest
from dragoman.core.request import Conversation, Message, Role, TextPart, ToolCall, ToolSpec
from dragoman.dialects.runner import TemplateRunner
from dragoman.dialects.template import ChatTemplate

RENDERER: Final = Path(__file__).with_name("transformers_renders.py")
NOON: Final = datetime(2026, 3, 9, 12, tzinfo=UTC)

EXPECTED: Final = {
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "as Transformers passes an earlier call, its template leaves it out",
}
"""Templates with which prompts must differ where there are calls, and why."""

_BOS: Final = "<s>"
_EOS: Final = "</s>"

_CITY: Final = {"city": 'Zürich "am See"\n<b>', "days": 2, "near": None, "box": {"s": 1.5}, "units": ["C", "F"]}
_TOOLS: Final = (
    ToolSpec(
        name="get_weather",
        description='The <weather> of a "city".',
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "A place, e.g. Zürich"},
                "days": {"type": "integer", "minimum": 1},
                "units": {"type": "array", "items": {"type": "string", "enum": ["C", "F"]}},
                "box": {"type": "object", "properties": {"s": {"type": ["number", "null"]}}},
            },
            "required": ["city"],
        },
    ),
    ToolSpec(name="now", description="The time.", parameters={"type": "object", "properties": {}}),
)


def _turn(role: Role, text: str, *calls: ToolCall, of: str | None = None, thought: str | None = None) -> Message:
    parts = (TextPart(text=text),) if text else ()
    return Message(role=role, parts=parts, tool_calls=calls, tool_call_id=of, reasoning=thought)


def _conversations() -> dict[str, Conversation]:
    system, user, assistant, tool = Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL
    weather = ToolCall(id="call00001", name="get_weather", arguments=json.dumps(_CITY))
    now = ToolCall(id="call00002", name="now", arguments="{}")
    brief, ask, thanks = _turn(system, "Be brief."), _turn(user, "  Weather?\n"), _turn(user, "Thanks")
    one = (ask, _turn(assistant, "I look.", weather), _turn(tool, '{"t": 21}', of=weather.id))
    two = (
        ask,
        _turn(assistant, "", weather, now),
        _turn(tool, "21", of=weather.id),
        _turn(tool, "noon", of=now.id),
        _turn(assistant, "21 at noon."),
        thanks,
    )
    return {
        "a question": Conversation(messages=(ask,)),
        "turns": Conversation(messages=(brief, ask, _turn(assistant, "Fine."), thanks)),
        "tools": Conversation(messages=(brief, ask), tools=_TOOLS),
        "one call": Conversation(messages=one, tools=_TOOLS),
        "two calls": Conversation(messages=(brief, *two), tools=_TOOLS),
        "calls without tools": Conversation(messages=two),
        "a call after reasoning": Conversation(
            messages=(ask, _turn(assistant, "", weather, thought="A tool\nknows."), *one[2:], thanks), tools=_TOOLS
        ),
        "earlier reasoning": Conversation(messages=(ask, _turn(assistant, "Fine.", thought="Easy."), thanks)),
        "two questions": Conversation(messages=(ask, thanks)),
        "two systems": Conversation(messages=(brief, ask, _turn(assistant, "Fine."), _turn(system, "Go on."), thanks)),
    }


def judge(judges: Judges, _url: str, _model: Path, folder: Path) -> list[str]:
    """Prompts that differ from those of Transformers, and templates that we cannot load."""
    chats = _conversations()
    templates = {path.stem: path.read_text(encoding="utf-8") for path in sorted(judges.templates.glob("*.jinja"))}
    cases = {name: {"messages": _messages(chat), "tools": _tools(chat)} for name, chat in chats.items()}
    asked, answered = folder / "cases.json", folder / "renders.json"
    asked.write_text(json.dumps({"templates": templates, "cases": cases, "now": NOON.isoformat()}), encoding="utf-8")
    done = judges.run(RENDERER, asked, answered, cwd=folder)
    if done.returncode:
        return [done.stdout]
    renders = json.loads(answered.read_text(encoding="utf-8"))
    faults, counts = [], Counter[str]()
    for name, source in templates.items():
        runner = TemplateRunner(source, bos_token=_BOS, eos_token=_EOS, specials=())
        repairing = ChatTemplate(source, bos_token=_BOS, eos_token=_EOS, specials=())
        for case, chat in chats.items():
            expected = renders[name][case]
            outcome = "as Transformers" if expected == _written(runner, chat) else "otherwise"
            if expected is None:
                outcome = "refused by both" if _repaired(repairing, chat) is None else "ours alone"
            elif outcome == "otherwise" and name in EXPECTED and "call" in case:
                outcome = "otherwise, as expected"
            elif outcome == "otherwise":
                faults.append(f"{name}: {case}")
            counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return faults if templates else [f"there are no templates in {judges.templates}"]


def _written(runner: TemplateRunner, chat: Conversation) -> str | None:
    try:
        return runner.write(chat, now=NOON).prompt.text
    except InvalidRequest:
        return None


def _repaired(template: ChatTemplate, chat: Conversation) -> str | None:
    try:
        return template.render(chat, now=NOON).text
    except InvalidRequest:
        return None


def _messages(chat: Conversation) -> list[dict[str, object]]:
    """As a client of Transformers writes them."""
    shaped = []
    for message in chat.messages:
        one: dict[str, object] = {"role": message.role.value, "content": message.text}
        if message.reasoning is not None:
            one["reasoning_content"] = message.reasoning
        if message.tool_calls:
            one["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.loads(call.arguments)},
                }
                for call in message.tool_calls
            ]
        if message.tool_call_id is not None:
            one["tool_call_id"] = message.tool_call_id
        shaped.append(one)
    return shaped


def _tools(chat: Conversation) -> list[dict[str, object]] | None:
    shaped: list[dict[str, object]] = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in chat.tools
    ]
    return shaped or None
