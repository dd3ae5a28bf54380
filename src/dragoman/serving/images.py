"""Decodes the pictures of a prompt into what an engine takes: upright, opaque, no larger than it can use.

A file that only begins like a picture is told to the client here, before its request waits for anything. Files of strangers may be made
to be costly: so each is measured by its header first, and one at a time is decoded, in a thread.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from io import BytesIO
from math import sqrt
from typing import Final

from PIL import Image, ImageOps
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.limits import MAX_IMAGE_PIXELS, MAX_IMAGE_RATIO
from dragoman.core.request import ImagePart, Prompt, TextPrompt
from dragoman.engines.base import MAX_PIXELS, EngineImage

# Not ``Image.open``: it looks at more formats, and warns of large files where we refuse them.
_READERS: Final[dict[str, type[ImageFile]]] = {"image/png": PngImageFile, "image/jpeg": JpegImageFile}


class PictureDecoder:
    """Decodes for all requests of a server, one picture at a time, so that their memory has a bound."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def decode(self, prompt: Prompt) -> tuple[EngineImage, ...]:
        """The pictures of a prompt, in their order. Raises ``InvalidRequest`` (``invalid_image``, ``image_too_large``)."""
        if not isinstance(prompt, TextPrompt):
            return ()
        decoded: list[EngineImage] = []
        for _, picture in prompt.images:
            async with self._turn:
                decoded.append(await asyncio.to_thread(decode, picture))
        return tuple(decoded)


def decode(picture: ImagePart) -> EngineImage:
    """What the file shows; the first picture of a file that holds several. Raises ``InvalidRequest`` naming its place.

    One with more pixels than an engine takes is scaled down. It is turned as its Exif data says, and what is transparent becomes white.
    """
    try:
        with _READERS[picture.media_type](BytesIO(picture.data)) as file:
            _check_size(file, picture)
            return _shown(file)
    except InvalidRequest:
        raise
    except Exception as error:  # a decoder of damaged files raises whatever it comes upon
        raise _refused(picture, f"is not a picture that can be decoded: {error}", Code.INVALID_IMAGE) from error


def _check_size(file: ImageFile, picture: ImagePart) -> None:
    width, height = file.size
    if width * height > MAX_IMAGE_PIXELS:
        raise _refused(
            picture,
            f"has {width} by {height} pixels; at most {MAX_IMAGE_PIXELS} are taken",
            Code.IMAGE_TOO_LARGE,
        )
    if max(width, height) > MAX_IMAGE_RATIO * min(width, height):
        raise _refused(
            picture,
            f"has {width} by {height} pixels; one side may be {MAX_IMAGE_RATIO} times as long as the other at most",
            Code.INVALID_IMAGE,
        )


def _shown(file: ImageFile) -> EngineImage:
    if _fitting(file.size) != file.size:
        file.draft(None, _fitting(file.size))  # a JPEG can be decoded at a half or a quarter of its size
    file.load()
    image: Image.Image = file
    with suppress(Exception):  # its Exif data may be damaged, and it is a picture all the same
        image = ImageOps.exif_transpose(image)
    image = _opaque(image)
    if (size := _fitting(image.size)) != image.size:
        image = image.resize(size, Image.Resampling.BICUBIC)
    return EngineImage(width=image.width, height=image.height, rgb=image.tobytes())


def _opaque(image: Image.Image) -> Image.Image:
    """In eight bits each of red, green and blue."""
    if image.mode.startswith("I"):  # 16 bits of grey, which a conversion would not scale, but cut off at 255
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L").convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, "white")
    white.alpha_composite(image.convert("RGBA"))
    return white.convert("RGB")


def _fitting(size: tuple[int, int]) -> tuple[int, int]:
    """The size, or the largest of the same shape that an engine takes."""
    width, height = size
    if width * height <= MAX_PIXELS:
        return size
    scale = sqrt(MAX_PIXELS / (width * height))
    return max(1, int(width * scale)), max(1, int(height * scale))


def _refused(picture: ImagePart, message: str, code: Code) -> InvalidRequest:
    return InvalidRequest(
        f"{picture.place or 'a picture'} {message}", code=code, feature="messages", param=picture.place or None
    )
