"""Chooses the cache layout by trying: some seconds, once per model, build and machine.

What a busy machine spoiled is not remembered, and decides nothing against determinism. A trial does what servers do: read a prompt, share a long one with other sequences, decode after it alone and together. A deterministic
layout wins unless it is more than ``DETERMINISM_WORTH`` slower than the fastest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from functools import reduce
from typing import Literal, TypeAlias

import llama_cpp.llama_cpp as lib
import msgspec

from dragoman.core.json import Json
from dragoman.engines.llama.disturbance import Disturbance
from dragoman.engines.llama.exactness import is_exact
from dragoman.engines.llama.layout import CacheType, Layout
from dragoman.engines.llama.memo import Memo
from dragoman.engines.llama.probe import Probe

Switch: TypeAlias = Literal["auto", "on", "off"]

DETERMINISM_WORTH = 0.10

_LONG = 768
_SHORT = 256
_CHUNK = 128
_TOGETHER = 8
_STEPS = 4
_ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What flags leave open. ``auto`` leaves both values."""

    layout: Literal["auto", "split", "unified"] = "auto"
    flash_attention: Switch = "auto"
    cache_type: Literal["auto", "f16", "f32"] = "auto"
    deterministic: Switch = "auto"


@dataclass(frozen=True, slots=True)
class Trial:
    """What a layout costs: seconds of the trial, and how many tokens could be computed in the time of one copy."""

    layout: Layout
    seconds: float
    copy_cost: int

    def to_json(self) -> Json:
        """For the memo."""
        return {"layout": self.layout.to_json(), "seconds": self.seconds, "copy_cost": self.copy_cost}


def candidates(wishes: Wishes, *, split_fits: bool) -> Iterator[Layout]:
    """The layouts that are worth a trial.

    Where a split cache fits, a unified one is tried only on request: its rows attend over everybody's cells. A float32 cache is
    tried only on request, too: it needs twice the memory, and was never faster.
    """
    unified = not split_fits if wishes.layout == "auto" else wishes.layout == "unified"
    cache_type: CacheType = "f16" if wishes.cache_type == "auto" else wishes.cache_type
    for flash_attention in (False, True):
        if wishes.flash_attention != ("off" if flash_attention else "on"):
            yield Layout(unified=unified, flash_attention=flash_attention, cache_type=cache_type)


def choose(trials: list[Trial], deterministic: Switch) -> Trial:
    """The best trial. Raises ``ValueError`` if determinism was asked for and none has it."""
    exact = [trial for trial in trials if trial.layout.deterministic]
    fastest = min(trials, key=lambda trial: trial.seconds)
    if deterministic == "on" and not exact:
        raise ValueError("no cache layout computes this model deterministically on this machine")
    if deterministic == "off" or not exact:
        return fastest
    best = min(exact, key=lambda trial: trial.seconds)
    return best if deterministic == "on" or best.seconds <= fastest.seconds * (1 + DETERMINISM_WORTH) else fastest


def tune(
    model: lib.llama_model_p,
    wishes: Wishes,
    memo: Memo,
    *,
    split_fits: bool,
    threads: int,
    progress: Callable[[float], None],
) -> Trial:
    """The layout to use, remembered or measured. Raises ``ValueError`` as ``choose`` does."""
    layouts = list(candidates(wishes, split_fits=split_fits))
    trials = _remembered(memo, layouts)
    if not trials:
        progress(0)
        layouts = [_made_exact(model, layout, threads=threads) for layout in layouts]
        progress(0.5)
        disturbance = Disturbance()
        trials = _measure_in_turn(model, layouts, threads=threads)
        if disturbance.seen() and wishes.deterministic == "auto":
            exact = [trial for trial in trials if trial.layout.deterministic]
            return choose(exact or trials, wishes.deterministic)
        memo.save([trial.to_json() for trial in trials])
    return choose(trials, wishes.deterministic)


def _made_exact(model: lib.llama_model_p, layout: Layout, *, threads: int) -> Layout:
    """The layout with the padding that makes it deterministic, or as it was if none does."""
    for minimum in (1, 2):
        padded = replace(layout, minimum_rows=minimum)
        with Probe(model, padded, threads=threads) as probe:
            if is_exact(probe):
                return replace(padded, deterministic=True)
    return layout


def _measure_in_turn(model: lib.llama_model_p, layouts: list[Layout], *, threads: int) -> list[Trial]:
    """Rounds that visit every layout, the best of each kind of work kept: a busy neighbour then hits all alike, or none."""
    with ExitStack() as stack:
        probes = [stack.enter_context(Probe(model, layout, threads=threads)) for layout in layouts]
        for probe in probes:
            probe.prefill(0, probe.tokens(_LONG, seed=1), chunk=_CHUNK)
        rounds = [[_Work.of(probe) for probe in probes] for _ in range(_ROUNDS)]
    best = [reduce(_Work.best, works) for works in zip(*rounds, strict=True)]
    return [work.trial(layout) for work, layout in zip(best, layouts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Work:
    """Seconds of each kind of work: reading ``_SHORT`` tokens, copying ``_LONG`` ones, decoding after ``_LONG`` of them."""

    prefill: float
    copy: float
    alone: float
    together: float

    @classmethod
    def of(cls, probe: Probe) -> _Work:
        """Sequence 0 holds a long prompt already; the others share it."""
        group = range(1, 1 + _TOGETHER)
        steps = [[(index, _LONG + step, [step]) for index in group] for step in range(1 + _STEPS)]
        copies = _seconds(lambda: _share(probe, group))
        together = _seconds(lambda: [probe.compute(*step) for step in steps[1:]])
        alone = _seconds(lambda: [probe.compute((1, _LONG + 1 + _STEPS + step, [step])) for step in range(_STEPS)])
        prefill = _seconds(lambda: probe.prefill(1, probe.tokens(_SHORT, seed=2), chunk=_CHUNK))
        return cls(prefill, max(0.0, copies - together / _STEPS) / _TOGETHER, alone, together)

    def best(self, other: _Work) -> _Work:
        """The smaller of each."""
        return _Work(*map(min, astuple(self), astuple(other)))

    def trial(self, layout: Layout) -> Trial:
        """What a layout costs by this work."""
        copy_cost = 1 + round(self.copy / self.prefill * _SHORT)
        return Trial(layout, round(self.prefill + self.alone + self.together, 4), copy_cost)


def _share(probe: Probe, group: range) -> None:
    for target in group:
        probe.copy(0, target, _LONG)
    probe.compute(*((target, _LONG, [1]) for target in group))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _remembered(memo: Memo, layouts: list[Layout]) -> list[Trial]:
    """The memo's trials, if they are of exactly these layouts."""
    try:
        trials = msgspec.convert(memo.load() or [], list[Trial])
    except msgspec.ValidationError:
        return []
    same = [replace(trial.layout, minimum_rows=1, deterministic=False) for trial in trials] == layouts
    return trials if same else []
