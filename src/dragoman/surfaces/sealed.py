"""Text that a client keeps for the model and gives back as it is: signatures of thoughts, encrypted content, compactions.

The contracts call it encrypted so that nobody builds on what is inside. Here it hides nothing: the client owns the text, and whoever
makes one up says no more than he could say in plain words. So it is not packed either: a few bytes could stand for gigabytes. The form
is ours alone, and marked, so that a foreign one is known.
"""

from __future__ import annotations

import base64
from typing import Final

from dragoman.surfaces.readers import PROMPT_TEXT, Place

_MARK: Final = "dg1."


def seal(text: str) -> str:
    """The text as one printable word."""
    return _MARK + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def unseal(word: str) -> str | None:
    """The text in a word that ``seal`` made, or None for any other."""
    if not word.startswith(_MARK):
        return None
    packed = word[len(_MARK) :]
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return None


def unsealed(word: str, at: Place) -> str:
    """The text in it, which is the client's like any other; none in a word that another server made, which is listed.

    Raises ``InvalidRequest`` for text that no prompt can hold.
    """
    text = unseal(word)
    if text is None:
        at.ignore()
        return ""
    return PROMPT_TEXT.read(text, at)
