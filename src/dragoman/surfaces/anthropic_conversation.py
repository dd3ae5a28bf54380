"""What the turns of a Messages request mean together: a conversation, with the tools that may be called in its answer.

Generation and counting read a conversation here and nowhere else, so a count is of the prompt that is answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from dragoman.core.request import Conversation, ImagePart, Message, Part, Role, TextPart, ToolCall
from dragoman.surfaces.anthropic_cache import CACHE_CONTROL
from dragoman.surfaces.anthropic_content import Block, Thought, ToolReference, ToolResult
from dragoman.surfaces.anthropic_thinking import thinking
from dragoman.surfaces.anthropic_tools import TOOLS, Catalogue, definition, tooling
from dragoman.surfaces.anthropic_turns import MESSAGES, SYSTEM, Turn
from dragoman.surfaces.anthropic_volatile import steady
from dragoman.surfaces.fields import Form
from dragoman.surfaces.images import check_images
from dragoman.surfaces.openai_conversation import CHAT_TEMPLATE_KWARGS, check_continuable
from dragoman.surfaces.readers import Place

_NOTHING_SAID: Final = Message(role=Role.ASSISTANT)


def conversation(form: Form, *, keep_volatile: bool = False) -> tuple[Conversation, bool]:
    """The conversation of a body, and whether its client named the one tool that must be called.

    ``keep_volatile`` leaves in system texts what ``anthropic_volatile`` would leave out. Raises ``InvalidRequest`` naming the field.
    """
    turns, catalogue = form.require(MESSAGES), form.read(TOOLS, Catalogue())
    script = _Script(catalogue=catalogue, keep_volatile=keep_volatile)
    messages = [*script.system(form.read(SYSTEM, ()), form.place(SYSTEM))]
    for turn in _lasting(turns):
        messages += script.turn(turn)
    check_images(messages, form.place(MESSAGES))
    form.read(CACHE_CONTROL, None)  # for its faults; ``has_breakpoint`` finds it with all others
    offer = tooling(form, catalogue, frozenset(_found(turns)))
    last = turns[-1]
    if last.role is Role.ASSISTANT and messages[-1] == _NOTHING_SAID:
        messages.pop()  # the answer begins where it would
    continued = last.role is Role.ASSISTANT and bool(messages) and messages[-1].role is Role.ASSISTANT
    if continued:
        _check_prefill(messages, last.place, tools_field=TOOLS.name if offer.tools else None)
    prompt = Conversation(
        messages=tuple(messages),
        tools=offer.tools,
        tool_choice=offer.choice,
        continue_final=continued,
        thinking=thinking(form),
        template_args=form.read(CHAT_TEMPLATE_KWARGS, {}),
    )
    return prompt, offer.named


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    """Turns as messages."""

    catalogue: Catalogue
    keep_volatile: bool

    def system(self, texts: Sequence[str], at: Place) -> Iterator[Message]:
        """One message, or none where there is no text."""
        kept = texts if self.keep_volatile else [steady(text, at) for text in texts]
        parts = tuple(TextPart(text=text) for text in kept if text)
        if parts:
            yield Message(role=Role.SYSTEM, parts=parts)

    def turn(self, turn: Turn) -> Iterator[Message]:
        """The messages that a turn becomes."""
        match turn.role:
            case Role.USER:
                yield from self._user(turn.blocks)
            case Role.ASSISTANT:
                yield from self._assistant(turn.blocks)
            case _:
                texts = [part.text for part in self._parts(turn.blocks) if isinstance(part, TextPart)]
                yield from self.system(texts, turn.place)

    def _user(self, blocks: Sequence[Block]) -> Iterator[Message]:
        """The results, behind the calls that they answer, and then what the user says."""
        results = [block for block in blocks if isinstance(block, ToolResult)]
        yield from map(self._result, results)
        said = self._parts(blocks)
        if said or not results:
            yield Message(role=Role.USER, parts=said)

    def _assistant(self, blocks: Sequence[Block]) -> Iterator[Message]:
        """One message; where a hosted tool answered in between, one before and one after."""
        spoken: list[Block] = []
        for block in blocks:
            if isinstance(block, ToolResult):
                if spoken:
                    yield self._spoken(spoken)
                yield self._result(block)
                spoken = []
            else:
                spoken.append(block)
        if spoken or not blocks:
            yield self._spoken(spoken)

    def _spoken(self, blocks: Sequence[Block]) -> Message:
        thoughts = [block.text for block in blocks if isinstance(block, Thought) and block.text]
        return Message(
            role=Role.ASSISTANT,
            parts=self._parts(blocks),
            reasoning="\n\n".join(thoughts) or None,
            tool_calls=tuple(block for block in blocks if isinstance(block, ToolCall)),
        )

    def _result(self, result: ToolResult) -> Message:
        return Message(role=Role.TOOL, parts=self._parts(result.content), tool_call_id=result.call)

    def _parts(self, blocks: Sequence[Block]) -> tuple[Part, ...]:
        parts: list[Part] = []
        for block in blocks:
            match block:
                case TextPart() | ImagePart():
                    parts.append(block)
                case ToolReference():
                    parts.append(TextPart(text=("\n" if parts else "") + self._definition(block)))
                case Thought() | ToolCall() | ToolResult():
                    pass
                case _:
                    assert_never(block)
        return tuple(parts)

    def _definition(self, reference: ToolReference) -> str:
        tool = self.catalogue.spec(reference.name)
        if tool is None:
            raise reference.place.wrong(f"{reference.place.path} names {reference.name}, which is none of the tools")
        return definition(tool)


def _lasting(turns: Sequence[Turn]) -> list[Turn]:
    """The turns that are still to be shown."""
    last_user = max((index for index, turn in enumerate(turns) if turn.role is Role.USER), default=-1)
    return [turn for index, turn in enumerate(turns) if not (turn.fleeting and index < last_user)]


def _found(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        for block in turn.blocks:
            for part in block.content if isinstance(block, ToolResult) else (block,):
                if isinstance(part, ToolReference):
                    yield part.name


def _check_prefill(messages: Sequence[Message], at: Place, *, tools_field: str | None) -> None:
    if messages[-1].tool_calls:
        raise at.wrong(f"{at.path} calls tools, and the message after it must hold their results")
    check_continuable(messages, path=at.path, tools_field=tools_field)
