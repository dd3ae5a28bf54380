"""One machine reads the output of every family, by the family's table.

    text -> terminals, held back while they may go on -> edges of the table -> pieces and calls

How to write a table (``table`` has the words, ``prose`` the states that most families share, ``syntax`` what else a family declares, and
``hermes`` is the shortest example):

* A state says what the characters in it are (``Holds``), and which terminals lead out of it. Terminals are hidden.
* A call begins where a ``NAME`` ends, or where a ``BODY`` made by ``call`` knows the name. An edge with ``ends=True`` ends it: it closes what
  keys and values opened, or writes ``{}`` where there were no arguments.
* Leaving a ``KEY`` writes the key, and a ``STRING``, ``JSON`` or ``TYPED`` state writes the value behind it.
* The edge from prose into a call is ``tentative``: what follows is held back until a call begins, and is text after all where it does not
  fit (a character in a ``SPACE`` state that is none, a name with blanks in it, a body that fails). A closing tag within a value is
  ``tentative`` where the value may contain the tag: it is one only if the next terminal follows.
* White space between prose and a terminal is hidden; white space at the beginning of an answer is hidden by a ``SPACE`` state with
  ``otherwise="text"``. A prose state with ``otherwise`` is left at the first character that is not white space: it has the edges that only
  the beginning of an answer has, ``<think>`` among them.
* A control token without an edge is hidden and changes nothing. Before one, nothing is held back.

Within a call that has begun nothing else is undone: what does not fit is hidden up to the next terminal. A call whose body failed, or was
cut by another edge than ``then``, or came beside other arguments, tells no more of them and has no end. Neither has a call that the output's end cut. Prose at the end that is the beginning of a terminal was prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dragoman.core.request import ToolSpec
from dragoman.dialects.arguments import Arguments
from dragoman.dialects.base import CallArguments, CallBegun, CallEnded, Channel, Parsed, Piece
from dragoman.dialects.table import PROSE, VALUES, Body, Edge, Found, Holds, Lexicon, NamedBody, State, Table

_NAME: Final = re.compile(r"[\w.:/-]{0,256}")
"""A name that may be growing. What is none undoes a tentative edge, so that a tag in prose holds nothing back."""

_CHANNELS: Final = {Holds.TEXT: Channel.TEXT, Holds.REASONING: Channel.REASONING}


@dataclass(slots=True)
class _Attempt:
    """A tentative edge was taken: all that is needed to undo it."""

    at: str
    space: str
    """White space of the prose before it, hidden unless undone."""
    terminal: str
    out: int
    """How much was decided before."""
    arguments: Arguments | None
    taken: list[str] = field(default_factory=list)
    """What was read since, the terminal first."""


class Machine:
    """Reads one answer; an ``OutputParser``.

    It starts in the state ``start``, which the prompt may have opened. With ``declared_only``, what names a tool that is not among ``tools``
    undoes a tentative edge, for families whose calls look like text. ``must_call``: the answer is held to calls alone.
    """

    def __init__(
        self,
        table: Table,
        *,
        start: str,
        tools: Sequence[ToolSpec] = (),
        declared_only: bool = False,
        must_call: bool = False,
    ) -> None:
        self._table = table
        self._schemas = {tool.name: tool.parameters or {} for tool in tools}
        self._declared_only = declared_only
        self._must_call = must_call
        self._buffer = ""
        self._out: list[Parsed] = []
        self._attempt: _Attempt | None = None
        self._arguments: Arguments | None = None  # of the call that has begun and not ended
        self._broken = False  # what was read of that call does not hold, or of a body that named none
        self._word = ""  # a name or a key that is growing
        self._body: Body | None = None
        self._named: NamedBody | None = None  # the same body, while its name is not known
        self._enter(start)

    def feed(self, text: str, *, special: bool) -> Sequence[Parsed]:
        """Take output and return what is decided now."""
        if special:
            self._control(text)
        else:
            self._buffer += text
            while self._buffer and self._step():
                pass
        return self._decided()

    def finish(self) -> Sequence[Parsed]:
        """The output has ended; return what was held back."""
        self._settle(None)
        return self._decided()

    # --- reading -------------------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Read content, or a terminal. False where more is needed to decide."""
        if self._state.holds is Holds.BODY:
            return self._read_body()
        found, limit = self._lexicon.first(self._buffer), self._lexicon.certain(self._buffer)
        if found is not None and found.start < limit:
            return self._read_up_to(found)
        # A terminal that begins earlier, or a longer one, may still come about.
        if self._strays(limit):
            return True
        if self._state.holds in PROSE and self._state.edges:
            limit = len(self._buffer[:limit].rstrip())  # white space waits for what comes behind it
        if limit:
            self._content(self._take(limit))
        return bool(limit)

    def _read_up_to(self, found: Found) -> bool:
        if not self._strays(found.start):
            self._follow(found)
        return True

    def _strays(self, limit: int) -> bool:
        """Deal with a character that does not belong before ``limit``; false where there is none."""
        stray = self._buffer[:limit].lstrip()
        if not stray or (self._state.otherwise is None and self._state.holds is not Holds.SPACE):
            return False
        if self._state.otherwise is not None and not self._broken:
            self._content(self._take(limit - len(stray)))
            self._enter(self._state.otherwise)
        elif self._attempt is not None:
            self._undo(self._attempt)
        else:
            self._content(self._take(limit))
        return True

    def _content(self, text: str) -> None:
        """Characters of the state that we are in."""
        self._put(_CHANNELS.get(self._state.holds, Channel.HIDDEN), text)
        match self._state.holds:
            case Holds.NAME | Holds.KEY:
                self._word += text
                if self._state.holds is Holds.NAME and self._attempt and not _NAME.fullmatch(self._word.strip()):
                    self._undo(self._attempt)
            case Holds.STRING | Holds.JSON | Holds.TYPED if self._arguments is not None:
                self._write(self._arguments.value(text))
            case _:
                pass

    def _read_body(self) -> bool:
        body, then, text = self._body, self._state.then, self._buffer
        assert body is not None
        assert then is not None
        arguments = body.feed(text)
        over = body.done or body.failed
        self._put(Channel.HIDDEN, self._take(max(0, len(text) - len(body.rest)) if over else len(text)))
        self._pass_on(arguments)
        if self._body is not body:
            return True  # it named no tool of ours, and was undone
        if body.failed and self._attempt is not None:
            self._undo(self._attempt)
        elif over:
            self._broken |= body.failed
            self._cross(then)
        return True

    def _pass_on(self, arguments: str) -> None:
        """What a body told: perhaps the name, perhaps more arguments."""
        if self._named is not None and self._named.name is not None:
            name, self._named = self._named.name, None
            self._begin(name)
        if self._arguments is not None:
            self._write(self._arguments.whole(arguments))

    # --- the end, and control tokens -------------------------------------------------------------------------------------

    def _control(self, text: str) -> None:
        begun = self._lexicon.begun(self._buffer, text)
        self._buffer = self._buffer.removesuffix(begun)
        self._settle(begun + text)
        self._put(Channel.HIDDEN, begun)
        self._out.append(Piece(Channel.HIDDEN, text))
        edge = self._lexicon.control(begun + text)
        if edge is not None:
            self._broken &= self._arguments is not None
            self._cross(edge, self._attempt_here() if edge.tentative else None)
        elif text in self._state.controls and self._body is not None:
            self._pass_on(self._body.feed(text))

    def _settle(self, control: str | None) -> None:
        """Decide about all that is held back: the output ends here, or goes on with that control token."""
        while self._buffer:
            found = self._lexicon.first(self._buffer)
            if self._state.holds is Holds.BODY:
                self._read_body()
            elif found is not None:
                self._read_up_to(found)
            elif self._attempt is not None or self._may_be_cut(control) or not self._strays(len(self._buffer)):
                self._rest(self._take(len(self._buffer)), control)
        if self._attempt is not None and control is None:
            undecided = self._out[self._attempt.out :]
            self._out[self._attempt.out :] = [parsed for parsed in undecided if isinstance(parsed, Piece)]
        self._attempt = None

    def _may_be_cut(self, control: str | None) -> bool:
        """Whether the end came where only a terminal was to come, so that its beginning is not shown (S57)."""
        if control is not None:
            return False
        return self._state.holds is Holds.SPACE or (self._must_call and self._state.holds is Holds.TEXT)

    def _rest(self, text: str, control: str | None) -> None:
        """Characters without a terminal in them, the beginning of one perhaps at their end."""
        if self._state.holds in PROSE:
            closed = control is not None and self._lexicon.control(control) is not None
            prose = text.rstrip() if closed else text
            if self._may_be_cut(control):
                prose = text[: self._lexicon.certain(text)].rstrip()
            self._content(prose)
            self._put(Channel.HIDDEN, text[len(prose) :])
        elif control is None:
            self._put(Channel.HIDDEN, text)  # of a value that was cut, nobody knows whether its end had begun
        else:
            self._content(text)

    # --- edges -----------------------------------------------------------------------------------------------------------

    def _follow(self, found: Found) -> None:
        """Cross the edge of a terminal in the buffer, behind the content before it."""
        attempt, text = self._attempt, self._take(found.start)
        content = text.rstrip() if self._state.holds in PROSE else text
        self._content(content)
        if self._attempt is not attempt:
            return  # the content was no name, so that an edge before was none
        space, edge = text[len(content) :], found.edge
        begun = self._attempt_here(space, found.text) if edge.tentative else None
        self._put(Channel.HIDDEN, space)
        if begun is not None:
            self._attempt = begun
        if not edge.keep:
            self._put(Channel.HIDDEN, self._take(len(found.text)))
        self._broken &= self._arguments is not None
        self._cross(edge, begun)

    def _cross(self, edge: Edge, attempt: _Attempt | None = None) -> None:
        """Leave the state by an edge, whose terminal was read; what it means for the call stands behind that."""
        match self._state.holds:
            case Holds.NAME if self._begin(self._state.read(self._word)):
                return
            case Holds.KEY if self._arguments is not None:
                self._write(self._arguments.key(self._state.read(self._word)))
            case Holds.STRING | Holds.JSON | Holds.TYPED if self._arguments is not None:
                self._write(self._arguments.end_value())
            case Holds.BODY if self._arguments is not None:
                self._broken |= edge is not self._state.then  # then it was cut
            case _:
                pass
        if attempt is not None or self._arguments is not None or self._table.states[edge.to].holds in PROSE:
            self._attempt = attempt
        if edge.ends:
            self._end()
        self._enter(edge.to)

    def _enter(self, name: str) -> None:
        self._at, self._word = name, ""
        self._body = self._named = None
        state = self._state
        if state.holds in PROSE:
            self._arguments, self._broken = None, False
        elif state.call is not None:
            self._body = self._named = state.call()
        elif state.body is not None:
            self._body = state.body(self._arguments.schema if self._arguments is not None else None)
        if self._arguments is not None:
            self._broken |= self._arguments.has_no_room_for(state.holds)
            if state.holds in VALUES:
                self._arguments.begin_value(state.holds)

    def _attempt_here(self, space: str = "", terminal: str = "") -> _Attempt:
        arguments = None if self._arguments is None else replace(self._arguments)
        return _Attempt(self._at, space, terminal, len(self._out), arguments)

    def _undo(self, attempt: _Attempt) -> None:
        """The tentative edge was none: its terminal is content of the state that it left, and what stands behind is read again."""
        del self._out[attempt.out :]
        self._attempt = self._body = self._named = None
        self._at, self._word, self._arguments = attempt.at, "", attempt.arguments
        self._buffer = ("".join(attempt.taken) + self._buffer)[len(attempt.terminal) :]
        self._content(attempt.space)
        if self._state.otherwise is not None:
            self._enter(self._state.otherwise)
        self._content(attempt.terminal)

    # --- calls -----------------------------------------------------------------------------------------------------------

    def _begin(self, name: str) -> bool:
        """A call begins; returns whether it was none, and the tentative edge before it was undone."""
        if self._attempt is not None and (not name or (self._declared_only and name not in self._schemas)):
            self._undo(self._attempt)
            return True
        self._broken = False
        self._arguments = Arguments(schema=self._schemas.get(name)) if name else None
        if name:
            self._out.append(CallBegun(name))
            self._attempt = None
        return False

    def _write(self, text: str) -> None:
        if text and not self._broken:
            self._out.append(CallArguments(text))

    def _end(self) -> None:
        if self._arguments is not None and not self._broken:
            self._write(self._arguments.end())
            self._out.append(CallEnded())
        self._arguments = None

    # --- the two ends of the machine -------------------------------------------------------------------------------------

    @property
    def _state(self) -> State:
        return self._table.states[self._at]

    @property
    def _lexicon(self) -> Lexicon:
        return self._table.lexicons[self._at]

    def _take(self, size: int) -> str:
        text, self._buffer = self._buffer[:size], self._buffer[size:]
        if self._attempt is not None:
            self._attempt.taken.append(text)
        return text

    def _put(self, channel: Channel, text: str) -> None:
        if text:
            self._out.append(Piece(channel, text))

    def _decided(self) -> Sequence[Parsed]:
        """All that no attempt can take back any more."""
        size = len(self._out)
        if self._attempt is not None:
            size, self._attempt.out = self._attempt.out, 0
        decided, self._out = self._out[:size], self._out[size:]
        return tuple(decided)
