from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record, refused
from dragoman.surfaces.readers import BOOLEAN, Place, integer

SIZE = honoured("size", integer(0, 9), "How many.")
NOTED = ignored("noted", "No use.", BOOLEAN)
HALF = refused("half", "too hard", 0, [])
CHOICE = refused("choice", "one is enough", 1, reader=integer(1, 9), code=Code.UNSUPPORTED_VALUE)
TABLE = Table(SIZE, NOTED, HALF, CHOICE)


def form(body, *, strict=False) -> Form:
    return Form(body, TABLE, Place(strict=strict))


def test_a_field_is_read_through_its_reader():
    assert form({"size": 3}).read(SIZE, 5) == 3
    assert form({"size": 3}).require(SIZE) == 3
    with pytest.raises(InvalidRequest) as caught:
        form({"size": 10}).read(SIZE, 5)
    assert caught.value.param == "size"


@pytest.mark.parametrize("body", [{}, {"size": None}])
def test_null_counts_as_absent(body):
    assert form(body).read(SIZE, 5) == 5
    assert not form(body).has(SIZE)
    with pytest.raises(InvalidRequest) as caught:
        form(body).require(SIZE)
    assert (caught.value.code, caught.value.param) == (Code.MISSING_FIELD, "size")


def test_a_field_without_effect_is_listed_and_still_checked():
    assert form({"noted": True}).ignored == ("noted",)
    assert form({"noted": None}).ignored == ()
    with pytest.raises(InvalidRequest) as caught:
        form({"noted": "yes"})
    assert caught.value.param == "noted"


def test_a_refused_field_is_refused_before_anything_is_read():
    with pytest.raises(Unsupported) as caught:
        form({"half": 1, "size": "bad"})
    assert (caught.value.param, caught.value.code) == ("half", Code.UNSUPPORTED_FIELD)
    assert caught.value.message == "half is not supported: too hard"


@pytest.mark.parametrize("value", [0, 0.0, [], None])
def test_a_refused_field_may_ask_for_nothing(value):
    assert form({"half": value}).ignored == ()


def test_false_is_not_the_number_zero():
    with pytest.raises(Unsupported):
        form({"half": False})


def test_a_malformed_value_differs_from_an_unsupported_one():
    with pytest.raises(Unsupported) as unsupported:
        form({"choice": 2})
    assert unsupported.value.message == "this value of choice is not supported: one is enough"
    assert unsupported.value.code is Code.UNSUPPORTED_VALUE
    with pytest.raises(InvalidRequest) as malformed:
        form({"choice": "2"})
    assert malformed.value.code is Code.INVALID_VALUE


def test_an_unknown_field_is_listed_or_refused_when_strict():
    assert form({"foo": 1, "bar": None}).ignored == ("foo",)
    with pytest.raises(InvalidRequest) as caught:
        form({"foo": 1}, strict=True)
    assert (caught.value.code, caught.value.param) == (Code.UNKNOWN_FIELD, "foo")


def test_a_known_field_without_effect_is_let_through_when_strict():
    assert form({"noted": True}, strict=True).ignored == ("noted",)


def test_a_field_that_another_one_overrides_can_be_listed():
    read = form({"size": 1})
    read.ignore(SIZE)
    assert read.ignored == ("size",)
    absent = form({})
    absent.ignore(SIZE)
    assert absent.ignored == ()


def test_forms_inside_a_form_share_its_record():
    root = Place()
    outer = Form({"inner": {"foo": 1}}, Table(honoured("inner", BOOLEAN, "")), root)
    Form({"foo": 1}, TABLE, root.child("inner"))
    assert outer.ignored == ("inner.foo",)


def test_a_name_has_one_row():
    with pytest.raises(ValueError):
        Table(SIZE, SIZE)


def test_a_table_is_a_json_schema_in_which_null_counts_as_absent():
    table = Table(SIZE, NOTED, HALF, ignored("free", "Anything."), honoured("must", BOOLEAN, "Needed.", required=True))
    assert table.schema == {
        "type": "object",
        "properties": {
            "size": {"type": ["integer", "null"], "minimum": 0, "maximum": 9, "description": "How many."},
            "noted": {"type": ["boolean", "null"], "description": "No use."},
            "half": {"enum": [0, [], None], "description": "too hard"},
            "free": {"description": "Anything."},
            "must": {"type": "boolean", "description": "Needed."},
        },
        "required": ["must"],
    }


def test_an_object_with_a_table_of_its_own_is_read_at_its_place():
    inner = record(Table(SIZE), lambda form: form.read(SIZE, 1))
    assert inner.read({"size": 3}, Place().child("outer")) == 3
    assert inner.schema == Table(SIZE).schema
    with pytest.raises(InvalidRequest) as caught:
        inner.read({"size": "3"}, Place().child("outer"))
    assert caught.value.param == "outer.size"
