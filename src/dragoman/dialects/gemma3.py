"""Gemma 3, which knows no tokens for tools: calls are Python in a fence, as Google's examples have them.

    ```tool_code
    get_weather(city="Paris", days=3)
    ```

Its template says nothing of tools and takes only two roles, so declarations, past calls and results are written here. Any other fence
is text.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.notation import PYTHON, ArgumentsReader
from dragoman.dialects.table import Edge, Holds, State, Table

TABLE: Final = Table(
    {
        "text": State(holds=Holds.TEXT, edges={"```tool_code": Edge("fence", tentative=True)}),
        "fence": State(holds=Holds.SPACE, otherwise="name"),
        "name": State(holds=Holds.NAME, edges={"(": Edge("arguments")}),
        "arguments": State(holds=Holds.BODY, body=lambda _: ArgumentsReader(PYTHON), then=Edge("called", ends=True)),
        "called": State(holds=Holds.SPACE, edges={"```": Edge("text")}, otherwise="name"),
    }
)
