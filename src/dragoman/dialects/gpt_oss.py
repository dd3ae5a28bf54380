"""gpt-oss, which writes messages with headers (Harmony).

    <|channel|>analysis<|message|>I need the weather.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather
    <|constrain|>json<|message|>{"city":"Paris"}<|call|>

(one line in truth). ``analysis`` is thought and ``final`` is said; ``commentary`` is said, too, where it is to nobody. The recipient may
stand before the channel, and the prompt ends where the header begins. What goes to a tool that no client declared, such as the model's
own ``python``, is thought. The tokens are read here rather than by OpenAI's library, which drops markup, so that tokens could not be
found again in the text, and wants its vocabulary from the network.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.table import Control, Edge, Holds, State, Table, Terminal

_START, _CHANNEL, _MESSAGE = Control("<|start|>"), Control("<|channel|>"), Control("<|message|>")
_CONSTRAIN, _CALL, _RETURN = Control("<|constrain|>"), Control("<|call|>"), Control("<|return|>")

_RECIPIENT: Final[dict[Terminal, Edge]] = {"to=functions.": Edge("recipient"), "to=": Edge("stranger")}
_HEADER: Final[dict[Terminal, Edge]] = {**_RECIPIENT, _CHANNEL: Edge("channel"), _MESSAGE: Edge("text")}
# llama.cpp takes <|end|> for text, so that it does not end the answer.
_ENDS: Final[dict[Terminal, Edge]] = {
    "<|end|>": Edge("between"), _RETURN: Edge("between"), _CALL: Edge("between"), _START: Edge("role")
}  # fmt: skip

TABLE: Final = Table(
    {
        "opening": State(holds=Holds.SPACE, edges={**_HEADER, _START: Edge("role")}, otherwise="text"),
        "role": State(holds=Holds.SYNTAX, edges=_HEADER),
        "channel": State(
            holds=Holds.SYNTAX,
            edges={
                "analysis": Edge("analysis"),
                "commentary": Edge("commentary"),
                **_RECIPIENT,
                _MESSAGE: Edge("text"),
            },
        ),
        "analysis": State(holds=Holds.SYNTAX, edges={**_RECIPIENT, _MESSAGE: Edge("reasoning")}),
        "commentary": State(holds=Holds.SYNTAX, edges={**_RECIPIENT, _MESSAGE: Edge("text")}),
        "reasoning": State(holds=Holds.REASONING, edges=_ENDS),
        "text": State(holds=Holds.TEXT, edges=_ENDS),
        "recipient": State(
            holds=Holds.NAME,
            edges={" ": Edge("kind"), _CHANNEL: Edge("kind"), _CONSTRAIN: Edge("kind"), _MESSAGE: Edge("arguments")},
        ),
        "kind": State(holds=Holds.SYNTAX, edges={_MESSAGE: Edge("arguments"), _START: Edge("role")}),
        "arguments": State(
            holds=Holds.BODY,
            body=lambda _: JsonArguments(),
            then=Edge("between", ends=True),
            edges={_CALL: Edge("between"), _START: Edge("role")},
        ),
        "stranger": State(holds=Holds.SYNTAX, edges={_MESSAGE: Edge("reasoning"), _START: Edge("role")}),
        "between": State(holds=Holds.SYNTAX, edges={_START: Edge("role")}),
    }
)
