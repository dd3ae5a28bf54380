"""Text that a client keeps for the model and gives back as it is: signatures of thoughts, encrypted content, compactions.

The contracts call it encrypted so that nobody builds on what is inside. Here it hides nothing: the client owns the text, and whoever
makes one up says no more than he could say in plain words. The form is ours alone, and marked, so that a foreign one is known.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Final

_MARK: Final = "dg1."

_MAX_BYTES: Final = 4 << 20
"""Of what comes out: a few bytes may stand for gigabytes."""


def seal(text: str) -> str:
    """The text as one printable word."""
    return _MARK + base64.urlsafe_b64encode(zlib.compress(text.encode(), 6)).decode().rstrip("=")


def unseal(word: str) -> str | None:
    """The text in a word that ``seal`` made, or None for any other."""
    if not word.startswith(_MARK):
        return None
    packed = word[len(_MARK) :]
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), _MAX_BYTES)
        return data.decode() if inflate.eof else None
    except (binascii.Error, zlib.error, ValueError):
        return None
