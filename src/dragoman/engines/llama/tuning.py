"""Chooses the cache layout by trying: some seconds, once per model, build and machine.

What a busy machine spoiled is not believed, and not remembered. A trial does what servers do: read a prompt, share a long one with other sequences, decode after it alone and together. A deterministic
layout wins unless some kind of work is more than ``DETERMINISM_WORTH`` slower than in the fastest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeAlias

import llama_cpp.llama_cpp as lib
import msgspec

from dragoman.engines.llama.disturbance import Disturbance
from dragoman.engines.llama.exactness import is_exact
from dragoman.engines.llama.layout import CacheType, Layout
from dragoman.engines.llama.memo import Memo
from dragoman.engines.llama.probe import Probe

Switch: TypeAlias = Literal["auto", "on", "off"]

DETERMINISM_WORTH = 0.10

VERSION = "3"
"""Of the trial: what another version measured is measured again."""


_LONG = 640
_SHORT = 256
_CHUNK = 128
_TOGETHER = 8
_STEPS = 3
_ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What flags leave open. ``auto`` leaves both values."""

    layout: Literal["auto", "split", "unified"] = "auto"
    flash_attention: Switch = "auto"
    cache_type: Literal["auto", "f16", "f32"] = "auto"
    deterministic: Switch = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a layout costs, in seconds of each kind of work.

    ``prefill``: reading ``_SHORT`` tokens. ``alone`` and ``together``: decoding after ``_LONG`` of them. ``copy``: sharing those once.
    """

    layout: Layout
    prefill: float
    alone: float
    together: float
    copy: float

    @property
    def seconds(self) -> float:
        """All that a request waits for."""
        return self.prefill + self.alone + self.together

    @property
    def prefill_tokens_per_second(self) -> float:
        """How fast a prompt is read."""
        return _SHORT / self.prefill

    @property
    def copy_cost(self) -> int:
        """How many tokens could be read in the time of one copy."""
        return 1 + round(self.copy * self.prefill_tokens_per_second)

    def best(self, other: Trial) -> Trial:
        """The smaller of each, of two trials of one layout."""
        return Trial(
            layout=self.layout,
            prefill=min(self.prefill, other.prefill),
            alone=min(self.alone, other.alone),
            together=min(self.together, other.together),
            copy=min(self.copy, other.copy),
        )

    def slowdown(self, other: Trial) -> float:
        """The worst ratio to another trial, over the kinds of work that a request waits for."""
        return max(self.prefill / other.prefill, self.alone / other.alone, self.together / other.together)


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
    return best if deterministic == "on" or best.slowdown(fastest) <= 1 + DETERMINISM_WORTH else fastest


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
        disturbance = Disturbance(threads)
        trials = _measure_in_turn(model, layouts, threads=threads)
        if disturbance.seen():
            return _choose_blindly(trials, wishes.deterministic)
        memo.save(msgspec.to_builtins(trials))
    return choose(trials, wishes.deterministic)


def _choose_blindly(trials: list[Trial], deterministic: Switch) -> Trial:
    """Where times say nothing, what is exact is better."""
    exact = any(trial.layout.deterministic for trial in trials)
    return choose(trials, "on" if exact and deterministic == "auto" else deterministic)


def _made_exact(model: lib.llama_model_p, layout: Layout, *, threads: int) -> Layout:
    """The layout with the padding that makes it deterministic, or as it was if none does. The padding costs nothing measurable."""
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
        pairs = list(zip(layouts, probes, strict=True))
        rounds = [[_trial(layout, probe) for layout, probe in pairs] for _ in range(_ROUNDS)]
    return [reduce(Trial.best, trials) for trials in zip(*rounds, strict=True)]


def _trial(layout: Layout, probe: Probe) -> Trial:
    """Sequence 0 holds a long prompt already; the others share it."""
    group = range(1, 1 + _TOGETHER)
    steps = [[(index, _LONG + step, [step]) for index in group] for step in range(1 + _STEPS)]
    copies = _seconds(lambda: _share(probe, group))
    together = _seconds(lambda: [probe.compute(*step) for step in steps[1:]])
    alone = _seconds(lambda: [probe.compute((1, _LONG + 1 + _STEPS + step, [step])) for step in range(_STEPS)])
    return Trial(
        layout=layout,
        prefill=_seconds(lambda: probe.prefill(1, probe.tokens(_SHORT, seed=2), chunk=_CHUNK)),
        alone=alone,
        together=together,
        copy=max(0.0, copies - together / _STEPS) / _TOGETHER,
    )


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
    tried = [replace(trial.layout, minimum_rows=1, deterministic=False) for trial in trials]
    return trials if tried == layouts else []
