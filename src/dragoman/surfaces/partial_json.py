"""The beginning of a JSON object, made whole without a guess: what is not certain is left out, what is open is closed."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<open>[{\[])
      | (?P<close>[}\]])
      | (?P<mark>[,:])
      | "(?:[^"\\]|\\.)*+"
      | true | false | null
      | -?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\d.eE+-])
    )""",
    re.VERBOSE | re.DOTALL,
)

_CLOSERS: Final = {"{": "}", "[": "]"}


def closed(text: str) -> str:
    """The shortest end for ``text``, a JSON object or a beginning of one, after its last certain value; ``{}`` for any other text.

    A string, a name or a word that breaks off is left out. A number that does stays: it is one, and the reader of Anthropic's SDK
    (jiter, in its partial mode) takes it, so that a stream and a whole message come to the same.
    """
    closers: list[str] = []
    kept = at = 0
    valued = False  # whether a scalar, if one comes here, is a value and no name
    while token := _TOKEN.match(text, at):
        at = token.end()
        if opened := token["open"]:
            closers.append(_CLOSERS[opened])
        elif token["close"] and closers:
            closers.pop()
        elif token["mark"] or not valued:
            valued = token["mark"] == ":" or closers[-1:] == ["]"]
            continue
        kept = at
        valued = closers[-1:] == ["]"]
    return text[:kept] + "".join(reversed(closers)) if text.lstrip().startswith("{") else "{}"
