"""Which ways to build llama.cpp fit a CPU, fastest first. Pure: from what the CPU says to CMake options.

llama.cpp's own default is "whatever this compiler makes of this CPU", which is neither safe nor portable: on CPUs with AMX,
GCC 12's dead-store elimination drops the stores that fill the tile configuration before ``ldtilecfg``, and the first prefill
dies by SIGILL. Without that pass AMX works, and prefill is five times faster than with AVX-512.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagSet:
    """One way to build: a name for people and file names, CMake's arguments, and whether only the CPU will compute."""

    name: str
    cmake: tuple[str, ...]
    cpu_only: bool = True


DEFAULT = FlagSet(name="default", cmake=())
DEFAULT_WITH_METAL = FlagSet(name="default", cmake=(), cpu_only=False)

# GGML_NATIVE=OFF turns these on by itself, so a build that may not use them says so.
_X86_STEPS = ("SSE42", "AVX", "AVX2", "BMI2", "FMA", "F16C")
_NEEDS_AVX2 = frozenset({"avx2", "fma", "f16c", "bmi2"})
_NEEDS_AVX512 = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})
_NEEDS_AMX = frozenset({"amx_tile", "amx_int8"})
# CMake option by the kernel's name of the CPU flag: extensions that are worth having where they are.
_AVX2_EXTRAS = {"avx_vnni": "GGML_AVX_VNNI"}
_AVX512_EXTRAS = {
    "avx512vbmi": "GGML_AVX512_VBMI",
    "avx512_vnni": "GGML_AVX512_VNNI",
    "avx512_bf16": "GGML_AVX512_BF16",
}


def cpu_flags(cpuinfo: str) -> frozenset[str]:
    """The flags of the first CPU in the text of ``/proc/cpuinfo``; empty where it lists none."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"flags", "Features"}:
            return frozenset(value.split())
    return frozenset()


def instruction_sets(flags: frozenset[str]) -> frozenset[str]:
    """Those of ``flags`` that a compiler could make use of; the others come and go with kernels and hypervisors."""
    return frozenset(flag for flag in flags if flag.startswith(("amx", "avx", "bmi", "f16c", "fma", "sse", "ssse")))


def flag_sets(*, system: str, machine: str, flags: frozenset[str], gcc: bool) -> tuple[FlagSet, ...]:
    """Builds to try in this order, each safer than the one before.

    ``system`` and ``machine`` are spelt as ``platform`` spells them. Elsewhere than on x86 under Linux llama.cpp's default
    is the one choice, and a portable build the other.
    """
    if system == "Darwin":
        return (DEFAULT_WITH_METAL,)
    if system != "Linux":
        return (DEFAULT,)
    if machine not in {"x86_64", "AMD64"}:
        return (DEFAULT, FlagSet(name="portable", cmake=("-DGGML_NATIVE=OFF",)))
    sets = []
    has_avx2 = flags >= _NEEDS_AVX2
    has_avx512 = has_avx2 and flags >= _NEEDS_AVX512
    if has_avx512 and flags >= _NEEDS_AMX:
        sets.append(_amx(gcc=gcc))
    if has_avx512:
        extras = {**_AVX2_EXTRAS, **_AVX512_EXTRAS}
        sets.append(FlagSet(name="avx512", cmake=(*_portable(_X86_STEPS), "-DGGML_AVX512=ON", *_extras(extras, flags))))
    if has_avx2:
        sets.append(FlagSet(name="avx2", cmake=(*_portable(_X86_STEPS), *_extras(_AVX2_EXTRAS, flags))))
    sets.append(FlagSet(name="baseline", cmake=_portable(())))
    return tuple(sets)


def _amx(*, gcc: bool) -> FlagSet:
    # Clang has no such defect and does not know the flags.
    mending = ("-DCMAKE_CXX_FLAGS=-fno-dse -fno-tree-dse",) if gcc else ()
    return FlagSet(name="amx", cmake=("-DGGML_NATIVE=ON", *mending))


def _portable(steps: tuple[str, ...]) -> tuple[str, ...]:
    return ("-DGGML_NATIVE=OFF", *(f"-DGGML_{step}={'ON' if step in steps else 'OFF'}" for step in _X86_STEPS))


def _extras(options: dict[str, str], flags: frozenset[str]) -> tuple[str, ...]:
    return tuple(f"-D{option}=ON" for flag, option in options.items() if flag in flags)
