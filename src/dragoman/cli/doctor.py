"""``dragoman doctor``: what the machine, the model and the engine are like, and what to do where something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import typer
from rich.console import Console
from rich.text import Text

from dragoman.cli.parameters import with_settings
from dragoman.compose import SAFE_KERNELS, StartFailed, engine_argv, find_model, find_projector
from dragoman.diagnosis import checks, kernels
from dragoman.diagnosis.checks import Finding, Verdict
from dragoman.diagnosis.machine import read_machine
from dragoman.settings import Settings

MARKS: Final = {
    Verdict.OK: ("ok      ", "green"),
    Verdict.WARNING: ("warning ", "yellow"),
    Verdict.PROBLEM: ("problem ", "bold red"),
    Verdict.SKIPPED: ("skipped ", "dim"),
}


@with_settings()
def doctor(settings: Settings) -> None:
    """Look at the CPU, the engine, the model and the memory, and run the model once."""
    console = Console(soft_wrap=True)
    verdicts: list[Verdict] = []
    for finding in _examine(settings):
        mark, style = MARKS[finding.verdict]
        console.print(Text.assemble((mark, style), (f"{finding.subject}: ", "bold"), finding.detail))
        if finding.advice is not None:
            console.print(Text.assemble("        → ", finding.advice))
        verdicts.append(finding.verdict)
    problems, warnings = verdicts.count(Verdict.PROBLEM), verdicts.count(Verdict.WARNING)
    if problems:
        console.print(Text(f"{problems} to put right before serving."))
    else:
        console.print(Text(f"It works; {warnings} could be better." if warnings else "Everything is in order."))
    raise typer.Exit(1 if problems else 0)


def _examine(settings: Settings) -> Iterator[Finding]:
    """The findings, each as soon as it is known: the last takes as long as loading the model."""
    machine = read_machine()
    yield checks.processor(machine)
    yield checks.address(settings.host, settings.port)
    if settings.engine_command is not None or settings.engine != "llama":
        yield Finding("engine", Verdict.SKIPPED, "llama.cpp is not used with these settings")
        return
    library = checks.library()
    yield library
    try:
        path = find_model(settings)
    except StartFailed as failed:
        yield Finding("model file", Verdict.PROBLEM, failed.message, failed.hint)
        return
    model, header = checks.model_file(path)
    yield model
    if header is None:
        return
    try:
        projector = find_projector(settings)
    except StartFailed as failed:
        yield Finding("projector", Verdict.PROBLEM, failed.message, failed.hint)
        return
    if projector is not None:
        yield checks.projector_file(projector)
    cell_bytes = checks.F32_BYTES if settings.kv_type == "f32" else checks.F16_BYTES
    room = checks.memory(header, machine, context=settings.context, cells=settings.kv_cells, cell_bytes=cell_bytes)
    yield room
    if Verdict.PROBLEM in {library.verdict, room.verdict}:
        yield Finding("self-test", Verdict.SKIPPED, "not run before the problems above are put right")
        return
    argv = (*engine_argv(settings), "--self-test")
    findings, report = kernels.self_test(argv, (*argv, SAFE_KERNELS), machine)
    yield from findings
    build = report.get("build")
    if isinstance(build, dict):
        yield checks.engine_build(machine, build)
    if "layout" in report:
        yield Finding("tuned layout", Verdict.OK, str(report["layout"]))
