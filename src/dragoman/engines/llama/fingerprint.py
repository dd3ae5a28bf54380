"""``system_fingerprint``: one word for all that an answer's numbers depend on, and the guarantees in plain words (S51).

Same seed, request and fingerprint give the same tokens: always where the words include ``invariant``, else as far as neighbours and
the step's size happened to be alike. What only decides how fast an answer comes is left out, so a restart does not change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256

from dragoman.engines.llama.layout import Layout

DIGITS = 16
"""Of the hash: enough that two servers of one fleet never meet by chance."""


def fingerprint(
    *,
    weights: str,
    build: Mapping[str, str],
    layout: Layout,
    threads: int,
    safe_kernels: bool,
    guarantees: Iterable[str],
) -> str:
    """At most 64 characters of ``[a-z0-9_]``.

    ``weights`` names the model file, ``build`` the code: versions, CPU features, changes to llama.cpp's source. Threads count because
    attention may be shared out among them.
    """
    facts = {
        "weights": weights,
        "build": dict(build),
        "unified": layout.unified,
        "flash_attention": layout.flash_attention,
        "cache_type": layout.cache_type,
        "micro_batch": layout.micro_batch,
        "minimum_rows": layout.minimum_rows,
        "threads": threads,
        "safe_kernels": safe_kernels,
        "guarantees": sorted(guarantees),
    }
    digest = sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:DIGITS]
    return "_".join(["fp", digest, *sorted(guarantees)])
