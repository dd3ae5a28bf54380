"""Starts our llama.cpp child: with all kernels, or, once those have crashed, with the safe ones.

llama.cpp as pip builds it may not survive its own CPU: GCC 12 breaks the AMX kernels, and the first prompt is the end of them. The
plain kernels compute the same model, only slower, so that is what a server should do; and say so.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dragoman.diagnosis.kernels import CRASHES
from dragoman.diagnosis.machine import read_machine
from dragoman.engines.link import Link
from dragoman.engines.process import ProcessLink

SAFE_KERNELS: Final = "--safe-kernels"

_log = logging.getLogger(__name__)


class LlamaLinks:
    """A ``LinkFactory`` for ``argv``. ``marker`` is a file that exists when only the safe kernels of this build work."""

    def __init__(
        self,
        argv: tuple[str, ...],
        *,
        marker: Path,
        spawn: Callable[[tuple[str, ...]], Awaitable[Link]] = ProcessLink.spawn,
    ) -> None:
        self.safe = marker.exists()
        self._argv = argv
        self._marker = marker
        self._spawn = spawn
        self._last: Link | None = None

    async def __call__(self) -> Link:
        """Start the next child. One that replaces a child that crashed while it served falls back by itself."""
        self.fall_back()
        self._last = await self._spawn((*self._argv, SAFE_KERNELS) if self.safe else self._argv)
        return self._last

    def fall_back(self) -> bool:
        """Whether the last child crashed with all kernels. The next ones then use the safe ones."""
        status = None if self._last is None else self._last.exit_status
        if self.safe or status is None or status.signal not in CRASHES:
            return False
        self.safe = True
        _log.warning("llama.cpp %s; it is started with its safe kernels, which read prompts more slowly", status)
        return True

    def remember(self) -> None:
        """The safe kernels have loaded what the others crashed on: later starts need not crash first."""
        with contextlib.suppress(OSError):  # then they do, and no harm is done
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            self._marker.touch()


def build_marker(cache_dir: Path) -> Path:
    """The marker of the llama.cpp that is installed, on this CPU: one that is built again has another, and a new chance."""
    spec = find_spec("llama_cpp")  # finds it without running it
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    libraries = sorted(path for folder in folders for path in Path(folder, "lib").glob("*") if path.is_file())
    facts = [f"{path} {(stat := path.stat()).st_size} {stat.st_mtime_ns}" for path in libraries]
    digest = sha256("\n".join([read_machine().cpu, *facts]).encode()).hexdigest()
    return cache_dir / "crashed-builds" / digest[:16]
