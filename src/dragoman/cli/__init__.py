"""The ``dragoman`` command. Thin: it reads settings, asks ``compose`` for the parts, and says what happens."""

from dragoman.cli.app import main

__all__ = ["main"]
