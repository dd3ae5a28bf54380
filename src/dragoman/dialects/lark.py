"""Texts of a family as expressions of a grammar: a control token is named there, all else is spelled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dragoman.core.errors import Code, Unsupported
from dragoman.core.grammar import json_value, literal
from dragoman.core.json import Json
from dragoman.dialects.literals import any_of

_NAMEABLE: Final = re.compile(r"<[^<>\s\[\]]+>")
_META: Final = frozenset("\\.+*?()|[]{}^$#&-~/")
"""Characters that mean something in Rust's expressions, and the slash around them."""


class Lark:
    """Writes expressions for one model, whose control tokens are ``specials``; ``ids`` are their ids where they are known.

    ``single`` has the ids of other texts that are one token. ``spaced``: its template writes JSON with spaces, so the model shall, too.
    """

    def __init__(
        self,
        specials: tuple[str, ...],
        ids: Mapping[str, int],
        *,
        single: Mapping[str, int] | None = None,
        spaced: bool = False,
    ) -> None:
        self._spaced = spaced
        self._single = single or {}
        self._specials = frozenset(specials)
        self._pattern = any_of(specials)
        self._ids = ids

    def is_control(self, text: str) -> bool:
        """Whether ``text`` is a control token."""
        return text in self._specials

    def begins_with_control(self, text: str) -> bool:
        """Whether a control token stands at its beginning."""
        return self._pattern.match(text) is not None

    def before_control(self, text: str) -> str:
        """What of ``text`` stands before the first control token in it; all where there is none."""
        match = self._pattern.search(text)
        return text if match is None else text[: match.start()]

    def one_token(self, text: str) -> str | None:
        """The one token that this text is, if it is: what a grammar can ask for between any two others."""
        if text in self._specials:
            return self.text(text)
        return f"<[{self._single[text]}]>" if text in self._single else None

    def text(self, text: str) -> str:
        """Exactly this text. Raises ``Unsupported`` for a control token that no grammar can name."""
        written: list[str] = []
        position = 0
        for match in self._pattern.finditer(text):
            written += [literal(text[position : match.start()])] if match.start() > position else []
            written.append(self._token(match.group()))
            position = match.end()
        written += [literal(text[position:])] if position < len(text) or not written else []
        return " ".join(written)

    def json(self, schema: Json, *, lenient: bool = False) -> str:
        """A JSON value, as the template will write it in the next turn's prompt, where it is to be found in the cache.

        Raises ``SchemaFault`` as ``json_value`` does.
        """
        return json_value(schema, lenient=lenient, spaced=self._spaced)

    def _token(self, text: str) -> str:
        if text in self._ids:
            return f"<[{self._ids[text]}]>"
        if _NAMEABLE.fullmatch(text):
            return text
        raise Unsupported(
            f"the engine does not tell the id of {text!r}, so that no grammar can ask for it",
            code=Code.UNSUPPORTED_VALUE,
            feature="tool_choice",
        )


def expression(text: str) -> str:
    """A regular expression, without slashes around it, that matches exactly this text."""
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character in _META:
        return f"\\{character}"
    return character if character.isprintable() else f"\\x{{{ord(character):x}}}"
