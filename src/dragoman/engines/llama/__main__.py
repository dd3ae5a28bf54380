"""``python -m dragoman.engines.llama``: the engine child. Commands on stdin, frames on stdout, log on stderr."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import llama_cpp.llama_cpp as lib

from dragoman.engines.description import describe
from dragoman.engines.llama.engine import LlamaEngine, LlamaOptions
from dragoman.engines.llama.library import LoadError
from dragoman.engines.llama.selftest import self_test
from dragoman.engines.llama.tuning import Wishes
from dragoman.engines.worker import Worker
from dragoman.protocol import EngineSession
from dragoman.protocol.frames import Caps, Frame, LoadFail, LoadProgress, Model, Ready, Telemetry


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, say what was loaded, serve until the input ends."""
    options = _parse(arguments)
    frames = _claim_stdout()
    session = EngineSession()

    def write(frame: Frame) -> None:
        os.write(frames, session.encode(frame))

    try:
        lib.llama_backend_init()
        engine = LlamaEngine(_options(options), _Progress(write))
    except LoadError as error:
        write(LoadFail(error.kind, error.detail))
        return 1
    if options.self_test:
        os.write(frames, self_test(engine).encode() + b"\n")
        return 0
    scheduler, info = engine.scheduler(), engine.info()
    write(Ready())
    write(Caps({"ext": "1", "vision": "0" if engine.eyes is None else "1"}))
    write(Model(describe(info)))
    write(Telemetry("STAT", known=True, text="0 0.00 0.0 0.00"))
    Worker(session, scheduler, engine, slots=info.slots, source=0, sink=frames).run()
    return 0


class _Progress:
    """Reports each phase in whole percents: llama.cpp calls once per tensor."""

    def __init__(self, write: Callable[[Frame], None]) -> None:
        self._write = write
        self._said = (-1, "")

    def __call__(self, part: float, phase: str) -> None:
        say = (int(100 * part), phase)
        if say != self._said:
            self._said = say
            self._write(LoadProgress(part, phase))


def _claim_stdout() -> int:
    """Keep stdout for frames alone: whatever a library prints goes to the log. A vanished reader ends us (S111)."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    frames = os.dup(1)
    os.dup2(2, 1)
    return frames


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dragoman.engines.llama", description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--projector", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--context", type=int)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--kv-cells", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--prefill-chunk", type=int)
    parser.add_argument("--layout", choices=["auto", "split", "unified"], default="auto")
    parser.add_argument("--flash-attention", choices=["auto", "on", "off"], default="auto")
    parser.add_argument("--kv-type", choices=["auto", "f16", "f32"], default="auto")
    parser.add_argument("--deterministic", choices=["auto", "on", "off"], default="auto")
    parser.add_argument("--safe-kernels", action="store_true")
    parser.add_argument("--cache-dir", type=Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    return parser.parse_args(arguments)


def _options(parsed: argparse.Namespace) -> LlamaOptions:
    """Zero stands for automatic where a number is expected."""
    return LlamaOptions(
        path=parsed.model,
        projector=parsed.projector,
        name=parsed.name,
        context=parsed.context or None,
        slots=parsed.slots,
        cells=parsed.kv_cells or None,
        threads=parsed.threads or None,
        prefill_chunk=parsed.prefill_chunk or None,
        wishes=Wishes(
            layout=parsed.layout,
            flash_attention=parsed.flash_attention,
            cache_type=parsed.kv_type,
            deterministic=parsed.deterministic,
        ),
        safe_kernels=parsed.safe_kernels,
        cache_dir=parsed.cache_dir,
        verbose=parsed.verbose,
    )


if __name__ == "__main__":
    sys.exit(main())
