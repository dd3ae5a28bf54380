from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import (
    Generate,
    OutputLimits,
    PromptBatch,
    Readout,
    SamplingParams,
    TextPrompt,
    TokenPrompt,
)
from dragoman.surfaces.openai_completions import Completions

COMPLETIONS = Completions()
BASE = {"prompt": "Once"}


def test_the_smallest_body_is_openais_defaults():
    call = COMPLETIONS.parse(BASE)
    assert call.operation == Generate(
        prompt=TextPrompt(text="Once", plain=(), parse_special=True, add_special=True),
        sampling=SamplingParams(),
        limits=OutputLimits(max_tokens=16),
    )


@pytest.mark.seeds("S22", "S23")
@pytest.mark.parametrize("value, budget", [(0, 0), (1, 1), (2**31 - 1, 2**31 - 1), (None, 16)])
def test_a_budget_is_taken_at_its_word(value, budget):
    assert COMPLETIONS.parse(BASE | {"max_tokens": value}).operation.limits.max_tokens == budget


@pytest.mark.seeds("S69")
@pytest.mark.parametrize("value", [0, False, None])
def test_no_log_probabilities_may_be_asked_for(value):
    assert COMPLETIONS.parse(BASE | {"logprobs": value}) == COMPLETIONS.parse(BASE)


@pytest.mark.seeds("S69")
@pytest.mark.parametrize("value", [True, 33, -1, "5", 1.0])
def test_malformed_logprobs_are_refused(value):
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse(BASE | {"logprobs": value})
    assert (caught.value.param, caught.value.code) == ("logprobs", Code.INVALID_VALUE)


@pytest.mark.seeds("S69")
@pytest.mark.parametrize("value", [1, 32])
@pytest.mark.parametrize("stream", [False, True])
def test_so_many_of_the_likeliest_tokens_may_be_asked_for(value, stream):
    call = COMPLETIONS.parse(BASE | {"logprobs": value, "stream": stream})
    assert call.operation.readout == Readout(logprobs=value)


@pytest.mark.seeds("S47", "S70")
@pytest.mark.parametrize("body", [{}, {"logprobs": 0}, {"suffix": "x"}, {"max_tokens": 0}, {"stream": True}])
def test_an_echo_needs_nothing_else(body):
    assert COMPLETIONS.parse(BASE | {"echo": True} | body).operation.readout == Readout(echo=True)


@pytest.mark.seeds("S70")
@pytest.mark.parametrize("value", [0, 1, "true", []])
def test_echo_is_a_boolean_even_without_logprobs(value):
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse(BASE | {"echo": value})
    assert (caught.value.param, caught.value.code) == ("echo", Code.INVALID_VALUE)


def test_what_lm_eval_sends_is_taken_as_it_is():
    """The body of its ``local-completions`` model for log-likelihoods, with tokenised requests."""
    call = COMPLETIONS.parse(
        {
            "model": "smollm2",
            "prompt": [[1, 2, 3], [4, 5]],
            "temperature": 0,
            "max_tokens": 1,
            "logprobs": 1,
            "seed": 1234,
            "echo": True,
        }
    )
    assert call.ignored == ()
    assert call.operation == Generate(
        model="smollm2",
        prompt=PromptBatch(prompts=(TokenPrompt(ids=(1, 2, 3)), TokenPrompt(ids=(4, 5)))),
        sampling=SamplingParams(temperature=0.0, seed=1234),
        limits=OutputLimits(max_tokens=1),
        readout=Readout(logprobs=1, echo=True),
    )


@pytest.mark.seeds("S36", "S40")
def test_at_least_so_many_tokens_must_fit_into_the_default_budget_too():
    assert COMPLETIONS.parse(BASE | {"min_tokens": 16}).operation.limits.min_tokens == 16
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse(BASE | {"min_tokens": 17})
    assert caught.value.param == "min_tokens"


@pytest.mark.parametrize(
    "feature, field",
    [
        ("output_budget", "max_tokens"),
        ("prompt", "prompt"),
        ("ids", "prompt"),
        ("fill_in", "suffix"),
        ("suffix", "suffix"),
        ("logit_bias", "logit_bias"),
        ("stop_token_ids", "stop_token_ids"),
        ("xtc", "xtc_probability"),
        ("echo", "echo"),
    ],
)
def test_an_error_names_the_field_of_this_client(feature, field):
    error = InvalidRequest("no", code=Code.INVALID_VALUE, feature=feature)
    assert COMPLETIONS.error(error, COMPLETIONS.parse(BASE)).body["error"]["param"] == field
