"""Each tape is one answer: what the engine side said, and the exact bytes that a client then reads.

A line of a tape is one of

    # remark
    surface chat | completions | messages
    request {...}                 the body that was parsed
    stamp id created model [fingerprint]
    > accepted prompt cached      an event; one of a choice has its index behind an @, such as text@1
    > read "..." [token...]       the prompt: its text where it is echoed, its tokens
    > text "..." [token...]       tokens are {"id", "text", "logprob"}, with "data" (hexadecimal) where the bytes are not the text's,
    > reasoning "..." [token...]  "top" ([id, text, logprob] of each alternative) and "visibility" where there are any
    > call number name            a call begins,
    > arguments number "..."      goes on,
    > called number               and is whole
    > ended reason [stop] [#generated]
    > finished prompt completion cached reasoning
    > failed Kind code message    a failure after the commit
    < data: ...                   one server-sent event that the event above caused, without its blank line,
    < name: data: ...             and one that has a name
    = {...}                       the buffered object
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest

from dragoman.core import errors
from dragoman.core.events import (
    Accepted,
    Alternative,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    PromptRead,
    ReasoningDelta,
    TextDelta,
    TokenRecord,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
    Visibility,
)
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.base import Projector, Stamp, Surface
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions

SURFACES: dict[str, Surface] = {"chat": ChatCompletions(), "completions": Completions(), "messages": Messages()}
TAPES = sorted(Path(__file__).parent.glob("tapes/*.tape"))


class Player:
    """Plays a tape's events, and writes the tape again as it should be."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._surface: Surface | None = None
        self._body: dict = {}
        self._projector: Projector | None = None

    def play(self, line: str) -> None:
        if line.startswith("<"):
            return
        word, _, rest = line.partition(" ")
        match word:
            case "surface":
                self._surface = SURFACES[rest]
            case "request":
                self._body = msgspec.json.decode(rest)
            case "stamp":
                id_, created, model, *fingerprint = rest.split()
                stamp = Stamp(id=id_, created=int(created), model=model, fingerprint=next(iter(fingerprint), None))
                surface = cast("Surface", self._surface)
                self._projector = surface.projector(surface.parse(self._body), stamp)
            case ">":
                self.lines.append(line)
                self.lines += [self._shown(event.encode()) for event in self._cause(rest)]
                return
            case "=":
                line = "= " + msgspec.json.encode(cast("Projector", self._projector).result()).decode()
        self.lines.append(line)

    def _cause(self, event: str):
        projector = cast("Projector", self._projector)
        word, _, rest = event.partition(" ")
        if word == "failed":
            kind, code, message = rest.split(" ", 2)
            return projector.fail(getattr(errors, kind)(message, code=errors.Code(code)))
        return projector.feed(parsed(word, rest))

    @staticmethod
    def _shown(data: bytes) -> str:
        *name, line = data.removesuffix(b"\n\n").split(b"\n")
        assert data.endswith(b"\n\n")
        assert line.startswith(b"data: ")
        assert len(name) <= 1
        return "< " + "".join(f"{one.decode().removeprefix('event: ')}: " for one in name) + line.decode()


def parsed(word: str, rest: str) -> GenerationEvent:
    word, _, index = word.partition("@")
    choice = int(index or 0)
    match word, rest.split():
        case "accepted", [prompt, cached]:
            return Accepted(prompt_tokens=int(prompt), cached_tokens=int(cached))
        case "read", _:
            text, tokens = texts(rest)
            return PromptRead(choice=choice, text=text, tokens=tokens, ids=tuple(one.id for one in tokens))
        case "text", _:
            text, tokens = texts(rest)
            return TextDelta(choice=choice, text=text, tokens=tokens)
        case "reasoning", _:
            text, tokens = texts(rest)
            return ReasoningDelta(choice=choice, text=text, tokens=tokens)
        case "call", [number, name]:
            return ToolCallBegun(choice=choice, index=int(number), name=name)
        case "arguments", [number, *_]:
            return ToolCallArguments(choice=choice, index=int(number), text=msgspec.json.decode(rest.partition(" ")[2]))
        case "called", [number]:
            return ToolCallEnded(choice=choice, index=int(number))
        case "ended", words:
            return ended(choice, *words)
        case "finished", counts:
            prompt, completion, cached, reasoning = map(int, counts)
            usage = Usage(
                prompt_tokens=prompt,
                completion_tokens=completion,
                cached_tokens=cached,
                reasoning_tokens=reasoning,
            )
            return Finished(usage=usage)
    raise ValueError(word, rest)


def ended(choice: int, reason: str, *words: str) -> ChoiceFinished:
    """The words are a stop in JSON, and a count of tokens."""
    counts = [int(word[1:]) for word in words if word.startswith("#")]
    stops = [msgspec.json.decode(word) for word in words if not word.startswith("#")]
    return ChoiceFinished(
        choice=choice,
        reason=FinishReason(reason),
        stop=next(iter(stops), None),
        generated=next(iter(counts), 0),
    )


def texts(rest: str) -> tuple[str, tuple[TokenRecord, ...]]:
    """A JSON string, and a JSON array of tokens that may follow it."""
    text, end = json.JSONDecoder().raw_decode(rest)
    return text, tuple(token(**one) for one in json.loads(rest[end:] or "[]"))


def token(
    *,
    id: int,
    text: str,
    logprob: float | None = None,
    data: str | None = None,
    top: Sequence[tuple[int, str, float]] = (),
    visibility: str = "shown",
) -> TokenRecord:
    return TokenRecord(
        id=id,
        text=text,
        data=text.encode() if data is None else bytes.fromhex(data),
        logprob=logprob,
        alternatives=tuple(Alternative(other, name.encode(), value) for other, name, value in top),
        visibility=Visibility(visibility),
    )


@pytest.mark.seeds("S2", "S50", "S51", "S52", "S53", "S114", "S155", "S158")
@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.stem)
def test_an_answer_reads_as_its_tape(path: Path):
    tape = path.read_text(encoding="utf-8").splitlines()
    player = Player()
    for line in tape:
        player.play(line)
    assert player.lines == tape


def test_there_are_tapes_for_these_surfaces():
    heads = {line for path in TAPES for line in path.read_text().splitlines() if line.startswith("surface ")}
    assert heads == {f"surface {name}" for name in SURFACES}
