from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import Generate, OutputLimits, SamplingParams, TextPrompt, TokenPrompt
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


@pytest.mark.seeds("S90", "S91")
@pytest.mark.parametrize(
    "prompt, parsed",
    [
        ("", TextPrompt(text="")),
        ("a <|im_end|>", TextPrompt(text="a <|im_end|>")),
        (["a"], TextPrompt(text="a")),
        ([1, 2, 3], TokenPrompt(ids=(1, 2, 3))),
        ([0], TokenPrompt(ids=(0,))),
        ([[1, 2]], TokenPrompt(ids=(1, 2))),
    ],
)
def test_a_prompt_has_four_forms_and_a_batch_of_one_is_that_one(prompt, parsed):
    assert COMPLETIONS.parse({"prompt": prompt}).operation.prompt == parsed


@pytest.mark.seeds("S92")
@pytest.mark.parametrize(
    "prompt",
    [[], [[]], [[1], []], [1, "a"], ["a", 1], [[1], "a"], [True], [-1], [1.0], [[1], [True]], [2**31], [["a"]], {}, 5],
)
def test_a_fault_of_shape_is_named_prompt(prompt):
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse({"prompt": prompt})
    assert (caught.value.param, caught.value.code) == ("prompt", Code.INVALID_VALUE)


@pytest.mark.parametrize("prompt", [["a", "b"], [[1], [2]]])
def test_a_batch_is_refused_by_name(prompt):
    with pytest.raises(Unsupported) as caught:
        COMPLETIONS.parse({"prompt": prompt})
    assert caught.value.param == "prompt"


@pytest.mark.parametrize("body", [{}, {"prompt": None}])
def test_a_prompt_is_required(body):
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse(body)
    assert (caught.value.param, caught.value.code) == ("prompt", Code.MISSING_FIELD)


@pytest.mark.parametrize("prompt", ["a\0b", ["a\0b"], "\ud800", ["\udc00"]])
def test_a_prompt_that_is_no_text_is_refused(prompt):
    with pytest.raises(InvalidRequest) as caught:
        COMPLETIONS.parse({"prompt": prompt})
    assert (caught.value.param, caught.value.code) == ("prompt", Code.INVALID_VALUE)


def test_special_tokens_can_be_turned_off():
    call = COMPLETIONS.parse(BASE | {"parse_special": False, "add_special_tokens": False})
    assert call.operation.prompt == TextPrompt(text="Once", parse_special=False, add_special=False)


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


@pytest.mark.seeds("S69", "S74", "S75")
@pytest.mark.parametrize("value", [1, 32])
def test_log_probabilities_are_refused_by_name_for_now(value):
    with pytest.raises(Unsupported) as caught:
        COMPLETIONS.parse(BASE | {"logprobs": value, "stream": True})
    assert (caught.value.param, caught.value.code) == ("logprobs", Code.UNSUPPORTED_FIELD)


def test_an_error_about_the_prompt_names_the_prompt():
    error = InvalidRequest("too long", code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt")
    assert COMPLETIONS.error(error, COMPLETIONS.parse(BASE)).body["error"]["param"] == "prompt"
