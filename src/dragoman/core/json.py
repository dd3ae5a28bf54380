"""The names of JSON at our edges: parsed, not yet trusted. ``surfaces.fields`` narrows them at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"


def compact(value: Json) -> str:
    """The text of a value without white space, as grammars have a model write it: so what it once wrote is found in a cache."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
