"""What a fingerprint is made of: whatever changes it could change an answer, and nothing else does (S51)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dragoman.engines.llama.fingerprint import fingerprint
from dragoman.engines.llama.layout import Layout

LAYOUT = Layout(unified=False, flash_attention=False, cache_type="f16", minimum_rows=2, deterministic=True)
FACTS = {
    "weights": "0123456789ab",
    "build": {"features": "AVX2 FMA", "llama_cpp_python": "0.3.36", "dragoman": "0.1.0"},
    "layout": LAYOUT,
    "threads": 2,
    "safe_kernels": False,
    "guarantees": frozenset({"invariant", "deterministic"}),
}


@pytest.mark.seeds("S51")
def test_a_fingerprint_is_one_short_word_that_ends_in_what_is_guaranteed():
    assert re.fullmatch(r"fp_[0-9a-f]{16}_deterministic_invariant", fingerprint(**FACTS))
    assert re.fullmatch(r"fp_[0-9a-f]{16}", fingerprint(**{**FACTS, "guarantees": frozenset()}))
    assert len(fingerprint(**FACTS)) <= 64


def test_the_same_facts_have_the_same_fingerprint_in_whatever_order_they_were_gathered():
    again = {**FACTS, "build": dict(reversed(FACTS["build"].items())), "guarantees": ["invariant", "deterministic"]}
    assert fingerprint(**again) == fingerprint(**FACTS)


def test_a_fingerprint_does_not_change_from_one_release_of_python_to_the_next():
    """SHA-256 over JSON with sorted keys, worked out with another tool (sha256sum)."""
    assert fingerprint(**FACTS) == "fp_ec3585a30b6a77ef_deterministic_invariant"


@pytest.mark.parametrize(
    "change",
    [
        {"weights": "0123456789ac"},
        {"build": {**FACTS["build"], "llama_cpp_python": "0.3.37"}},
        {"build": {**FACTS["build"], "dragoman": "0.2.0"}},
        {"build": {**FACTS["build"], "features": "AVX2 FMA AVX512"}},
        {"build": {**FACTS["build"], "substitutions": "padding"}},
        {"layout": replace(LAYOUT, unified=True)},
        {"layout": replace(LAYOUT, flash_attention=True)},
        {"layout": replace(LAYOUT, cache_type="f32")},
        {"layout": replace(LAYOUT, micro_batch=64)},
        {"layout": replace(LAYOUT, minimum_rows=1)},
        {"threads": 3},
        {"safe_kernels": True},
        {"guarantees": frozenset({"invariant"})},
    ],
    ids=str,
)
def test_whatever_changes_numbers_changes_the_fingerprint(change):
    def digest(facts) -> str:
        return fingerprint(**facts).split("_")[1]

    assert digest({**FACTS, **change}) != digest(FACTS)
