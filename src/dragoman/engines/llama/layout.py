"""How the cache is laid out and computed: what the engine may choose per model and machine, as one value.

Measured on CPUs without flash attention: in a split cache, logits are bit-equal however a prompt is chunked and whatever shares the step,
if no micro-batch has a single row (llama.cpp computes one row with other kernels than two). A unified cache shares cells freely, but
where a token's cells lie decides the order of its sums. On GPUs flash attention wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

CacheType: TypeAlias = Literal["f16", "f32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """``unified``: one pool of cells for all sequences. ``minimum_rows``: smaller micro-batches are padded to as many.

    ``deterministic`` says that a self-test found logits bit-equal alone, beside others, in chunks and after a prefix hit.
    """

    unified: bool
    flash_attention: bool
    cache_type: CacheType
    micro_batch: int = 128
    minimum_rows: int = 1
    deterministic: bool = False

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
