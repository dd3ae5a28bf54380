"""A projector for a vision tower that has learnt nothing: a GGUF file of a few hundred kilobytes that llama.cpp's mtmd loads.

LLaVA's form (``mlp``): square patches, a position for each, layers of a transformer of which the last is not used, two linear ones with a bend between.
The numbers are random, so it sees no dogs; but different pictures give different embeddings, and the same one always the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray

SIDE: Final = 56
PATCH: Final = 14
POSITIONS: Final = (SIDE // PATCH) ** 2
"""Of a picture: sixteen patches."""

WIDTH: Final = 64
HIDDEN: Final = 96
LAYERS: Final = 2
SMOLLM2_WIDTH: Final = 576
"""Embeddings of the demo model, from its card (hidden_size)."""


def write_projector(path: Path, *, embedding: int = SMOLLM2_WIDTH, seed: int = 0) -> Path:
    """Write it for a model with embeddings of this width."""
    numbers = np.random.default_rng(seed)

    def weights(*shape: int, scale: float = 0.2) -> NDArray[np.float32]:
        return numbers.normal(scale=scale, size=shape).astype(np.float32)

    writer = GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    for key, value in {
        "image_size": SIDE,
        "patch_size": PATCH,
        "embedding_length": WIDTH,
        "feed_forward_length": HIDDEN,
        "block_count": LAYERS,
        "attention.head_count": 2,
        "projection_dim": embedding,
    }.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    writer.add_tensor("v.patch_embd.weight", weights(WIDTH, 3, PATCH, PATCH))
    writer.add_tensor("v.position_embd.weight", weights(POSITIONS, WIDTH))
    for layer in range(LAYERS):
        block = f"v.blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            writer.add_tensor(f"{block}.{name}.weight", weights(WIDTH, WIDTH))
        for name in ("ln1", "ln2"):
            writer.add_tensor(f"{block}.{name}.weight", np.ones(WIDTH, np.float32))
            writer.add_tensor(f"{block}.{name}.bias", np.zeros(WIDTH, np.float32))
        writer.add_tensor(f"{block}.ffn_up.weight", weights(HIDDEN, WIDTH))
        writer.add_tensor(f"{block}.ffn_down.weight", weights(WIDTH, HIDDEN))
    writer.add_tensor("mm.0.weight", weights(WIDTH, WIDTH))
    writer.add_tensor("mm.0.bias", weights(WIDTH))
    writer.add_tensor("mm.2.weight", weights(embedding, WIDTH, scale=0.005))  # about as large as a token's embedding
    writer.add_tensor("mm.2.bias", weights(embedding, scale=0.005))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
