"""Values of the types that an SDK takes, made of the types themselves: every key of every object, and every branch of every union, at least once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import get_type_hints, is_typeddict

_PLAIN: Final[Mapping[object, Any]] = {str: "s", int: 1, float: 1.0, bool: True, type(None): None}


def samples(annotation: Any, inside: tuple[Any, ...] = ()) -> Iterator[Any]:
    """A value that has all there is, then others that differ from it in one branch; none of a type that it stands ``inside`` of.

    Models of answers are taken, too: clients send them back. What is neither known nor JSON, a file say, is an empty object.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if fields := _fields(annotation):
        if annotation not in inside:
            yield from _objects(fields, (*inside, annotation))
    elif origin in (Annotated, Required, NotRequired):
        yield from samples(args[0], inside)
    elif origin in (Union, UnionType):
        for branch in args:
            yield from samples(branch, inside)
    elif origin is Literal:
        yield from args
    elif isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        yield from ([item] for item in samples(args[0], inside))
    else:
        yield _PLAIN.get(annotation, {})


def _fields(annotation: Any) -> Mapping[str, Any]:
    if is_typeddict(annotation):
        return get_type_hints(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}
    return {}


def _objects(fields: Mapping[str, Any], inside: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    values = {name: list(samples(hint, inside)) for name, hint in fields.items()}
    first = {name: found[0] for name, found in values.items() if found}
    yield first
    for name in first:
        for other in values[name][1:]:
            yield {**first, name: other}
