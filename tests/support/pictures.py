"""Small pictures as files, written by Pillow, and as clients send them."""

from __future__ import annotations

import base64
from io import BytesIO

from PIL import Image

Colour = str | tuple[int, ...]


def file(
    size: tuple[int, int] = (2, 3), colour: Colour = (200, 30, 30), *, kind: str = "PNG", mode: str = "RGB"
) -> bytes:
    """A picture of one colour."""
    return written(Image.new(mode, size, colour), kind)


def written(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def data_url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def image_url(data: bytes, media_type: str = "image/png", **more: str) -> dict:
    """A part of a chat message."""
    return {"type": "image_url", "image_url": {"url": data_url(data, media_type), **more}}
