"""What our set-up changed in llama.cpp's source before it compiled it: the library itself cannot tell."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

RECORD: Final = Path(sys.prefix) / "llama-build.json"
"""Written by scripts/build_llama.py; absent where llama-cpp-python was installed in another way."""


def substitutions(record: Path = RECORD) -> tuple[str, ...]:
    """Names of the substitutions, sorted; none where nobody noted any. Never fails: this only describes."""
    try:
        names = json.loads(record.read_text(encoding="utf-8"))["substitutions"]
        return tuple(sorted(str(name) for name in names))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
