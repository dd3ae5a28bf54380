"""How the cache is laid out and computed: what the engine may choose per model and machine, as one value.

Measured on CPUs: without flash attention and with a float32 cache, logits are bit-equal however a prompt is chunked and whatever shares
the step; a split cache lets each row attend over its own cells alone; a unified one shares cells freely. On GPUs flash attention wins.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

CacheType: TypeAlias = Literal["f16", "f32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """``unified``: one pool of cells for all sequences. ``row_multiple``: rows of a step are padded to a multiple of it.

    ``deterministic`` says that a self-test found logits bit-equal alone, beside others, in chunks and after a prefix hit.
    """

    unified: bool
    flash_attention: bool
    cache_type: CacheType
    micro_batch: int = 64
    row_multiple: int = 1
    deterministic: bool = False

    def to_json(self) -> dict[str, object]:
        """For the tuning file and the model description."""
        return asdict(self)

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
