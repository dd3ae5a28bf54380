"""Which layouts are tried, which one wins, and which memory of a trial counts. The trials themselves need a model."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

pytest.importorskip("llama_cpp")

from dragoman.engines.llama.layout import Layout
from dragoman.engines.llama.memo import Memo
from dragoman.engines.llama.tuning import Trial, Wishes, _choose_blindly, _remembered, candidates, choose

SPLIT = Layout(unified=False, flash_attention=False, cache_type="f16")
FLASH = replace(SPLIT, flash_attention=True)
EXACT = replace(SPLIT, minimum_rows=2, deterministic=True)


def tried(*, split_fits: bool = True, **wishes) -> list[tuple[bool, bool, str]]:
    layouts = candidates(Wishes(**wishes), split_fits=split_fits)
    return [(layout.unified, layout.flash_attention, layout.cache_type) for layout in layouts]


def test_a_split_cache_is_tried_where_it_fits_and_a_unified_one_where_not() -> None:
    assert tried() == [(False, False, "f16"), (False, True, "f16")]
    assert tried(split_fits=False) == [(True, False, "f16"), (True, True, "f16")]


@pytest.mark.parametrize("split_fits", [True, False])
@pytest.mark.parametrize(("layout", "unified"), [("split", False), ("unified", True)])
def test_a_layout_that_was_asked_for_is_the_only_one(layout, unified, split_fits) -> None:
    assert {entry[0] for entry in tried(layout=layout, split_fits=split_fits)} == {unified}


@pytest.mark.parametrize(("wish", "values"), [("auto", [False, True]), ("off", [False]), ("on", [True])])
def test_flash_attention_is_tried_as_wished(wish, values) -> None:
    assert [entry[1] for entry in tried(flash_attention=wish)] == values


@pytest.mark.parametrize(("wish", "type_"), [("auto", "f16"), ("f16", "f16"), ("f32", "f32")])
def test_a_float32_cache_is_tried_only_on_request(wish, type_) -> None:
    assert {entry[2] for entry in tried(cache_type=wish)} == {type_}


def test_candidates_are_neither_padded_nor_said_to_be_deterministic() -> None:
    assert {(layout.minimum_rows, layout.deterministic) for layout in candidates(Wishes(), split_fits=True)} == {
        (1, False)
    }


def trial(
    layout: Layout, *, prefill: float = 1.0, alone: float = 1.0, together: float = 1.0, copy: float = 0.1
) -> Trial:
    return Trial(layout=layout, prefill=prefill, alone=alone, together=together, copy=copy)


@pytest.mark.parametrize(
    ("exact", "wish", "wins"),
    [
        ({"together": 1.09}, "auto", "exact"),  # determinism may cost a tenth
        ({"together": 1.11}, "auto", "flash"),
        ({"prefill": 1.11}, "auto", "flash"),
        ({"alone": 1.11}, "auto", "flash"),
        ({"prefill": 1.09, "alone": 1.09, "together": 1.09, "copy": 9.0}, "auto", "exact"),  # of each kind of work
        ({"prefill": 0.1, "together": 1.11}, "auto", "exact"),  # the faster one on the whole
        ({"together": 9.0}, "on", "exact"),
        ({"together": 1.01}, "off", "flash"),
        ({"together": 0.99}, "off", "exact"),
    ],
)
def test_a_deterministic_layout_wins_unless_it_costs_more_than_a_tenth(exact, wish, wins) -> None:
    trials = [trial(FLASH), trial(EXACT, **exact)]
    assert choose(trials, wish).layout == {"exact": EXACT, "flash": FLASH}[wins]


def test_the_fastest_of_the_deterministic_layouts_wins() -> None:
    quicker = replace(FLASH, deterministic=True)
    for wish in ("auto", "on"):
        assert choose([trial(EXACT, alone=2.0), trial(quicker)], wish).layout == quicker


@pytest.mark.parametrize("wish", ["auto", "off"])
def test_without_a_deterministic_layout_the_fastest_wins(wish) -> None:
    assert choose([trial(SPLIT, alone=2.0), trial(FLASH)], wish).layout == FLASH


def test_determinism_that_nobody_has_is_refused_when_it_was_asked_for() -> None:
    with pytest.raises(ValueError, match="deterministically"):
        choose([trial(SPLIT), trial(FLASH)], "on")


def test_a_copy_costs_as_many_tokens_as_could_be_read_meanwhile_and_never_none() -> None:
    # 256 tokens take a second to read, so a copy of a quarter of a second is worth 64.
    assert trial(SPLIT, copy=0.25).copy_cost == 65
    assert trial(SPLIT, copy=0.0).copy_cost == 1


def test_the_best_of_two_trials_has_the_smaller_of_each_time() -> None:
    first = trial(SPLIT, prefill=1, alone=5, together=2, copy=0.5)
    second = trial(SPLIT, prefill=3, alone=4, together=6, copy=0.25)
    assert first.best(second) == second.best(first) == trial(SPLIT, prefill=1, alone=4, together=2, copy=0.25)


def test_a_spoiled_measurement_decides_nothing_against_determinism() -> None:
    trials = [trial(EXACT, alone=9.0), trial(FLASH)]
    assert _choose_blindly(trials, "auto").layout == EXACT
    assert _choose_blindly(trials, "off").layout == FLASH
    assert _choose_blindly([trial(SPLIT, alone=9.0), trial(FLASH)], "auto").layout == FLASH


@pytest.fixture
def memo(tmp_path):
    return Memo(tmp_path / "tuning.json", "model")


@pytest.mark.parametrize("variants", [[EXACT, FLASH], [SPLIT, FLASH]])
def test_trials_of_the_same_layouts_are_remembered_with_what_was_found(memo, variants) -> None:
    trials = [trial(layout, copy=0.25) for layout in variants]
    memo.save(msgspec.to_builtins(trials))
    assert _remembered(memo, [SPLIT, FLASH]) == trials


@pytest.mark.parametrize("layouts", [[SPLIT], [FLASH, SPLIT], [replace(SPLIT, unified=True), FLASH]])
def test_trials_of_other_layouts_do_not_count(memo, layouts) -> None:
    memo.save(msgspec.to_builtins([trial(EXACT), trial(FLASH)]))
    assert _remembered(memo, layouts) == []


def spoiled(**fields):
    return [msgspec.to_builtins(trial(SPLIT)) | fields]


@pytest.mark.parametrize(
    "value",
    [None, 7, "x", {}, [7], [{}], spoiled(layout={}), spoiled(layout={"unified": False}), spoiled(prefill="fast")],
    ids=str,
)
def test_what_is_no_list_of_trials_does_not_count(memo, value) -> None:
    memo.save(value)
    assert _remembered(memo, [SPLIT]) == []
