"""Where the peers come from: a cache outside the repository, filled on first use from the package registry.

llama-server is built from the llama.cpp that the installed llama-cpp-python's source distribution carries, with
the compiler flags of our own engine, so that a difference between the two is a difference of servers. It is left as its
users get it: the substitutions that our set-up makes in the engine's copy of the source are counted as ours.
xllamacpp is installed as its users get it: the prebuilt wheel.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

XLLAMACPP_VERSION: Final = "2026.10.11549"

_BUILD: Final = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_TOOLS=ON",
    "-DLLAMA_BUILD_SERVER=ON",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",  # it would be downloaded during the build
    "-DLLAMA_OPENSSL=OFF",
)
_RECORD: Final = Path(sys.prefix) / "llama-build.json"
"""Where our set-up notes which flags the engine of this environment was built with."""

_AMX: Final = ("-DGGML_NATIVE=ON", "-DCMAKE_CXX_FLAGS=-fno-dse -fno-tree-dse")
"""The flags assumed without that note: the fastest set that our set-up knows."""


class Unavailable(Exception):
    """A peer cannot be had on this machine; the message says why."""


def cache_directory() -> Path:
    """Where peers are kept: under XDG_CACHE_HOME, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman" / "bench"


def llama_cpp_version() -> str:
    """The release of llama-cpp-python whose llama.cpp our engine and the peer both run."""
    return version("llama-cpp-python")


def engine_flags(record: Path = _RECORD) -> tuple[str, ...]:
    """The CMake options that our own engine was built with."""
    try:
        return tuple(json.loads(record.read_text())["cmake"])
    except FileNotFoundError:
        return _AMX


def llama_server(cache: Path) -> Path:
    """The llama-server program, built if it is not there yet (5 to 8 minutes on two cores).

    Raises ``Unavailable`` when it cannot be built.
    """
    release, flags = llama_cpp_version(), engine_flags()
    digest = hashlib.sha256(" ".join(flags).encode()).hexdigest()[:8]
    home = cache / f"llama-server-{release}-{digest}"
    program = home / "llama-server"
    if program.exists():
        return program
    for tool in ("cmake", "c++"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        source = _llama_cpp_source(release, Path(scratch))
        build = Path(scratch) / "build"
        generator = ("-G", "Ninja") if shutil.which("ninja") else ()
        _run("cmake", *generator, "-S", str(source), "-B", str(build), *_BUILD, *flags)
        _run("cmake", "--build", str(build), "--target", "llama-server", "-j", str(os.cpu_count() or 1))
        partial = program.with_suffix(".partial")
        shutil.copy2(build / "bin" / "llama-server", partial)
        partial.rename(program)
    return program


def xllamacpp_python(cache: Path) -> Path:
    """The Python of an environment that has xllamacpp and nothing else. Raises ``Unavailable`` when it cannot be made."""
    home = cache / f"xllamacpp-{XLLAMACPP_VERSION}"
    python = home / "bin" / "python"
    ready = home / "ready"
    if not ready.exists():
        _run(sys.executable, "-m", "venv", "--clear", str(home))
        _run(str(python), "-m", "pip", "install", "--quiet", "--only-binary=:all:", f"xllamacpp=={XLLAMACPP_VERSION}")
        ready.touch()
    return python


def _llama_cpp_source(release: str, scratch: Path) -> Path:
    requirement = f"llama-cpp-python=={release}"
    download = ("download", "--quiet", "--no-deps", "--no-binary=llama-cpp-python", "--dest", str(scratch))
    _run(sys.executable, "-m", "pip", *download, requirement)
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(scratch, filter="data")
    (source,) = scratch.glob("*/vendor/llama.cpp")
    return source


def _run(*command: str) -> None:
    """Run a step, its output on ours. Raises ``Unavailable`` when it fails."""
    result = subprocess.run(command, stdout=sys.stderr, check=False)
    if result.returncode != 0:
        raise Unavailable(f"`{' '.join(command[:4])} …` ended with {result.returncode}")
