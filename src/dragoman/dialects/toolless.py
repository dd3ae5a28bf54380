"""Families that were taught no tools, and whose tools are refused by name rather than written in another family's words (S120, S163)."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.errors import Code, Unsupported
from dragoman.core.request import Conversation, TextPrompt
from dragoman.dialects.call_grammar import offered
from dragoman.dialects.family import FamilyDialect


@dataclass(frozen=True, slots=True, kw_only=True)
class ToollessDialect(FamilyDialect):
    """Renders and reads as the family does, but takes no tools that may be called."""

    def render(self, conversation: Conversation) -> TextPrompt:
        """Raises ``Unsupported`` naming ``tools``, and ``InvalidRequest`` as ``ChatTemplate.render`` does."""
        if offered(conversation.tools, conversation.tool_choice):
            raise Unsupported(
                f"models of the family {self.name} call no tools", code=Code.UNSUPPORTED_VALUE, feature="tools"
            )
        return FamilyDialect.render(self, conversation)
