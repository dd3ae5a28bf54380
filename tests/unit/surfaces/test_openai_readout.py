from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Readout
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_readout import READOUT, readout
from dragoman.surfaces.readers import Place


def read(*, logprobs: int | None = None, echo: bool = False, stream: bool = False, **body) -> Readout:
    return readout(Form(body, READOUT, Place()), logprobs=logprobs, echo=echo, stream=stream)


def refusal(*, stream: bool = False, **body) -> tuple[str | None, Code]:
    with pytest.raises(InvalidRequest) as caught:
        read(stream=stream, **body)
    return caught.value.param, caught.value.code


def test_no_field_is_no_report():
    assert read() == Readout()


@pytest.mark.seeds("S39", "S143")
def test_each_part_of_a_report_is_asked_for_by_itself():
    assert read(logprobs=0, echo=True) == Readout(logprobs=0, echo=True)
    assert read(prompt_logprobs=0) == Readout(prompt_logprobs=0)
    assert read(prompt_logprobs=32) == Readout(prompt_logprobs=32)
    assert read(return_token_ids=True) == Readout(token_ids=True)
    assert read(skip_special_tokens=False) == Readout(special_tokens=True)
    assert read(skip_special_tokens=True, return_token_ids=False) == Readout()


@pytest.mark.parametrize(
    "field, value",
    [
        ("prompt_logprobs", 33),
        ("prompt_logprobs", -1),
        ("prompt_logprobs", True),
        ("prompt_logprobs", "1"),
        ("return_token_ids", 1),
        ("skip_special_tokens", "false"),
    ],
)
def test_a_malformed_value_is_refused_by_name(field, value):
    assert refusal(**{field: value}) == (field, Code.INVALID_VALUE)


@pytest.mark.parametrize("value", [0, 5])
def test_a_prompt_is_not_reported_in_a_stream(value):
    """As in vLLM's servers."""
    assert refusal(stream=True, prompt_logprobs=value) == ("prompt_logprobs", Code.UNSUPPORTED_VALUE)
    assert read(stream=True, return_token_ids=True) == Readout(token_ids=True)
