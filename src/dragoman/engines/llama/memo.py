"""What was measured once: a small JSON file in the cache directory, keyed by everything that a measurement depends on."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from dragoman.core.json import Json


class Memo:
    """One entry of the file. Reading never fails, and a directory that cannot be written costs only time at the next start."""

    def __init__(self, path: Path | None, *key: str) -> None:
        self._path = path
        self._key = sha256("\0".join(key).encode()).hexdigest()[:16]

    def load(self) -> Json:
        """The remembered value, or None."""
        return self._entries().get(self._key)

    def save(self, value: Json) -> None:
        """Remember a value; other keys keep theirs."""
        if self._path is None:
            return
        entries = {**self._entries(), self._key: value}
        temporary = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(entries, indent=1))
            temporary.replace(self._path)
        except OSError:
            return

    def _entries(self) -> dict[str, Json]:
        try:
            entries = json.loads(self._path.read_text()) if self._path else {}
        except (OSError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}
