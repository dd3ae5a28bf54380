"""The words in which a family declares how its output is read: states, and the terminals that lead from one to another.

``machine`` says what they do. A table is data: a person can read it from top to bottom, and a test can walk it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from dragoman.core.json import JsonObject
from dragoman.core.text import held_back
from dragoman.dialects.literals import any_of


class Holds(StrEnum):
    """What the characters between a state's terminals are."""

    TEXT = "text"
    """What the client reads."""
    REASONING = "reasoning"
    """What the model thinks."""
    SYNTAX = "syntax"
    """Anything, and none of it matters."""
    SPACE = "space"
    """White space; anything else does not belong here."""
    NAME = "name"
    """The tool's name. The call begins where it ends."""
    KEY = "key"
    """The name of an argument."""
    STRING = "string"
    """The value of that argument, a string as it stands. It goes out as it comes."""
    JSON = "json"
    """The value as JSON. It goes out when it is whole; what is no JSON is a string."""
    TYPED = "typed"
    """A string as it stands where the tool's schema wants one, else JSON."""
    BODY = "body"
    """What a ``Body`` reads; it knows by itself where it ends."""


PROSE: Final = frozenset({Holds.TEXT, Holds.REASONING})
VALUES: Final = frozenset({Holds.STRING, Holds.JSON, Holds.TYPED})


@dataclass(frozen=True, slots=True)
class Control:
    """A terminal that is a control token, and never the same characters written as text."""

    text: str


Terminal: TypeAlias = str | Control
"""A text, or a token of that text, whichever comes, or a token that is its end. ``Control`` for tokens alone."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a terminal leads. Its own characters are hidden."""

    to: str
    ends: bool = field(default=False, kw_only=True)
    """The call is whole here."""
    tentative: bool = field(default=False, kw_only=True)
    """It is a terminal only if what follows fits: until a call begins, or within one until the next edge. Else it was content."""
    keep: bool = field(default=False, kw_only=True)
    """The next state reads the terminal's characters again. Only for texts."""


class Body(Protocol):
    """Reads arguments that know their own end: one JSON object, a list of keywords."""

    def feed(self, text: str) -> str:
        """Take more, and return the JSON text of the arguments that is certain now; never taken back."""
        ...

    @property
    def done(self) -> bool:
        """Whether the end was read."""
        ...

    @property
    def failed(self) -> bool:
        """Whether this can not be what it should be."""
        ...

    @property
    def rest(self) -> str:
        """After the end, the characters behind it."""
        ...


class NamedBody(Body, Protocol):
    """Reads a whole call, in which the tool's name stands somewhere. ``feed`` returns nothing while that is not known."""

    @property
    def name(self) -> str | None:
        """The tool's name, once it is known."""
        ...


def stripped(text: str) -> str:
    """A name as most families write it."""
    return text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One place in a family's output.

    ``otherwise`` is where the first character leads that is neither white space nor a terminal's; in a ``SPACE`` state without
    it such a character undoes a tentative edge, and is skipped where there is none to undo. ``read`` makes a tool's or an argument's
    name of the characters. ``body`` or ``call`` make the reader of a ``BODY``: of arguments, from the schema of the called tool's parameters
    (None if it is unknown), or of a whole call; ``then`` is where its end leads. ``controls`` are tokens that the body reads as text.
    """

    holds: Holds
    edges: Mapping[Terminal, Edge] = field(default_factory=dict)
    otherwise: str | None = None
    read: Callable[[str], str] = stripped
    body: Callable[[JsonObject | None], Body] | None = None
    call: Callable[[], NamedBody] | None = None
    then: Edge | None = None
    controls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """The first terminal in a text: where it stands, and where it leads."""

    start: int
    text: str
    edge: Edge


class Lexicon:
    """The terminals of one state, ready to be searched for."""

    def __init__(self, edges: Mapping[Terminal, Edge]) -> None:
        self._texts = {terminal: edge for terminal, edge in edges.items() if isinstance(terminal, str)}
        self._controls = self._texts | {
            terminal.text: edge for terminal, edge in edges.items() if isinstance(terminal, Control)
        }
        self._pattern: re.Pattern[str] = any_of(self._texts)

    def control(self, text: str) -> Edge | None:
        """Where a control token of that text leads."""
        return self._controls.get(text)

    def begun(self, text: str, control: str) -> str:
        """The end of ``text`` that is a terminal together with the control token behind it; some vocabularies have such halves."""
        heads = (terminal.removesuffix(control) for terminal in self._texts if terminal.endswith(control))
        return max((head for head in heads if text.endswith(head)), key=len, default="")

    def certain(self, text: str) -> int:
        """How many characters are not the beginning of a terminal that may be going on."""
        return len(text) - held_back(text, self._texts)

    def first(self, text: str) -> Found | None:
        """The terminal that begins first; the longest of those that begin together."""
        match = self._pattern.search(text)
        return None if match is None else Found(match.start(), match.group(), self._texts[match.group()])


class Table:
    """A family's states by name."""

    def __init__(self, states: Mapping[str, State]) -> None:
        """Raises ``ValueError`` for an edge to a state that is not there, and for a body without a reader or an end."""
        for name, state in states.items():
            targets = [edge.to for edge in state.edges.values()]
            targets += [state.otherwise] if state.otherwise else []
            targets += [state.then.to] if state.then else []
            if missing := [target for target in targets if target not in states]:
                raise ValueError(f"state {name!r} leads to {missing[0]!r}, which is none")
            if state.otherwise and (states[state.otherwise].otherwise or states[state.otherwise].holds is Holds.SPACE):
                raise ValueError(f"state {name!r} leads to {state.otherwise!r}, which does not take every character")
            if (state.holds is Holds.BODY) != (state.then is not None) or (
                state.holds is Holds.BODY and (state.body is None) == (state.call is None)
            ):
                raise ValueError(f"state {name!r}: a body has one reader, and leads somewhere")
        self.states = dict(states)
        self.lexicons = {name: Lexicon(state.edges) for name, state in states.items()}
