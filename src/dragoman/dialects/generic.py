"""The dialect of a model whose chat template says everything: no family of its own is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from dragoman.core.request import Conversation, OutputFormat, TextPrompt
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.plain import VisibleText
from dragoman.dialects.template import ChatTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateDialect:
    """Renders with a template and shows all text of an answer; a turn ends with the model's own end token."""

    name: str
    template: ChatTemplate
    clock: Callable[[], datetime]
    stops: tuple[str, ...] = ()

    def render(self, conversation: Conversation) -> TextPrompt:
        """Write the prompt, dated by the clock; raises ``InvalidRequest`` as ``ChatTemplate.render`` does."""
        return self.template.render(conversation, now=self.clock())

    def ignores(self, conversation: Conversation) -> tuple[str, ...]:
        """What the template does not read, or cannot do."""
        return self.template.ignores(conversation, now=self.clock())

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """Nothing is constrained yet."""
        return None

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> VisibleText:
        """A new parser for one answer."""
        return VisibleText()


def build(traits: ModelTraits, *, name: str = "template") -> TemplateDialect:
    """Raises ``ValueError`` when the model has no template, or one that is broken."""
    if traits.template is None:
        raise ValueError(f"the dialect {name!r} needs a chat template, and the model has none")
    template = ChatTemplate(
        traits.template,
        bos_token=traits.bos_token,
        eos_token=traits.eos_token,
        specials=traits.specials,
        strict=traits.strict_messages,
    )
    return TemplateDialect(name=name, template=template, clock=traits.clock)
