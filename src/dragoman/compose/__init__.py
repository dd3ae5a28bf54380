"""The composition root: from settings to running parts. The only place that knows concrete classes."""

from dragoman.compose.application import address_failed, bind, build
from dragoman.compose.backend import Backend, open_backend
from dragoman.compose.engine_command import engine_argv
from dragoman.compose.failure import StartFailed
from dragoman.compose.keys import api_keys
from dragoman.compose.llama_links import SAFE_KERNELS
from dragoman.compose.models import find_model, find_projector, served_name
from dragoman.compose.stores import open_settings_store

__all__ = [
    "SAFE_KERNELS",
    "Backend",
    "StartFailed",
    "address_failed",
    "api_keys",
    "bind",
    "build",
    "engine_argv",
    "find_model",
    "find_projector",
    "open_backend",
    "open_settings_store",
    "served_name",
]
