"""Reads the tapes of model families; their README says what is in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dragoman.core.request import Conversation, Message, Role, TextPart, Thinking, ToolSpec
from dragoman.dialects.base import (
    CallArguments,
    CallBegun,
    CallEnded,
    Channel,
    Dialect,
    OutputParser,
    Parsed,
    Piece,
)
from dragoman.dialects.registry import dialect_for
from support.tools import TOOLS

SPLIT = "␟"
ROOT = Path(__file__).parents[1] / "golden" / "dialects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a client gets of an answer. A call is its name, its arguments' text, and whether it ended."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str, bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """One answer of a model to a question, and what must come of it."""

    family: str
    case: str
    conversation: Conversation
    output: str
    expected: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is known of a family's model before its first prompt."""

    family: str
    template: str
    specials: tuple[str, ...]
    bos_token: str = ""
    eos_token: str = ""
    architecture: str = ""
    name: str = ""
    lacks: tuple[str, ...] = field(default=())


def families() -> list[str]:
    """Every family that has tapes."""
    return sorted(path.name for path in ROOT.iterdir() if (path / "model.json").exists())


def model(family: str) -> Model:
    facts: dict[str, Any] = json.loads((ROOT / family / "model.json").read_text())
    facts = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Model(family=family, template=(ROOT / family / "template.jinja").read_text(), **facts)


def speak(family: str, name: str | None = None, *, more: tuple[str, ...] = ()) -> Dialect:
    """The family's own dialect, or the one called ``name``, for a model with the family's template, and ``more`` control tokens."""
    facts = model(family)
    specials = (*facts.specials, *more)
    return dialect_for(
        template=facts.template,
        specials=specials,
        special_ids={text: 256 + place for place, text in enumerate(specials)},  # as in support.grammars
        bos_token=facts.bos_token,
        eos_token=facts.eos_token,
        architecture=facts.architecture,
        name=name,
        clock=lambda: datetime(2026, 3, 9, tzinfo=UTC),
    )


def tapes(family: str) -> list[Tape]:
    return [_read(path) for path in sorted((ROOT / family).glob("*.tape"))]


def all_tapes() -> list[Tape]:
    return [tape for family in families() for tape in tapes(family)]


def ask(tools: Iterable[ToolSpec] = (), *, thinking: bool | None = None) -> Conversation:
    """A question with tools."""
    return Conversation(
        messages=(Message(role=Role.USER, parts=(TextPart(text="How will it be?"),)),),
        tools=tuple(tools),
        thinking=Thinking(enabled=thinking),
    )


def tokens(output: str, specials: Sequence[str]) -> list[tuple[str, bool]]:
    """The output cut at its control tokens: texts, and whether each is one."""
    known = "|".join(re.escape(text) for text in sorted(specials, key=len, reverse=True)) or "(?!)"
    parts = [(part.replace(SPLIT, ""), part in specials) for part in re.split(f"({known})", output)]
    return [(part, special) for part, special in parts if part]


def parse(parser: OutputParser, output: Iterable[tuple[str, bool]]) -> list[Parsed]:
    parsed = [part for text, special in output for part in parser.feed(text, special=special)]
    return [*parsed, *parser.finish()]


def answer(parsed: Iterable[Parsed]) -> Answer:
    texts = dict.fromkeys(Channel, "")
    calls: list[tuple[str, str, bool]] = []
    for part in parsed:
        match part:
            case Piece(channel, text):
                texts[channel] += text
            case CallBegun(name):
                calls.append((name, "", False))
            case CallArguments(text):
                name, so_far, _ = calls[-1]
                calls[-1] = (name, so_far + text, False)
            case CallEnded():
                calls[-1] = (*calls[-1][:2], True)
    return Answer(text=texts[Channel.TEXT], reasoning=texts[Channel.REASONING], calls=tuple(calls))


def _read(path: Path) -> Tape:
    head, *sections = re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    settings = {
        key.strip(): json.loads(value)
        for key, _, value in (line.partition(":") for line in head.splitlines() if line and not line.startswith("#"))
    }
    texts: dict[str, str] = {}
    calls: list[tuple[str, str, bool]] = []
    for section in sections:
        title, _, body = section.partition("\n")
        kind, _, name = title.partition(" ")
        body = body.removesuffix("\n")
        if kind in {"call", "unfinished"}:
            calls.append((name, body, kind == "call"))
        else:
            texts[kind] = body
    unknown = (settings.keys() - {"tools", "thinking"}) | (texts.keys() - {"output", "text", "reasoning"})
    assert not unknown, f"{path}: what is {unknown}?"
    tools = [TOOLS[name] for name in settings.get("tools", TOOLS)]
    return Tape(
        family=path.parent.name,
        case=path.stem,
        conversation=ask(tools, thinking=settings.get("thinking")),
        output=texts["output"],
        expected=Answer(text=texts.get("text", ""), reasoning=texts.get("reasoning", ""), calls=tuple(calls)),
    )
