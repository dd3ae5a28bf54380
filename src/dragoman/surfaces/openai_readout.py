"""What a reply tells beside its text: the fields of both OpenAI surfaces that become ``Readout``.

The two surfaces ask for log-probabilities differently, so they read those themselves and hand them in.
"""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, Unsupported
from dragoman.core.limits import MAX_TOP_LOGPROBS
from dragoman.core.request import Readout
from dragoman.surfaces.fields import Form, Table, honoured, refused
from dragoman.surfaces.readers import BOOLEAN, integer

PROMPT_LOGPROBS: Final = honoured(
    "prompt_logprobs",
    integer(0, MAX_TOP_LOGPROBS),
    "Log-probabilities of the prompt's tokens, with so many alternatives each; the prefix cache is not used, and there is "
    "no stream of them.",
)
RETURN_TOKEN_IDS: Final = honoured(
    "return_token_ids", BOOLEAN, "Default false; with the ids of prompt and answer (S143)."
)
SKIP_SPECIAL_TOKENS: Final = honoured(
    "skip_special_tokens", BOOLEAN, "Default true; false shows control tokens as their text (S39)."
)

READOUT: Final = Table(
    PROMPT_LOGPROBS,
    RETURN_TOKEN_IDS,
    SKIP_SPECIAL_TOKENS,
    refused("logprob_token_ids", "send `logprobs`: the likeliest tokens are reported"),
    refused("return_tokens_as_token_ids", "send `return_token_ids`: tokens are reported as text and bytes", False),
    refused("spaces_between_special_tokens", "tokens are joined as the model wrote them", True),
    refused("n_probs", "send `logprobs`", 0),
    refused("post_sampling_probs", "log-probabilities are the model's own, before sampling", False),
    refused("return_tokens", "send `return_token_ids`", False),
    refused("return_prompt_token_ids", "send `return_token_ids`", False),
    refused("return_prompt_text", "send the conversation to `/tokenize` with `return_token_strs`", False),
    refused("return_hidden_states", "engines do not report them", False),
    refused("return_routed_experts", "engines do not report them", False),
    refused("return_meta_info", "what there is to tell is in the reply", False),
    refused("response_fields", "replies have one shape", []),
)
"""The rows that ``readout`` reads, and their relatives that ask for more than there is."""

READOUT_SPELLING: Final = {"token_ids": RETURN_TOKEN_IDS.name, "special_tokens": SKIP_SPECIAL_TOKENS.name}
"""The fields behind those features of ``Readout`` that have other names."""


def readout(form: Form, *, logprobs: int | None, echo: bool = False, stream: bool) -> Readout:
    """What the client wants reported. Raises ``Unsupported`` where it could not be sent in a stream."""
    prompt_logprobs = form.read(PROMPT_LOGPROBS, None)
    if stream and prompt_logprobs is not None:
        raise Unsupported(
            f"{PROMPT_LOGPROBS.name} cannot be sent in a stream",
            code=Code.UNSUPPORTED_VALUE,
            param=PROMPT_LOGPROBS.name,
        )
    return Readout(
        logprobs=logprobs,
        prompt_logprobs=prompt_logprobs,
        echo=echo,
        token_ids=form.read(RETURN_TOKEN_IDS, False),
        special_tokens=not form.read(SKIP_SPECIAL_TOKENS, True),
    )
