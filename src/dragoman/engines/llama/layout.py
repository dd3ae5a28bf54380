"""How the cache is laid out and computed: what the engine may choose per model and machine, as one value.

Measured on CPUs without flash attention, in a split cache: attention computes one row of a sequence with other kernels than two, and
otherwise nothing changes a bit. So logits are equal however a prompt is chunked and whatever shares the step, if prompts have at least
two rows of each sequence in every micro-batch, and generated tokens always one: the two kinds are computed one after the other. A unified
cache shares cells freely, but where a token's cells lie decides the order of its sums. On GPUs flash attention wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.scheduler.plan import Run

CacheType: TypeAlias = Literal["f16", "f32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """``unified``: one pool of cells for all sequences. ``deterministic``: see below. ``minimum_rows``: how small a piece may be.

    A prompt's part of a micro-batch is padded to ``minimum_rows``; where a cache is unified, the whole micro-batch.
    ``deterministic`` says that a self-test found logits bit-equal alone, beside others, in chunks and after a prefix hit.
    """

    unified: bool
    flash_attention: bool
    cache_type: CacheType
    micro_batch: int = 128
    minimum_rows: int = 1
    deterministic: bool = False

    def groups(self, runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
        """What to compute together, in order: generated tokens, since others wait for them, and then prompts.

        A split cache gains nothing from mixing them: llama.cpp takes equally many rows of each sequence into a micro-batch.
        """
        if self.unified:
            return [runs] if runs else []
        decoding = tuple(run for run in runs if run.decodes)
        prompts = tuple(run for run in runs if not run.decodes)
        return [group for group in (decoding, prompts) if group]

    def __str__(self) -> str:
        """For people."""
        return " ".join(
            [
                "unified" if self.unified else "split",
                f"flash attention {'on' if self.flash_attention else 'off'}",
                f"{self.cache_type} cache",
                "deterministic" if self.deterministic else "not deterministic",
            ]
        )
