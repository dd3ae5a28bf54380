"""Tools that tapes and grammars of model families are tried with: strings, numbers, nested values, and nothing at all."""

from __future__ import annotations

from dragoman.core.request import ToolSpec

TOOLS = {
    tool.name: tool
    for tool in (
        ToolSpec(
            name="get_weather",
            description="The weather of a city.",
            parameters={
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Its name."},
                    "days": {"type": "integer"},
                    "hourly": {"type": "boolean"},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
        ),
        ToolSpec(
            name="search",
            description="Find pages.",
            parameters={
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "limits": {
                        "type": "object",
                        "properties": {
                            "size": {"type": "number"},
                            "sites": {"type": "array", "items": {"type": "string"}},
                        },
                        "additionalProperties": False,
                    },
                },
                "required": ["query"],
                "additionalProperties": False,
            },
        ),
        ToolSpec(name="now", description="The time."),
    )
}
