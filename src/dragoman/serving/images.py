"""Decodes a picture into what an engine takes: upright, opaque, no larger than it can use.

Files of strangers may be made to be costly, so each is measured by its header first, and made smaller before anything else is done to it.
"""

from __future__ import annotations

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
from dragoman.core.request import ImagePart
from dragoman.engines.base import MAX_PIXELS, EngineImage

# Not ``Image.open``: it looks at more formats, and warns of large files where we refuse them.
_READERS: Final[dict[str, type[ImageFile]]] = {"image/png": PngImageFile, "image/jpeg": JpegImageFile}

_SCALABLE: Final = frozenset({"L", "RGB", "RGBA", "CMYK"})
"""Modes whose pixels can be mixed as they are: neither numbers of a palette nor 16 bits."""


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
    if image.mode in _SCALABLE and "transparency" not in image.info:
        image = _scaled(image)  # first: what follows takes copies, and of 64 megapixels one has 256 MiB
    with suppress(Exception):  # its Exif data may be damaged, and it is a picture all the same
        image = ImageOps.exif_transpose(image)
    image = _scaled(_opaque(image))
    return EngineImage(width=image.width, height=image.height, rgb=image.tobytes())


def _scaled(image: Image.Image) -> Image.Image:
    size = _fitting(image.size)
    return image if size == image.size else image.resize(size, Image.Resampling.BICUBIC)


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
