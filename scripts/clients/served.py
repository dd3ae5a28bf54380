"""The servers that clients are held against: one with the demo model, and one whose model does what a scene says."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dragoman.compose import find_model, served_name
from dragoman.core.json import JsonObject
from dragoman.settings import Settings
from serving import serving

PLAYER: Final = Path(__file__).with_name("scripted_model.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server: its address without ``/v1``, and the name of its model."""

    url: str
    model: str

    @property
    def base_url(self) -> str:
        """What clients of OpenAI's kind want."""
        return f"{self.url}/v1"


@contextmanager
def demo(*flags: str) -> Iterator[Served]:
    """The demo model, which can be held to a grammar but knows nothing."""
    settings = Settings()
    with serving(str(find_model(settings)), *flags) as url:
        yield Served(url=url, model=served_name(settings))


@contextmanager
def scripted(scenes: Mapping[str, JsonObject], *flags: str) -> Iterator[Served]:
    """A model that does what the scene says which a prompt asks for; ``scripted_model.py`` says what scenes are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenes.json"
        path.write_text(json.dumps(scenes), encoding="utf-8")
        engine = (sys.executable, str(PLAYER), "--scenes", str(path), "--notes", folder)
        with serving("--engine-command", shlex.join(engine), "--model-name", "scripted", *flags) as url:
            yield Served(url=url, model="scripted")
