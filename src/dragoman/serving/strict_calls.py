"""Calls that must be what their tools' schemas say, or the answer fails: nothing is mended, and nothing made up (S123).

Where the engine enforces a grammar this never strikes, except where the budget cuts a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn, assert_never

import jsonschema_rs
import msgspec

from dragoman.core.errors import Code, EngineFailed, InvalidRequest
from dragoman.core.events import (
    ChoiceFinished,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
)
from dragoman.core.json import JsonObject
from dragoman.core.request import ToolSpec

_NO_PARAMETERS: Final[JsonObject] = {"type": "object", "properties": {}, "additionalProperties": False}


class Signatures(dict[str, jsonschema_rs.Validator]):
    """The tools' schemas, by name. Raises ``InvalidRequest`` naming ``tools`` for one that is none."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        super().__init__((tool.name, _validator(tool)) for tool in tools)


class StrictCalls:
    """Watches one choice."""

    def __init__(self, signatures: Signatures) -> None:
        self._schemas = signatures
        self._name = ""
        self._arguments: list[str] = []
        self._open = False

    def check(
        self, event: TextDelta | ReasoningDelta | ToolCallBegun | ToolCallArguments | ToolCallEnded | ChoiceFinished
    ) -> None:
        """Take the next event. Raises ``EngineFailed`` (``invalid_model_tool_call``) for a call that does not hold."""
        match event:
            case ToolCallBegun(name=name):
                self._name, self._arguments, self._open = name, [], True
                if name not in self._schemas:
                    raise _invalid(f"there is no tool {name!r}")
            case ToolCallArguments(text=text):
                self._arguments.append(text)
            case ToolCallEnded():
                self._open = False
                self._validate("".join(self._arguments))
            case ChoiceFinished() if self._open:
                raise _invalid(f"the call to {self._name} was not completed")
            case TextDelta() | ReasoningDelta() | ChoiceFinished():
                pass
            case _:
                assert_never(event)

    def _validate(self, arguments: str) -> None:
        try:
            value = msgspec.json.decode(arguments)
        except msgspec.DecodeError as error:
            raise _invalid(f"the arguments for {self._name} are not JSON: {error}") from error
        problem = next(self._schemas[self._name].iter_errors(value), None)
        if problem is not None:
            raise _invalid(f"the arguments for {self._name} are not what its schema says: {problem.message}")


def _validator(tool: ToolSpec) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            dict(_NO_PARAMETERS if tool.parameters is None else tool.parameters), retriever=_fetch_nothing
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InvalidRequest(
            f"the parameters of {tool.name} are not a JSON Schema: {error}", code=Code.INVALID_VALUE, feature="tools"
        ) from error


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} would have to be fetched")


def _invalid(what: str) -> EngineFailed:
    return EngineFailed(f"The model made a call that does not hold: {what}.", code=Code.INVALID_TOOL_CALL)
