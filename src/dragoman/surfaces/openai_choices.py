"""How many answers there are to a prompt: ``n`` and ``best_of`` of both OpenAI surfaces (S42)."""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.limits import MAX_CHOICES
from dragoman.surfaces.fields import Form, Table, honoured, refused
from dragoman.surfaces.readers import integer

N: Final = honoured(
    "n", integer(1, MAX_CHOICES), "Answers to each prompt; default 1. Not for an array of prompts (S42, S102)."
)
BEST_OF: Final = honoured(
    "best_of",
    integer(0, MAX_CHOICES),
    "So many answers are made, and the `n` likeliest per token are sent; 0 is `n`. Not for streams or arrays of prompts.",
)

CHOICES: Final = Table(
    N,
    BEST_OF,
    refused("n_cmpl", "send `n`", 1),
    refused("use_beam_search", "tokens are sampled", False),
    refused("length_penalty", "tokens are sampled, without a search that it could steer", 1),
)
"""The rows that ``choices`` reads, and their relatives."""


def choices(form: Form, *, stream: bool) -> tuple[int, int | None]:
    """``n``, and ``best_of`` where it is more. Raises ``InvalidRequest`` naming the field."""
    n = form.read(N, 1)
    best_of = form.read(BEST_OF, 0) or n
    if best_of < n:
        raise InvalidRequest(
            f"{BEST_OF.name} is {best_of}, and so less than the {n} of {N.name}",
            code=Code.INVALID_VALUE,
            param=BEST_OF.name,
        )
    if best_of == n:
        return n, None
    if stream:
        raise Unsupported(
            f"{BEST_OF.name} needs every answer to be finished before the first can be sent, so it cannot be streamed",
            code=Code.UNSUPPORTED_VALUE,
            param=BEST_OF.name,
        )
    return n, best_of
