r"""Finds the text of a custom tool in the arguments of the function that stands for it, as they come.

The model writes ``{"input":"…"}`` and the client reads what the string says. That form is read as it grows, however it is cut. Any
other waits for its end: the member may come later in the object, and a model that is not held to the schema may write anything,
which the client then gets as it was written.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dragoman.core.json import Json

_OPENING: Final = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"input"[ \t\r\n]*:[ \t\r\n]*"')

_RUN: Final = re.compile(r'[^"\\]+')

_ESCAPE: Final = re.compile(
    r"\\(?:u(?P<high>d[89ab][0-9a-f]{2})\\u(?P<low>d[c-f][0-9a-f]{2})|u(?P<code>[0-9a-f]{4})|(?P<sign>.))",
    re.IGNORECASE | re.DOTALL,
)
"""Two escapes may be one character beyond the first 65,536 (RFC 8259, 7)."""

_UNFINISHED: Final = re.compile(
    r"\\(?:u(?:[0-9a-f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?))?\Z", re.IGNORECASE
)
"""What may be the beginning of a longer escape."""

_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_UNPAIRED: Final = "\N{REPLACEMENT CHARACTER}"
"""For half a character, which no encoding can carry."""


class CustomInput:
    """The input of one call. Feed the arguments' pieces, then ``end``; what both return joins to the input."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._over = False

    def feed(self, text: str) -> str:
        """What of the input is certain now."""
        if self._over:
            return ""
        self._held += text
        if not self._inside:
            opening = _OPENING.match(self._held)
            if opening is None:
                return ""
            self._inside = True
            self._held = self._held[opening.end() :]
        return self._read()

    def end(self) -> str:
        """The rest, once the arguments are over: nothing where they were read as they came, or were cut before they said anything."""
        if self._inside:
            return ""
        try:
            value: Json = msgspec.json.decode(self._held)
        except msgspec.DecodeError:
            return ""
        match value:
            case {"input": str(text)}:
                return text
            case _:
                return self._held

    def _read(self) -> str:
        """Take all whole characters of the string from what is held."""
        text, at, out = self._held, 0, []
        while at < len(text):
            if run := _RUN.match(text, at):
                out.append(run[0])
                at = run.end()
            elif text[at] == '"':
                self._over = True
                break
            elif (escape := _ESCAPE.match(text, at)) and not _UNFINISHED.match(text, at):
                out.append(_character(escape))
                at = escape.end()
            else:
                break
        self._held = text[at:]
        return "".join(out)


def _character(escape: re.Match[str]) -> str:
    """What an escape stands for."""
    if sign := escape["sign"]:
        return _SHORT.get(sign, sign)
    if low := escape["low"]:
        return bytes.fromhex(escape["high"] + low).decode("utf-16-be")
    character = chr(int(escape["code"], 16))
    return _UNPAIRED if "\ud800" <= character <= "\udfff" else character
