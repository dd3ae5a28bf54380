"""References that come back to where they started without reading a character: no grammar can begin such a value.

A list whose items are lists again is no such thing; ``{"$ref": "#"}`` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.core.json import Json
from dragoman.core.json_schema.pointer import Path, Pointer, pointer_of, resolve


def circular(root: Json) -> Path | None:
    """The path of a reference in such a circle, if there is one. All references lead to schemas of ``root``."""
    references = list(_references(root, ()))
    ends = {target: _ends(root, target) for target in {target for _, target in references}}
    waiting: dict[Pointer, list[Pointer]] = {}
    for pointer, needed in ends.items():
        needed.intersection_update(ends)
        for other in needed:
            waiting.setdefault(other, []).append(pointer)
    grounded = [pointer for pointer, needed in ends.items() if not needed]
    for pointer in grounded:  # it grows on the way
        del ends[pointer]
        for other in waiting.get(pointer, ()):
            ends[other].remove(pointer)
            if not ends[other]:
                grounded.append(other)
    return next((path for path, target in references if target in ends), None)


def _ends(root: Json, pointer: Pointer) -> set[Pointer]:
    """Where the schema at ``pointer`` leads in place: to what must hold of the very same value."""
    found: set[Pointer] = set()
    _in_place(resolve(root, pointer), found)
    return found


def _in_place(schema: Json, found: set[Pointer]) -> None:
    if not isinstance(schema, Mapping):
        return
    reference = schema.get("$ref")
    target = pointer_of(reference) if isinstance(reference, str) else None
    if target is not None:
        found.add(target)
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, Sequence) and not isinstance(branches, str):
            for branch in branches:
                _in_place(branch, found)


def _references(schema: Json, path: Path) -> Iterator[tuple[Path, Pointer]]:
    match schema:
        case Mapping():
            for keyword, value in schema.items():
                if keyword == "$ref" and isinstance(value, str):
                    target = pointer_of(value)
                    if target is not None:
                        yield (*path, keyword), target
                elif keyword not in {"enum", "const"}:
                    yield from _references(value, (*path, keyword))
        case Sequence() if not isinstance(schema, str):
            for index, item in enumerate(schema):
                yield from _references(item, (*path, index))
        case _:
            return
