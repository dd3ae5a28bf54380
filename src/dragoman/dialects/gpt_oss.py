"""gpt-oss, which writes messages with headers (Harmony).

    <|channel|>analysis<|message|>I need the weather.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather
    <|constrain|>json<|message|>{"city":"Paris"}<|call|>

(one line in truth). ``analysis`` is thought and ``final`` is said; ``commentary`` is said, too, where it is to nobody. The recipient may
stand before the channel, and the prompt ends where the header begins. What goes to a tool that no client declared, such as the model's
own ``python``, is thought. The tokens are read here rather than by OpenAI's library, which drops markup, so that tokens could not be
found again in the text, and wants its vocabulary from the network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dragoman.core.grammar import rule_of
from dragoman.core.request import Conversation, OutputFormat, TextPrompt, ToolMode, ToolSpec
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import ANYTHING, arguments_value, offered
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Control, Edge, Holds, State, Table, Terminal

_START, _CHANNEL, _MESSAGE = Control("<|start|>"), Control("<|channel|>"), Control("<|message|>")
_CONSTRAIN, _CALL, _RETURN = Control("<|constrain|>"), Control("<|call|>"), Control("<|return|>")

_MESSAGE_ENDS: Final[dict[Terminal, Edge]] = {
    "<|end|>": Edge("between"),  # llama.cpp takes it for text, so that it does not end the answer
    _RETURN: Edge("between"),
    _CALL: Edge("between"),
    _START: Edge("role"),
}


def _table(*, calls: bool) -> Table:
    """Headers and messages. Without ``calls`` nobody is there to be called."""
    recipient: dict[Terminal, Edge] = {"to=": Edge("stranger")}
    if calls:
        recipient["to=functions."] = Edge("recipient")
    header: dict[Terminal, Edge] = {**recipient, _CHANNEL: Edge("channel"), _MESSAGE: Edge("text")}
    again: dict[Terminal, Edge] = {_START: Edge("role")}
    body: dict[Terminal, Edge] = {_MESSAGE: Edge("arguments")}
    syntax = Holds.SYNTAX
    return Table(
        {
            "start": State(holds=Holds.SPACE, edges={**header, **again}, otherwise="text"),
            "role": State(holds=syntax, edges=header),
            "channel": State(
                holds=syntax,
                edges={
                    "analysis": Edge("analysis"),
                    "commentary": Edge("commentary"),
                    **recipient,
                    _MESSAGE: Edge("text"),
                },
            ),
            "analysis": State(holds=syntax, edges={**recipient, _MESSAGE: Edge("reasoning")}),
            "commentary": State(holds=syntax, edges={**recipient, _MESSAGE: Edge("text")}),
            "reasoning": State(holds=Holds.REASONING, edges=_MESSAGE_ENDS),
            "text": State(holds=Holds.TEXT, edges=_MESSAGE_ENDS),
            "stranger": State(holds=syntax, edges={_MESSAGE: Edge("reasoning"), **again}),
            "recipient": State(
                holds=Holds.NAME, edges={" ": Edge("kind"), _CHANNEL: Edge("kind"), _CONSTRAIN: Edge("kind"), **body}
            ),
            "kind": State(holds=syntax, edges={**body, **again}),
            "arguments": State(
                holds=Holds.BODY,
                body=lambda _: JsonArguments(),
                then=Edge("between", ends=True),
                edges={_CALL: Edge("between"), **again},
            ),
            "between": State(holds=syntax, edges=again),
        }
    )


_EFFORTS: Final = {"none": "low", "minimal": "low", "xhigh": "high", "max": "high"}


def asked(conversation: Conversation) -> Conversation:
    """The model knows low, medium and high; it always thinks, and least where it shall not."""
    thinking = conversation.thinking
    effort = thinking.effort and _EFFORTS.get(thinking.effort, thinking.effort)
    if thinking.enabled is False:
        effort = "low"
    return replace(conversation, thinking=replace(thinking, enabled=None, effort=effort))


SYNTAX: Final = Syntax(table=_table(calls=True), silent=_table(calls=False), think=None, asking=asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmonyDialect(FamilyDialect):
    """Holds whole messages to a grammar: thoughts and preambles, as many as there are, and then the answer or a call."""

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """One call at most, since the token behind it ends the answer. Raises ``Unsupported`` as ``arguments_value`` does."""
        tools = offered(conversation.tools, conversation.tool_choice)
        if not tools and output is None:
            return None
        said = ANYTHING if output is None else "output"
        rules = [] if output is None else [rule_of(output, "output")]
        if self.syntax.start(conversation, prompt) == "text":
            return "".join([f"start: {said}\n", *rules])
        rules += [self._call(place, tool) for place, tool in enumerate(tools)]
        last = [f"call_{place}" for place in range(len(tools))]
        if not (tools and conversation.tool_choice.mode is ToolMode.REQUIRED):
            rules.append(f"final: {self._channel('final')} {said}\n")
            last.append("final")
        before = "thought" if output is not None else "(thought | preamble)"
        return "".join([f"start: {before}* ({' | '.join(last)})\n", self._thoughts(), *rules])

    def _thoughts(self) -> str:
        """Messages with others behind them."""
        told = f"told{'' if self.lark.is_control('<|end|>') else '[lazy]'}: {ANYTHING} {self.lark.text('<|end|>')}\n"
        again = self.lark.text("<|start|>assistant")
        return (
            f"thought: {self._channel('analysis')} told {again}\n"
            f"preamble: {self._channel('commentary')} told {again}\n"
            f"{told}"
        )

    def _call(self, place: int, tool: ToolSpec) -> str:
        """The recipient stands before the channel as in past calls, or behind it as the model was taught."""
        text, name = self.lark.text, f"functions.{tool.name}"
        headers = (f" to={name}<|channel|>commentary json", f"<|channel|>commentary to={name} <|constrain|>json")
        return f"call_{place}: ({' | '.join(map(text, headers))}) {text('<|message|>')} {arguments_value(tool, self.lark)}\n"

    def _channel(self, name: str) -> str:
        return self.lark.text(f"<|channel|>{name}<|message|>")


def build(traits: ModelTraits) -> HarmonyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="gpt_oss", dialect=HarmonyDialect)
