"""The build script where it decides; compiling itself is what every set-up does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from build_llama import BuildError, Compiler, cache_key, find_compiler, provide, substitute, substitutions_for
from llama_flags import FlagSet
from llama_source import Substitution

GCC = Compiler(path="/usr/bin/c++", version="g++ c++ (Debian 12.2.0-14) 12.2.0")
CLANG = Compiler(path="/usr/bin/clang++", version="Debian clang version 14.0.6")
FAST = FlagSet(name="fast", cmake=("-DFAST=ON",))
SAFE = FlagSet(name="safe", cmake=("-DFAST=OFF",))
HALVES = Substitution(name="halves", reason="it is faster", file="pad.cpp", old="pad = 256;", new="pad = 128;")
THIRDS = replace(HALVES, name="thirds", file="other.cpp")


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
        cache_key(FAST, GCC, frozenset({"avx2"}), ()),
        cache_key(FAST, GCC, frozenset({"avx2", "avx512f"}), ()),
        cache_key(FAST, CLANG, frozenset({"avx2"}), ()),
        cache_key(SAFE, GCC, frozenset({"avx2"}), ()),
    }
    assert len(keys) == 4


def test_another_substitution_is_another_build_and_another_reason_for_it_is_not():
    def key(*substitutions):
        return cache_key(FAST, GCC, frozenset({"avx2"}), substitutions)

    assert len({key(), key(HALVES), key(THIRDS), key(HALVES, THIRDS), key(replace(HALVES, new="pad = 64;"))}) == 5
    assert key(HALVES) == key(replace(HALVES, reason="it is much faster"))


def test_substitutions_that_do_not_fit_are_told_and_left_out(tmp_path, capsys):
    (tmp_path / "pad.cpp").write_text("int pad = 256;\n", encoding="utf-8")
    assert substitute(tmp_path, (THIRDS, HALVES)) == ["halves"]
    assert (tmp_path / "pad.cpp").read_text(encoding="utf-8") == "int pad = 128;\n"
    said = capsys.readouterr().out.splitlines()
    assert said == ["llama.cpp: building without thirds: this version has no other.cpp"]


def test_only_builds_for_the_cpu_alone_are_given_substitutions():
    assert substitutions_for(FAST) != ()
    assert substitutions_for(replace(FAST, cpu_only=False)) == ()


def test_a_machine_without_a_compiler_is_told_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BuildError, match=r"apt-get install g\+\+"):
        find_compiler()


@pytest.mark.parametrize(("compiler", "is_gcc"), [(GCC, True), (CLANG, False)])
def test_compilers_are_told_apart_by_what_they_say_of_themselves(compiler, is_gcc):
    assert compiler.gcc is is_gcc
