"""The dialect of a model whose family nobody knows: its chat template says how it takes turns, and calls are written in our own way.

Whether the template knows tools makes no difference. How the model would call them is not known, so they are told in texts.
Where it must call, one call is all: what was taught no calls does not know when they are enough, and goes on with the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dragoman.core.request import Conversation, OutputFormat, TextPrompt, ToolMode
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.hermes import SYNTAX
from dragoman.dialects.tool_prompt import TAGS, ToolWords, without_tools


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericDialect(FamilyDialect):
    """Renders with a template that is not told of tools, which ``words`` tell in texts."""

    words: ToolWords = TAGS

    def render(self, conversation: Conversation) -> TextPrompt:
        """Write the prompt, dated by the clock; raises ``InvalidRequest`` as ``ChatTemplate.render`` does."""
        return self.template.render(without_tools(conversation, self.words), now=self.clock())

    def ignores(self, conversation: Conversation) -> tuple[str, ...]:
        """As every family's, of the conversation without its tools."""
        return FamilyDialect.ignores(self, without_tools(conversation, self.words))

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """See ``AnswerGrammar.text``; a forced call is the only one."""
        choice = conversation.tool_choice
        if choice.mode is ToolMode.REQUIRED:
            conversation = replace(conversation, tool_choice=replace(choice, parallel=False))
        return FamilyDialect.grammar(self, conversation, prompt, output)


def build(traits: ModelTraits, *, name: str = "template") -> GenericDialect:
    """Raises ``ValueError`` when the model has no template, or one that is broken."""
    return build_family(traits, SYNTAX, name=name, dialect=GenericDialect)
