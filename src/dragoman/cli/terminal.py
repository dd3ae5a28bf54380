"""What the commands say to people: one line for a failure and one for what to do, progress, plain text elsewhere."""

from __future__ import annotations

import logging
import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from dragoman.cli.remote import RemoteFailed
from dragoman.compose.failure import StartFailed
from dragoman.core.errors import EngineFailed, ServiceError
from dragoman.diagnosis.checks import Finding
from dragoman.settings import Settings


def fail(message: str, *, hint: str | None = None, code: int = 1) -> NoReturn:
    """End the program: ``message`` says what is wrong, ``hint`` what to do. Never a traceback."""
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("dragoman: ", "bold red"), message))
    if hint is not None:
        console.print(Text.assemble(("  → ", "bold"), hint))
    raise typer.Exit(code)


def warn(console: Console, findings: Iterable[Finding]) -> None:
    """Say what works, but not as well as it could, and what to do about it."""
    for finding in findings:
        console.print(Text.assemble(("warning: ", "bold yellow"), finding.detail))
        if finding.advice is not None:
            console.print(Text.assemble(("  → ", "bold"), finding.advice))


@contextmanager
def logged(settings: Settings, *, quiet: bool = False) -> Iterator[None]:
    """Write the log to stderr within, one line an event. ``quiet``: only where debugging was asked for.

    Quiet is for what ends in an error of its own: that says once, and with advice, what the log would say first.
    The web server's own news is for debugging, too: ours says it in fewer words.
    """
    debugging = settings.log_level == "debug"
    level = logging.CRITICAL if quiet and not debugging else logging.getLevelNamesMapping()[settings.log_level.upper()]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    handler.setLevel(level)
    if not debugging:
        handler.addFilter(_is_told)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def _is_told(record: logging.LogRecord) -> bool:
    """Of the web server's records only warnings, without the traceback of each request that it cut: it counts them in a line before."""
    if not record.name.startswith("uvicorn"):
        return True
    cut = record.exc_info is not None and isinstance(record.exc_info[1], CancelledError)
    return record.levelno >= logging.WARNING and not cut


@contextmanager
def failing() -> Iterator[None]:
    """Turn what can go wrong within into one line and status 1."""
    try:
        yield
    except StartFailed as error:
        fail(error.message, hint=error.hint)
    except ServiceError as error:
        fail(error.message, hint="`dragoman doctor` looks for the cause" if isinstance(error, EngineFailed) else None)
    except RemoteFailed as error:
        fail(str(error))


@contextmanager
def loading(console: Console) -> Iterator[Callable[[float, str], None]]:
    """Show how much of a model is loaded: a bar on a terminal, a line for each phase elsewhere.

    Yields the function to call with the part that is done, 0 to 1, and what is being done.
    """
    if not console.is_terminal:
        seen: set[str] = set()

        def say(_: float, phase: str) -> None:
            if phase not in seen:
                seen.add(phase)
                console.print(Text(f"{phase} …"))

        yield say
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting the engine", total=1.0)

        def move(fraction: float, phase: str) -> None:
            progress.update(task, completed=fraction, description=phase)

        yield move
