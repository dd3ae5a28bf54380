"""A dialect made of a model's own template and of what its family declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar, overload

from dragoman.core.request import Conversation, OutputFormat, TextPrompt, ToolMode
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import AnswerGrammar, Thought, offered
from dragoman.dialects.lark import Lark
from dragoman.dialects.machine import Machine
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Table
from dragoman.dialects.template import ChatTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyDialect:
    """Renders with the model's template, and reads and constrains answers by the family's syntax.

    ``reasons``: this model of the family does, as far as its template tells.
    """

    name: str
    template: ChatTemplate
    clock: Callable[[], datetime]
    syntax: Syntax
    lark: Lark
    reasons: bool
    calling: Table
    silent: Table

    @property
    def stops(self) -> tuple[str, ...]:
        """The family's."""
        return self.syntax.stops

    def render(self, conversation: Conversation) -> TextPrompt:
        """Write the prompt, dated by the clock; raises ``InvalidRequest`` as ``ChatTemplate.render`` does."""
        return self.template.render(self.syntax.asking(conversation), now=self.clock())

    def ignores(self, conversation: Conversation) -> tuple[str, ...]:
        """What the template does not read or cannot do, and a budget for reasoning where there is none."""
        unread = self.template.ignores(self.syntax.asking(conversation), now=self.clock())
        wanted = conversation.thinking.budget is not None
        return (*unread, "thinking_budget") if wanted and not self._bounds_thoughts else unread

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """See ``AnswerGrammar.text``."""
        return AnswerGrammar(
            tools=offered(conversation.tools, conversation.tool_choice),
            choice=conversation.tool_choice,
            output=output,
            written=self.syntax.written,
            thought=self._thought(conversation, prompt),
            said="" if prompt.text.endswith(self.syntax.said) else self.syntax.said,
            shut=self.syntax.shut,
            lark=self.lark,
        ).text()

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> Machine:
        """A new parser for one answer. Without tools that may be called, what looks like a call is text."""
        tools = offered(conversation.tools, conversation.tool_choice)
        return Machine(
            self.calling if tools else self.silent,
            start=self.syntax.start(conversation, prompt),
            tools=tools,
            declared_only=self.syntax.declared_only,
            must_call=bool(tools) and conversation.tool_choice.mode is ToolMode.REQUIRED,
        )

    @property
    def _bounds_thoughts(self) -> bool:
        """Whether a budget for reasoning can be kept: only one token can end it at any place."""
        think = self.syntax.think
        return self.reasons and think is not None and self.lark.one_token(think[1]) is not None

    def _thought(self, conversation: Conversation, prompt: TextPrompt) -> Thought | None:
        """The reasoning that may come first."""
        start = self.syntax.start(conversation, prompt)
        may_begin = start == "start" and self.reasons
        if self.syntax.think is None or not (may_begin or start in {"thinking", "reasoning"}):
            return None
        opener, closer = self.syntax.think
        budget = conversation.thinking.budget if self._bounds_thoughts else None
        return Thought(opener=opener, closer=closer, is_open=start != "start", budget=budget)


Variant = TypeVar("Variant", bound=FamilyDialect)


@overload
def build_family(traits: ModelTraits, syntax: Syntax, *, name: str) -> FamilyDialect: ...


@overload
def build_family(traits: ModelTraits, syntax: Syntax, *, name: str, dialect: type[Variant]) -> Variant: ...


def build_family(
    traits: ModelTraits, syntax: Syntax, *, name: str, dialect: type[FamilyDialect] = FamilyDialect
) -> FamilyDialect:
    """``dialect`` is a family's own variant, where a syntax does not say all.

    Raises ``ValueError`` when the model has no template, or one that is broken.
    """
    if traits.template is None:
        raise ValueError(f"the dialect {name!r} needs a chat template, and the model has none")
    template = ChatTemplate(
        traits.template,
        bos_token=traits.bos_token,
        eos_token=traits.eos_token,
        specials=traits.specials,
        strict=traits.strict_messages,
    )
    return dialect(
        name=name,
        template=template,
        clock=traits.clock,
        syntax=syntax,
        lark=Lark(traits.specials, traits.special_ids, single=traits.single_ids, spaced=template.spaces_json),
        reasons=syntax.think is not None and any(tag in traits.template for tag in syntax.think),
        calling=syntax.table_for(calls=True),
        silent=syntax.table_for(calls=False),
    )
