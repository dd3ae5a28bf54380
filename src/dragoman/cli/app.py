"""The commands, gathered."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from dragoman import __version__
from dragoman.cli.chat import chat
from dragoman.cli.doctor import doctor
from dragoman.cli.serve import serve
from dragoman.cli.tokenize import tokenize


def build_app() -> typer.Typer:
    """The command line as an object; nothing is registered by importing a module."""
    app = typer.Typer(name="dragoman", no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
    app.callback()(_dragoman)
    for command in (serve, chat, tokenize, doctor):
        app.command()(command)
    return app


def main() -> None:
    """The ``dragoman`` program."""
    build_app()()


def _version(wanted: bool) -> None:
    if wanted:
        Console(highlight=False).print(Text(f"dragoman {__version__}"))
        raise typer.Exit


def _dragoman(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Serve a language model to programs that speak the OpenAI API."""
