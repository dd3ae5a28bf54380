"""Build llama.cpp for this CPU, prove it, and install it into the environment that runs this script.

The builds that fit the CPU (``llama_flags``) are tried in order. Each is compiled from the pinned source with our
substitutions (``llama_source``) to a wheel in a cache outside the tree, so a fresh checkout on the same machine builds
nothing. A build that fails, or whose self-test decode (``prove_llama``) crashes, gives way to the next safer one.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from llama_flags import FlagSet, cpu_flags, flag_sets, instruction_sets
from llama_source import CPU_SUBSTITUTIONS, Substitution, unpack

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "engine.lock"
TRIM = ROOT / "scripts" / "llama_trim.cmake"
PROOF = ROOT / "scripts" / "prove_llama.py"
RECORD = Path(sys.prefix) / "llama-build.json"  # beside what it describes; gone with the environment
APPLIED = "substitutions.json"  # beside a wheel in the cache: the names of those that fitted its source
DISTRIBUTION = "llama-cpp-python"

PROGRESS_SECONDS = 10.0  # a build takes minutes; say at least this often how far it is
PROOF_SECONDS = 120.0  # the self-test takes one or two; one that hangs is as bad as one that crashes
NO_COMPILER = """no C and C++ compiler found (looked for $CC and $CXX, then cc, gcc, clang and c++, g++, clang++).
llama.cpp is compiled for your CPU and needs one:
  Debian, Ubuntu:  apt-get install g++
  Fedora:          dnf install gcc-c++
  macOS:           xcode-select --install"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """The C++ compiler that CMake will take, and what it calls itself."""

    path: str
    version: str

    @property
    def gcc(self) -> bool:
        """Whether this is GCC, whatever the command is called."""
        return "clang" not in self.version.lower() and re.search(r"g\+\+|gcc|GCC", self.version) is not None


class BuildError(Exception):
    """A build that cannot be used, and why, for people."""


def find_compiler() -> Compiler:
    """The compiler that CMake will find; raises ``BuildError`` where there is none."""
    c = _first_command(os.environ.get("CC"), "cc", "gcc", "clang")
    cxx = _first_command(os.environ.get("CXX"), "c++", "g++", "clang++")
    if c is None or cxx is None:
        raise BuildError(NO_COMPILER)
    answer = subprocess.run([cxx, "--version"], capture_output=True, text=True, check=False)
    lines = answer.stdout.splitlines()
    # Debian's c++ calls itself "c++ (Debian …)"; the second line names the Free Software Foundation.
    name = "g++ " if any("Free Software Foundation" in line for line in lines) else ""
    return Compiler(path=cxx, version=name + (lines[0] if lines else "unknown"))


def _first_command(*names: str | None) -> str | None:
    return next((found for name in names if name and (found := shutil.which(name))), None)


def locked_version() -> str:
    """The one version that the lock allows."""
    match = re.search(rf"^{DISTRIBUTION}==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        message = f"{LOCK.name} does not pin {DISTRIBUTION}"
        raise BuildError(message)
    return match[1]


def cache_directory() -> Path:
    """Where wheels are kept between checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman" / "wheels"


def substitutions_for(flag_set: FlagSet) -> tuple[Substitution, ...]:
    """Those that a build tries to make."""
    return CPU_SUBSTITUTIONS if flag_set.cpu_only else ()


def cache_key(
    flag_set: FlagSet, compiler: Compiler, flags: frozenset[str], substitutions: tuple[Substitution, ...]
) -> str:
    """Names a build by all that it depends on; another compiler, CPU, version or substitution is another build."""
    facts = [
        locked_version(),
        compiler.version,
        platform.system(),
        platform.machine(),
        *flag_set.cmake,
        *sorted(instruction_sets(flags)),
        TRIM.read_text(encoding="utf-8"),
        *(fact for one in substitutions for fact in (one.name, one.file, one.old, one.new)),
    ]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()
    return f"{flag_set.name}-{digest[:12]}"


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"llama.cpp: {text}", flush=True)


def build_wheel(flag_set: FlagSet, key: str) -> Path:
    """Compile one wheel into the cache; raises ``BuildError`` with the end of what pip and the compiler said."""
    target = cache_directory() / key
    target.mkdir(parents=True, exist_ok=True)
    log = target / "build.log"
    log.unlink(missing_ok=True)
    cmake = [*flag_set.cmake, f"-DCMAKE_PROJECT_llama_cpp_INCLUDE={TRIM}"]
    environment = {
        **os.environ,
        "CMAKE_ARGS": " ".join(f"'{argument}'" for argument in cmake),
        "SKBUILD_WHEEL_EXCLUDE": "/lib;/include",  # upstream packs its libraries twice; this is the copy nobody loads
    }
    with tempfile.TemporaryDirectory(prefix="building-", dir=target) as scratch:
        source = fetch_source(Path(scratch), log)
        applied = substitute(source, substitutions_for(flag_set))
        command = [*_pip("wheel"), "--verbose", "--wheel-dir", scratch, str(source)]
        code = _run_with_progress("starting the build", command, environment, log)
        built = next(iter(Path(scratch).glob("*.whl")), None)
        if code != 0 or built is None:
            raise BuildError(f"the {flag_set.name} build failed (exit {code}); {_end_of(log)}")
        (target / APPLIED).write_text(json.dumps(applied) + "\n", encoding="utf-8")
        return built.replace(target / built.name)


def fetch_source(into: Path, log: Path) -> Path:
    """The unpacked source distribution whose hash the lock has; raises ``BuildError`` where it cannot be had."""
    command = [*_pip("download"), "--require-hashes", "--no-binary", DISTRIBUTION]
    command += ["--requirement", str(LOCK), "--dest", str(into)]
    code = _run_with_progress("fetching the source", command, dict(os.environ), log)
    archive = next(iter(into.glob("*.tar.gz")), None)
    if code != 0 or archive is None:
        raise BuildError(f"the source cannot be fetched (exit {code}); {_end_of(log)}")
    return unpack(archive, into)


def substitute(source: Path, substitutions: tuple[Substitution, ...]) -> list[str]:
    """Make those that fit the source, say which do not, and return the names of the former."""
    applied = []
    for substitution in substitutions:
        fault = substitution.apply(source)
        if fault is None:
            applied.append(substitution.name)
        else:
            say(f"building without {substitution.name}: {fault}")
    return applied


def _pip(command: str) -> list[str]:
    # Build tools are those of build.lock; pip's cache of wheels does not know our flags.
    options = ["--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--no-build-isolation"]
    return [sys.executable, "-m", "pip", command, *options]


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join([f"the end of {log}:", *lines[-25:]])


def _run_with_progress(stage: str, command: list[str], environment: dict[str, str], log: Path) -> int:
    started = told = time.monotonic()
    with (
        log.open("a", encoding="utf-8") as copy,
        subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        for line in process.stdout or ():
            copy.write(line)
            if step := re.search(r"\[(\d+)/(\d+)\]", line):
                stage = f"compiled {step[1]} of {step[2]}"
            now = time.monotonic()
            if now - told >= PROGRESS_SECONDS:
                told = now
                say(f"  {stage}, {now - started:.0f} s")
    say(f"  {stage}, {time.monotonic() - started:.0f} s in all")
    return process.returncode


def install(wheel: Path) -> None:
    """Put the wheel into this environment, over whatever is there."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command += ["--no-index", "--no-deps", "--force-reinstall", str(wheel)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def prove() -> None:
    """Let the installed build compute in a child process; raises ``BuildError`` where it cannot."""
    try:
        answer = subprocess.run(
            [sys.executable, str(PROOF)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROOF_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"the self-test did not end within {PROOF_SECONDS:.0f} s"
        raise BuildError(message) from error
    if answer.returncode < 0:
        message = f"the self-test died by {signal.Signals(-answer.returncode).name}"
        raise BuildError(message)
    if answer.returncode > 0:
        message = f"the self-test failed: {answer.stderr.strip()[-500:]}"
        raise BuildError(message)
    say(answer.stdout.strip())


def provide(
    sets: tuple[FlagSet, ...], wheel_for: Callable[[FlagSet], Path], try_out: Callable[[Path], None]
) -> FlagSet:
    """Find the first of ``sets`` whose wheel can be had and proves itself, and leave it installed.

    Raises ``BuildError`` when none does; the two callables raise it for one that does not.
    """
    for flag_set in sets:
        try:
            try_out(wheel_for(flag_set))
        except BuildError as error:
            say(f"{flag_set.name} is no use here: {error}")
        else:
            return flag_set
    message = f"no build works on this machine (tried {', '.join(one.name for one in sets)})"
    raise BuildError(message)


def wheel_from_cache_or_source(flag_set: FlagSet, key: str) -> Path:
    """The wheel of an earlier build, or one that is built now."""
    wheel = next(iter(sorted((cache_directory() / key).glob("*.whl"))), None)
    if wheel is not None:
        say(f"taking the {flag_set.name} build from {wheel.parent}")
        return wheel
    say(f"building for {flag_set.name} (some minutes, once for this machine)")
    return build_wheel(flag_set, key)


def install_and_prove(wheel: Path) -> None:
    """Put the wheel into this environment and let it compute."""
    install(wheel)
    prove()


def proven_key() -> str | None:
    """The key of the build that is installed here and was proven, if the installed version is still the locked one."""
    try:
        if importlib.metadata.version(DISTRIBUTION) != locked_version():
            return None
        return str(json.loads(RECORD.read_text(encoding="utf-8"))["key"])
    except (importlib.metadata.PackageNotFoundError, OSError, ValueError, KeyError):
        return None


def main() -> int:
    """Read the machine, then provide a build; 0 when one is installed and proven."""
    parser = argparse.ArgumentParser(description="Build llama.cpp for this CPU, prove it and install it here.")
    parser.add_argument(
        "--only", metavar="NAME", help="build this flag set (amx, avx512, avx2, baseline, …) and no other"
    )
    parser.add_argument("--list", action="store_true", help="print the flag sets that fit this CPU, and stop")
    arguments = parser.parse_args()
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpu_flags(cpuinfo.read_text(encoding="utf-8", errors="replace")) if cpuinfo.exists() else frozenset()
    try:
        compiler = find_compiler()
        sets = flag_sets(system=platform.system(), machine=platform.machine(), flags=flags, gcc=compiler.gcc)
        if arguments.list:
            for flag_set in sets:
                print(flag_set.name, *flag_set.cmake)
            return 0
        sets = tuple(one for one in sets if arguments.only in {None, one.name})
        if not sets:
            raise BuildError(f"{arguments.only} is not one of the flag sets that fit this CPU; --list shows them")
        keys = {one.name: cache_key(one, compiler, flags, substitutions_for(one)) for one in sets}
        if proven_key() in keys.values():
            say("already built and proven in this environment")
            return 0
        chosen = provide(sets, lambda one: wheel_from_cache_or_source(one, keys[one.name]), install_and_prove)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    key = keys[chosen.name]
    record = {
        "key": key,
        "flags": chosen.name,
        "cmake": chosen.cmake,
        "compiler": compiler.version,
        "substitutions": json.loads((cache_directory() / key / APPLIED).read_text(encoding="utf-8")),
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
