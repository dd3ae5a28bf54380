"""The keywords of JSON Schema, sorted by what a grammar can do with them.

The table was found by experiment with llguidance 1.9, whose own refusals know no path, and which leaves some keywords without
effect. What stands in none of these rows is an annotation, as 2020-12 says of unknown keywords: ``title``, ``default``, ``x-...``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.core.json import Json, JsonObject

TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")

SCHEMAS: Final = frozenset({"additionalProperties", "items", "additionalItems"})
"""Keywords that hold one schema. ``items`` was an array of them before 2020-12, and is taken as ``prefixItems`` then."""

SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
COUNTS: Final = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
BOUNDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})

CONDITIONAL: Final = frozenset({"if", "then", "else"})

_ATOM: Final = "[A-Za-z0-9_%+-]{1,20}"
_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
_SECONDS: Final = "[0-9]{2}:[0-9]{2}:[0-5][0-9](?:[.][0-9]{1,9})?[^0-9.]"

FORMATS: Final[Mapping[str, JsonObject]] = MappingProxyType(
    {
        **{name: {"format": name} for name in ("date", "duration", "hostname", "ipv4", "ipv6", "uuid", "uri")},
        # Of these llguidance allows what validators refuse: leap seconds at any hour, endless fractions, overlong addresses.
        "time": {"format": "time", "pattern": f"^{_SECONDS}"},
        "date-time": {"format": "date-time", "pattern": f"[Tt]{_SECONDS}"},
        "email": {"pattern": f"^{_ATOM}(?:[.]{_ATOM}){{0,2}}@(?:{_LABEL}[.]){{1,3}}[A-Za-z]{{2,10}}$"},
    }
)
"""Formats that are enforced, with the schema that does it. Others are annotations, which is what 2020-12 makes of all of them."""

UNENFORCEABLE: Final[Mapping[str, tuple[Json, ...]]] = MappingProxyType(
    {
        "not": (False,),
        "if": (),
        "then": (),
        "else": (),
        "contains": (),
        "uniqueItems": (False,),
        "propertyNames": (True, {}, {"type": "string"}),
        "dependentRequired": ({},),
        "dependentSchemas": ({},),
        "dependencies": ({},),
        "unevaluatedItems": (True, {}),
        "unevaluatedProperties": (True, {}),
        "$dynamicRef": (),
        "$recursiveRef": (),
    }
)
"""Keywords that no grammar of ours can hold an answer to, each with the values that ask for nothing."""
