"""``dragoman tokenize``: the tokens of a text, as the model sees them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dragoman.cli.parameters import LOCAL, with_settings
from dragoman.cli.terminal import failing, loading, logged
from dragoman.compose import open_backend
from dragoman.core.request import TextPrompt, Tokenize
from dragoman.core.results import Tokenized
from dragoman.settings import Settings


@with_settings(groups=LOCAL, model_argument=False)
def tokenize(
    settings: Settings,
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; `-` reads standard input.")],
    special: Annotated[
        bool, typer.Option("--special/--plain", help="Read control tokens such as <|im_end|> as such, and add BOS.")
    ] = True,
    ids: Annotated[bool, typer.Option("--ids", help="Print nothing but the ids, on one line.")] = False,
) -> None:
    """Show the tokens of a text."""
    source = sys.stdin.read() if text == "-" else text
    prompt = TextPrompt(text=source, parse_special=special, add_special=special)
    with failing(), logged(settings, quiet=True), loading(Console(stderr=True)) as progress:
        result = asyncio.run(_tokenize(settings, prompt, progress))
    console = Console(soft_wrap=True, highlight=False)
    if ids:
        console.print(Text(" ".join(map(str, result.ids))))
        return
    table = Table("id", "text")
    for token, piece in zip(result.ids, result.strs or (), strict=True):
        table.add_row(str(token), Text(repr(piece)[1:-1]))
    console.print(table)
    console.print(Text(f"{len(result.ids)} tokens of {result.context_length} that fit"))


async def _tokenize(settings: Settings, prompt: TextPrompt, progress: Callable[[float, str], None]) -> Tokenized:
    backend = await open_backend(settings, on_progress=progress)
    try:
        return await backend.service.tokenize(Tokenize(source=prompt, return_token_strs=True))
    finally:
        await backend.close()
