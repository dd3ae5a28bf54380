"""Reads the pictures of a request: base64, or a data URL that holds it. Nothing is ever fetched for a client.

What stands here is told by the bytes' first few: only the one who decodes them knows whether the rest is a picture, too.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.limits import MAX_IMAGE_BYTES, MAX_IMAGES, MAX_IMAGES_BYTES
from dragoman.core.request import ImagePart, Message, Role
from dragoman.surfaces.readers import Place

MediaType: TypeAlias = Literal["image/png", "image/jpeg"]

MEDIA_TYPES: Final[Mapping[str, MediaType]] = MappingProxyType({"image/png": "image/png", "image/jpeg": "image/jpeg"})
"""What is taken, by the name that a client gives it."""

_MAGIC: Final[Mapping[MediaType, bytes]] = MappingProxyType(
    {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
)

_SHOWING: Final = frozenset({Role.USER, Role.TOOL})

_REMOTE: Final = ("http:", "https:", "file:", "ftp:", "blob:")


def media_type_of(name: str, at: Place) -> MediaType:
    """The type of a picture, as a client names it; ``at`` is where it does. Raises ``Unsupported`` for another."""
    known = MEDIA_TYPES.get(name.lower())
    if known is None:
        raise at.unsupported(f"{at.path}: pictures must be {' or '.join(MEDIA_TYPES)}")
    return known


def image_part(data: str, media_type: MediaType, at: Place) -> ImagePart:
    """The picture in strict base64 (RFC 4648, section 4), which is what ``media_type`` says; ``at`` is where the data stands.

    Raises ``InvalidRequest`` (``invalid_image``, ``image_too_large``) for what is none (S153).
    """
    if len(data) // 4 * 3 > MAX_IMAGE_BYTES + 2:  # before it is decoded; two bytes may be padding
        raise _too_large(at)
    try:
        picture = base64.b64decode(data, validate=True)
    except ValueError:  # binascii.Error is one, and text beyond ASCII is another
        raise _invalid(f"{at.path} is not base64", at) from None
    if len(picture) > MAX_IMAGE_BYTES:
        raise _too_large(at)
    if not picture.startswith(_MAGIC[media_type]):
        raise _invalid(f"{at.path} does not hold an {media_type} file", at)
    return ImagePart(data=picture, media_type=media_type, place=at.path)


def image_from_url(url: str, at: Place) -> ImagePart:
    """The picture in a data URL (RFC 2397) of base64. Raises as the other two do, and ``Unsupported`` for a remote one."""
    if url[:8].lower().startswith(_REMOTE):
        raise at.unsupported(
            f"{at.path}: this server fetches nothing; send the picture itself, as a data URL of base64"
        )
    scheme, colon, rest = url.partition(":")
    header, comma, data = rest.partition(",")
    media_type, *parameters = header.split(";")
    if scheme.lower() != "data" or not colon or not comma or not parameters or parameters[-1].lower() != "base64":
        raise at.wrong(f"{at.path} must be a data URL of base64, such as data:image/png;base64,...")
    return image_part(data, media_type_of(media_type, at), at)


def check_images(messages: Sequence[Message], at: Place) -> None:
    """Raise ``InvalidRequest`` where the pictures of all ``messages`` are too many or too large together, or stand where none can.

    ``at`` is where the messages stand. Models are shown pictures by users and tools, and by nobody else.
    """
    count = size = 0
    for message in messages:
        for picture in message.images:
            count += 1
            size += len(picture.data)
            if message.role not in _SHOWING:
                raise InvalidRequest(
                    f"{picture.place or at.path}: only users and tools can show a picture, not the role {message.role.value}",
                    code=Code.INVALID_VALUE,
                    param=picture.place or at.path,
                )
    if count > MAX_IMAGES:
        raise at.wrong(f"{at.path} holds {count} pictures; at most {MAX_IMAGES} are taken")
    if size > MAX_IMAGES_BYTES:
        raise InvalidRequest(
            f"the pictures in {at.path} have {size} bytes together; at most {MAX_IMAGES_BYTES} are taken",
            code=Code.IMAGE_TOO_LARGE,
            param=at.path,
        )


def _invalid(message: str, at: Place) -> InvalidRequest:
    return InvalidRequest(message, code=Code.INVALID_IMAGE, param=at.path)


def _too_large(at: Place) -> InvalidRequest:
    return InvalidRequest(f"{at.path} has more than {MAX_IMAGE_BYTES} bytes", code=Code.IMAGE_TOO_LARGE, param=at.path)
