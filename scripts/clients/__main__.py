"""Hold our server against its clients: ``python -m clients [NAME ...]``, the libraries without a name.

Those install in seconds. The others are programs for a terminal, of up to some hundred megabytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Final

from clients.libraries import LIBRARIES, SCENES, play
from clients.served import Served, demo, scripted

PROGRAMS: Final = ("claude_code", "codex", "opencode", "pi", "aider", "cline", "continue_cli", "qwen_code")
"""Each is a module here, with ``play(server, home)``: what went wrong, with the demo model's server and an empty folder as HOME."""


def main(names: list[str]) -> int:
    """Print each verdict; 1 where there is a fault."""
    known = (*LIBRARIES, *PROGRAMS)
    if unknown := [name for name in names if name not in known]:
        print(f"no client is called {unknown[0]}: {', '.join(known)}", file=sys.stderr)
        return 2
    with demo("--threads", "1") as server, scripted(SCENES) as player:  # clients want a core, too
        faults = [fault for name in names or LIBRARIES for fault in _verdict(name, server, player)]
    return 1 if faults else 0


def _verdict(name: str, server: Served, player: Served) -> list[str]:
    print(f"== {name}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        try:
            faults = _played(name, server, player, Path(home))
        except subprocess.SubprocessError as error:
            faults = [f"it failed: {error}"]
    print("\n".join(faults) or "no fault", flush=True)
    return faults


def _played(name: str, server: Served, player: Served, home: Path) -> list[str]:
    if name in LIBRARIES:
        return play(name, server, player, home)
    faults: list[str] = import_module(f"clients.{name}").play(server, home)
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
