"""What a family's file declares: how its answers are read and, where they can be enforced, how its calls are written.

A family is a table, which ``prose`` begins for most, and a ``Syntax`` around it; ``family.build_family`` makes a dialect of that and of the
model's template. ``hermes`` is the shortest example.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.request import Conversation, TextPrompt
from dragoman.dialects.asking import Asking, as_it_is
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.prose import THINK, prose
from dragoman.dialects.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """One family's answers.

    ``table`` has the states ``opening``, ``text`` and, with ``think`` (the tags around thoughts), ``thinking`` and ``reasoning``; ``start`` where an
    answer's first white space may be text. ``silent`` is read where no tools may be called; the family's prose, unless it frames its text
    in its own way. ``declared_only`` is for calls that look like text: only names of declared tools are calls.

    ``written`` is None where calls cannot be enforced. ``said`` stands before text that does not begin by itself, and ``shut`` behind it. ``asking`` puts a
    client's wishes into words that the template knows. ``stops`` are those of ``Dialect``.
    """

    table: Table
    silent: Table | None = None
    think: tuple[str, str] | None = THINK
    declared_only: bool = False
    written: Written | None = None
    said: str = ""
    shut: str = ""
    asking: Asking = as_it_is
    stops: tuple[str, ...] = ()

    def table_for(self, *, calls: bool) -> Table:
        """The states; without ``calls`` what looks like one is text."""
        if calls:
            return self.table
        return self.silent or Table(prose({}, think=self.think))

    def start(self, conversation: Conversation, prompt: TextPrompt) -> str:
        """The state in which the prompt leaves the answer."""
        written = prompt.text.rstrip()
        if self.think is not None:
            opener, closer = self.think
            if written.endswith(opener):
                return "thinking"
            if written.endswith(closer):
                return "opening"
        if conversation.continue_final:
            return self._continued(conversation)
        return "start" if "start" in self.table.states else "opening"

    def _continued(self, conversation: Conversation) -> str:
        """Where an assistant's message that goes on left off: in its thoughts, or in its text."""
        last = conversation.messages[-1]
        if self.think is None:
            return "text"
        opened, closed = (last.text.rfind(tag) for tag in self.think)
        return "reasoning" if opened > closed or (last.reasoning and not last.text) else "text"
