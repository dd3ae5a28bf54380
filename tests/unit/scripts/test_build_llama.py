"""The build script where it decides; compiling itself is what every set-up does."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_llama import BuildError, Compiler, cache_key, find_compiler, provide
from llama_flags import FlagSet

GCC = Compiler(path="/usr/bin/c++", version="g++ c++ (Debian 12.2.0-14) 12.2.0")
CLANG = Compiler(path="/usr/bin/clang++", version="Debian clang version 14.0.6")
FAST = FlagSet(name="fast", cmake=("-DFAST=ON",))
SAFE = FlagSet(name="safe", cmake=("-DFAST=OFF",))


class Bench:
    """A machine on which all wheels are built already, and on which only some compute."""

    def __init__(self, *working):
        self.working = working
        self.installed = []

    def provide(self):
        return provide((FAST, SAFE), lambda flag_set: Path(flag_set.name), self.try_out)

    def try_out(self, wheel):
        self.installed.append(wheel.name)
        if wheel.name not in self.working:
            message = "the self-test died by SIGILL"
            raise BuildError(message)


def test_the_first_build_that_computes_is_kept():
    bench = Bench("fast", "safe")
    assert bench.provide() is FAST
    assert bench.installed == ["fast"]


def test_a_build_that_crashes_gives_way_to_the_safer_one(capsys):
    bench = Bench("safe")
    assert bench.provide() is SAFE
    assert bench.installed == ["fast", "safe"]
    assert "fast is no use here: the self-test died by SIGILL" in capsys.readouterr().out


def test_when_no_build_computes_the_error_names_all_that_were_tried():
    with pytest.raises(BuildError, match=r"no build works on this machine \(tried fast, safe\)"):
        Bench().provide()


def test_another_compiler_cpu_or_flag_set_is_another_build():
    keys = {
        cache_key(FAST, GCC, frozenset({"avx2"})),
        cache_key(FAST, GCC, frozenset({"avx2", "avx512f"})),
        cache_key(FAST, CLANG, frozenset({"avx2"})),
        cache_key(SAFE, GCC, frozenset({"avx2"})),
    }
    assert len(keys) == 4


def test_a_machine_without_a_compiler_is_told_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BuildError, match=r"apt-get install g\+\+"):
        find_compiler()


@pytest.mark.parametrize(("compiler", "is_gcc"), [(GCC, True), (CLANG, False)])
def test_compilers_are_told_apart_by_what_they_say_of_themselves(compiler, is_gcc):
    assert compiler.gcc is is_gcc
