from __future__ import annotations

import json

from bench import peers


def test_the_peer_is_built_with_the_flags_on_record_for_our_engine(tmp_path):
    record = tmp_path / "llama-build.json"
    note = {"key": "k", "flags": "avx2", "cmake": ["-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON"], "substitutions": ["one"]}
    record.write_text(json.dumps(note))
    assert peers.engine_flags(record) == ("-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON")


def test_without_a_record_the_fastest_set_is_assumed(tmp_path):
    assert peers.engine_flags(tmp_path / "missing.json") == (
        "-DGGML_NATIVE=ON",
        "-DCMAKE_CXX_FLAGS=-fno-dse -fno-tree-dse",
    )


def test_a_peer_that_is_there_is_not_made_again(tmp_path):
    (tmp_path / "xllamacpp-2026.10.11549" / "bin").mkdir(parents=True)
    (tmp_path / "xllamacpp-2026.10.11549" / "ready").touch()
    assert peers.xllamacpp_python(tmp_path) == tmp_path / "xllamacpp-2026.10.11549" / "bin" / "python"
