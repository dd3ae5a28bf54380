"""The compliance suite of Open Responses: seventeen tests over HTTP and WebSocket, and its schema of events over a stream with thoughts.

``OPEN_RESPONSES`` names a checkout of openresponses/openresponses whose suite has WebSocket tests (specification of 2026-04-24).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from environment import Judges
from willing import serving_willing

from environments import node_with, run

HERE: Final = Path(__file__).parent
PACKAGES: Final = HERE / "open_responses.json"
EVENTS: Final = HERE / "open_responses_events.ts"
PLACE: Final = "OPEN_RESPONSES"


def judge(judges: Judges, _url: str, _model: Path, folder: Path) -> list[str]:
    """Tests that failed, and events that are none."""
    if not (place := os.environ.get(PLACE)):
        print(f"not run: set {PLACE} to a checkout of github.com/openresponses/openresponses")
        return []
    bun = _suite(Path(place), folder, judges)
    with serving_willing() as url:
        tested = run(bun, "run", "bin/compliance-test.ts", *_flags(url), cwd=folder)
    with serving_willing("--think") as url:
        streamed = run(bun, "run", f"bin/{EVENTS.name}", f"{url}/v1", "default", cwd=folder)
    print(streamed.stdout.rstrip().rpartition("\n")[2])
    return [*_failed(tested.stdout), *_faults(streamed.stdout)]


def _suite(checkout: Path, folder: Path, judges: Judges) -> Path:
    """Put the suite into the folder, with what it imports and nothing else of the site that it is a part of. Gives its runtime."""
    packages = node_with(PACKAGES, judges.python).packages
    for name in ("bin", "src"):
        shutil.copytree(checkout / name, folder / name)
    shutil.copy(EVENTS, folder / "bin")
    shutil.copy(PACKAGES, folder / "package.json")
    (folder / "node_modules").symlink_to(packages / "node_modules")
    return next((packages / "node_modules" / "@oven").glob("bun-*/bin/bun"))


def _flags(url: str) -> tuple[str, ...]:
    return ("--base-url", f"{url}/v1", "--api-key", "unused", "--model", "default", "--json")


def _failed(told: str) -> Iterator[str]:
    try:
        report = json.loads(told)
    except ValueError:
        yield told
        return
    print("{passed} of {total} passed".format_map(report["summary"]))
    for result in report["results"]:
        if result["status"] != "passed":
            yield f"{result['name']}: {'; '.join(result.get('errors') or [])}"


def _faults(told: str) -> list[str]:
    faults = [line for line in told.splitlines() if line.startswith("FAULT ")]
    return faults if faults or " events of " in told else [told]
