"""Pictures on their way to the command that follows them: an IMAGE frame opens nothing, and answers to nobody (seeds.md 2.3).

Only the very next command of the same id gets them, so that what one request sent can not end up in another. A picture that can
not be read is told of in that command's place: one request, one answer.
"""

from __future__ import annotations

from dragoman.protocol.command_decoder import MAX_REQUEST_IMAGES
from dragoman.protocol.frames import BadCommand, Image


class Pictures:
    """Holds the pictures of one id at most. Their bytes are bounded by their number, and each by its frame."""

    def __init__(self) -> None:
        self._id = 0
        self._images: list[Image] = []
        self._refusal: BadCommand | None = None

    def hold(self, image: Image | BadCommand) -> None:
        """Keep a picture, or what is wrong with it. Those of another id are dropped."""
        if image.id != self._id:
            self.take(image.id)
            self._id = image.id
        if isinstance(image, BadCommand):
            self._refusal = self._refusal or image
        elif len(self._images) < MAX_REQUEST_IMAGES:
            self._images.append(image)
        else:
            detail = f"images are more than {MAX_REQUEST_IMAGES}"
            self._refusal = self._refusal or BadCommand(image.id, "BAD_REQUEST", detail)

    def take(self, number: int) -> tuple[Image, ...] | BadCommand:
        """What was held for ``number``. Nothing is held any more, for anybody."""
        held = (self._refusal or tuple(self._images)) if number == self._id else ()
        self._id, self._images, self._refusal = 0, [], None
        return held
