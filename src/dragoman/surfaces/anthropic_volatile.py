"""Leaves out of a system text what Claude Code writes there for Anthropic's books, and writes anew for each request.

Two things, and nothing else. A first line that begins with ``x-anthropic-billing-header:`` names a build and a hash of the request.
``<total_tokens>… tokens left</total_tokens>`` counts down; old counts stay in the text, so it also grows. Both tell a model nothing, and with
either of them no two prompts have a beginning in common (peers.md 106, 2.17). What other roles say is never touched.
"""

from __future__ import annotations

import re
from typing import Final

from dragoman.surfaces.readers import Place

_HEADER: Final = "x-anthropic-billing-header:"

_COUNT: Final = re.compile(r"<total_tokens>[0-9][0-9,._]{0,20} tokens left</total_tokens>")


def steady(text: str, at: Place) -> str:
    """The text without them, and without the white space before a count; what was left out is listed below ``at``."""
    if text.lstrip().startswith(_HEADER):
        at.child(_HEADER[:-1]).ignore()
        text = text.lstrip().partition("\n")[2]
    *before, rest = _COUNT.split(text)
    if before:
        at.child("total_tokens").ignore()
    return "".join((*map(str.rstrip, before), rest))
