"""Why the server cannot start, in words for the operator."""

from __future__ import annotations


class StartFailed(Exception):
    """The start ended: ``message`` says why, ``hint`` what to do about it."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
