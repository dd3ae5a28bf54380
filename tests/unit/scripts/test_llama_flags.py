"""Which builds of llama.cpp fit which CPU. Flags are spelt as Linux spells them in /proc/cpuinfo."""

from __future__ import annotations

import pytest

from llama_flags import cpu_flags, flag_sets, instruction_sets

HASWELL = frozenset("fpu sse4_2 avx avx2 fma f16c bmi1 bmi2".split())
SKYLAKE_SERVER = HASWELL | frozenset("avx512f avx512cd avx512bw avx512dq avx512vl".split())
ICE_LAKE_SERVER = SKYLAKE_SERVER | frozenset("avx512vbmi avx512_vnni".split())
SAPPHIRE_RAPIDS = ICE_LAKE_SERVER | frozenset("avx_vnni avx512_bf16 amx_bf16 amx_tile amx_int8".split())


def names(flags, *, system="Linux", machine="x86_64", gcc=True):
    return [one.name for one in flag_sets(system=system, machine=machine, flags=flags, gcc=gcc)]


def cmake(name, flags, *, gcc=True):
    sets = flag_sets(system="Linux", machine="x86_64", flags=flags, gcc=gcc)
    return next(one.cmake for one in sets if one.name == name)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (SAPPHIRE_RAPIDS, ["amx", "avx512", "avx2", "baseline"]),
        (ICE_LAKE_SERVER, ["avx512", "avx2", "baseline"]),
        (HASWELL, ["avx2", "baseline"]),
        (frozenset({"sse4_2", "avx"}), ["baseline"]),
        (frozenset(), ["baseline"]),
    ],
)
def test_the_fastest_build_that_the_cpu_has_comes_first_and_safer_ones_follow(flags, expected):
    assert names(flags) == expected


def test_amx_without_the_int8_instructions_is_not_tried():
    assert names(SAPPHIRE_RAPIDS - {"amx_int8"})[0] == "avx512"


def test_avx2_without_fma_is_not_enough_for_the_avx2_build():
    assert names(HASWELL - {"fma"}) == ["baseline"]


def test_gcc_builds_amx_without_the_pass_that_drops_the_tile_configuration():
    assert cmake("amx", SAPPHIRE_RAPIDS) == ("-DGGML_NATIVE=ON", "-DCMAKE_CXX_FLAGS=-fno-dse -fno-tree-dse")


def test_clang_is_not_given_flags_that_it_does_not_know():
    assert cmake("amx", SAPPHIRE_RAPIDS, gcc=False) == ("-DGGML_NATIVE=ON",)


def test_the_avx512_build_has_the_extensions_of_the_cpu_and_no_amx():
    assert cmake("avx512", ICE_LAKE_SERVER) == (
        "-DGGML_NATIVE=OFF",
        "-DGGML_SSE42=ON",
        "-DGGML_AVX=ON",
        "-DGGML_AVX2=ON",
        "-DGGML_BMI2=ON",
        "-DGGML_FMA=ON",
        "-DGGML_F16C=ON",
        "-DGGML_AVX512=ON",
        "-DGGML_AVX512_VBMI=ON",
        "-DGGML_AVX512_VNNI=ON",
    )


def test_the_baseline_turns_off_what_llama_cpp_would_turn_on_by_itself():
    assert cmake("baseline", HASWELL) == (
        "-DGGML_NATIVE=OFF",
        "-DGGML_SSE42=OFF",
        "-DGGML_AVX=OFF",
        "-DGGML_AVX2=OFF",
        "-DGGML_BMI2=OFF",
        "-DGGML_FMA=OFF",
        "-DGGML_F16C=OFF",
    )


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("Darwin", "arm64", ["default"]),
        ("Windows", "AMD64", ["default"]),
        ("Linux", "aarch64", ["default", "portable"]),
    ],
)
def test_elsewhere_llama_cpp_knows_best(system, machine, expected):
    assert names(frozenset(), system=system, machine=machine) == expected


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("Darwin", "arm64", {False}),  # Metal is on by default there
        ("Windows", "AMD64", {True}),
        ("Linux", "aarch64", {True}),
        ("Linux", "x86_64", {True}),
    ],
)
def test_only_apples_default_computes_elsewhere_than_on_the_cpu(system, machine, expected):
    sets = flag_sets(system=system, machine=machine, flags=SAPPHIRE_RAPIDS, gcc=True)
    assert {one.cpu_only for one in sets} == expected


def test_flags_are_those_of_the_first_cpu():
    text = "processor\t: 0\nflags\t\t: fpu avx2 fma\n\nprocessor\t: 1\nflags\t\t: fpu\n"
    assert cpu_flags(text) == {"fpu", "avx2", "fma"}


def test_an_arm_cpu_calls_them_features():
    assert cpu_flags("processor\t: 0\nFeatures\t: fp asimd sve\n") == {"fp", "asimd", "sve"}


def test_text_without_flags_has_none():
    assert cpu_flags("model name\t: something\n") == frozenset()


def test_flags_of_the_kernel_do_not_make_another_cpu():
    assert instruction_sets(HASWELL | {"arch_capabilities", "tsc", "md_clear"}) == HASWELL - {"fpu"}
