from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_choices import CHOICES, choices
from dragoman.surfaces.readers import Place


def read(*, stream: bool = False, **body) -> tuple[int, int | None]:
    return choices(Form(body, CHOICES, Place()), stream=stream)


def refusal(*, stream: bool = False, **body) -> tuple[str | None, Code]:
    with pytest.raises(InvalidRequest) as caught:
        read(stream=stream, **body)
    return caught.value.param, caught.value.code


@pytest.mark.seeds("S42")
def test_there_are_1_to_128_answers():
    assert read() == (1, None)
    assert read(n=128) == (128, None)


@pytest.mark.seeds("S42")
@pytest.mark.parametrize("value", [0, 129, -1, 1.0, True, "2", []])
def test_any_other_number_of_answers_is_refused_by_name(value):
    assert refusal(n=value) == ("n", Code.INVALID_VALUE)


@pytest.mark.parametrize("body, found", [({"best_of": 3}, (1, 3)), ({"n": 2, "best_of": 128}, (2, 128))])
def test_the_best_of_more_are_kept(body, found):
    assert read(**body) == found


# OpenAI's description allows a best_of of 0.
@pytest.mark.parametrize("body", [{"best_of": 0}, {"best_of": 1}, {"n": 3, "best_of": 3}, {"n": 3, "best_of": 0}])
@pytest.mark.parametrize("stream", [False, True])
def test_the_best_of_as_many_as_are_sent_are_all(body, stream):
    assert read(stream=stream, **body) == (body.get("n", 1), None)


@pytest.mark.parametrize(
    "body, refused",
    [
        ({"n": 3, "best_of": 2}, ("best_of", Code.INVALID_VALUE)),
        ({"best_of": 129}, ("best_of", Code.INVALID_VALUE)),
        ({"best_of": -1}, ("best_of", Code.INVALID_VALUE)),
        ({"best_of": True}, ("best_of", Code.INVALID_VALUE)),
        ({"best_of": 2, "stream": True}, ("best_of", Code.UNSUPPORTED_VALUE)),
    ],
)
def test_what_cannot_be_chosen_from_is_refused_by_name(body, refused):
    assert refusal(**body) == refused
