"""The keys that clients must send: those of the settings, and those of a file."""

from __future__ import annotations

from dragoman.compose.failure import StartFailed
from dragoman.settings import Settings


def api_keys(settings: Settings) -> tuple[str, ...]:
    """All keys, once each; none means that no key is asked for. Raises ``StartFailed``.

    A file that was named but holds no key stops the start: the operator wanted to be protected.
    """
    keys = list(settings.api_keys)
    if settings.api_key_file is not None:
        path = settings.api_key_file
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise StartFailed(f"the key file {path} cannot be read: {reason}", hint="check --api-key-file") from error
        found = [key for line in lines if (key := line.strip()) and not key.startswith("#")]
        if not found:
            raise StartFailed(f"the key file {path} holds no key", hint="write one key on a line")
        keys += found
    return tuple(dict.fromkeys(keys))
