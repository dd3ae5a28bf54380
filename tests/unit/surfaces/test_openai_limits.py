from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import OutputLimits
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_limits import LIMITS, limits
from dragoman.surfaces.readers import Place


def read(max_tokens: int | None = None, **body) -> OutputLimits:
    return limits(Form(body, LIMITS, Place()), max_tokens, "max_completion_tokens")


def refusal(max_tokens: int | None = None, **body) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read(max_tokens, **body)
    assert caught.value.code is Code.INVALID_VALUE
    return caught.value


def test_no_field_is_no_limit():
    assert read() == OutputLimits()


@pytest.mark.seeds("S27")
@pytest.mark.parametrize("value, stops", [("\n", ("\n",)), (["a"], ("a",)), (list("abcd"), ("a", "b", "c", "d"))])
def test_stop_is_one_string_or_up_to_four(value, stops):
    assert read(stop=value).stop == stops


@pytest.mark.seeds("S27", "S36", "S37")
@pytest.mark.parametrize(
    "field, value, param",
    [
        ("stop", "", "stop"),
        ("stop", [], "stop"),
        ("stop", ["a", ""], "stop.1"),
        ("stop", ["a", "b", "c", "d", "e"], "stop"),
        ("stop", ["a", 5], "stop.1"),
        ("stop", [None], "stop.0"),
        ("stop", 5, "stop"),
        ("stop", "x" * 1025, "stop"),
        ("stop", "\ud800", "stop"),
        ("min_tokens", -1, "min_tokens"),
        ("min_tokens", 1.0, "min_tokens"),
        ("min_tokens", True, "min_tokens"),
        ("stop_token_ids", 5, "stop_token_ids"),
        ("stop_token_ids", [-1], "stop_token_ids.0"),
        ("stop_token_ids", [1, True], "stop_token_ids.1"),
        ("stop_token_ids", [2**31], "stop_token_ids.0"),
        ("stop_token_ids", [1] * 129, "stop_token_ids"),
        ("ignore_eos", 1, "ignore_eos"),
        ("include_stop_str_in_output", "yes", "include_stop_str_in_output"),
        ("x_colibri_ignore_leading_stop", 1, "x_colibri_ignore_leading_stop"),
    ],
)
def test_a_malformed_value_is_refused_at_its_path(field, value, param):
    assert refusal(**{field: value}).param == param


@pytest.mark.seeds("S29")
def test_the_flag_for_leading_stops_must_be_a_boolean():
    assert read(x_colibri_ignore_leading_stop=True).ignore_leading_stop is True
    assert read(x_colibri_ignore_leading_stop=False).ignore_leading_stop is False
    assert refusal(x_colibri_ignore_leading_stop="true").param == "x_colibri_ignore_leading_stop"


@pytest.mark.seeds("S37", "S38")
def test_ids_that_stop_and_the_stop_in_the_text_are_taken_over():
    found = read(stop_token_ids=[2, 0], include_stop_str_in_output=True, ignore_eos=True)
    assert found == OutputLimits(stop_token_ids=(2, 0), include_stop=True, ignore_eos=True)
    assert read(stop_token_ids=[]) == OutputLimits()


@pytest.mark.seeds("S36", "S40")
def test_at_least_so_many_tokens_must_fit_into_the_budget():
    assert read(5, min_tokens=5).min_tokens == 5
    assert read(None, min_tokens=5000).min_tokens == 5000
    error = refusal(5, min_tokens=6)
    assert error.param == "min_tokens"
    assert error.message == "min_tokens is 6, which is more than the 5 of max_completion_tokens"
    assert refusal(0, min_tokens=1).param == "min_tokens"
