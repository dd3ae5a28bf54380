from __future__ import annotations

import base64

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import ImagePart, Message, Role, TextPart
from dragoman.surfaces.images import check_images, image_from_url, image_part
from dragoman.surfaces.readers import Place
from support.pictures import data_url, file

PNG, JPEG = file(), file(kind="JPEG")
MIB = 1024 * 1024
AT = Place().inside("messages", 0, "content", 1)
PATH = "messages.0.content.1"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def refusal(url: str) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        image_from_url(url, AT)
    assert caught.value.param == PATH
    return caught.value


def showing(*pictures: ImagePart, role: Role = Role.USER) -> Message:
    return Message(role=role, parts=(TextPart(text="look"), *pictures))


def check(*messages: Message) -> None:
    check_images(messages, Place().child("messages"))


@pytest.mark.seeds("S153")
@pytest.mark.parametrize(("data", "media_type"), [(PNG, "image/png"), (JPEG, "image/jpeg")])
class TestReading:
    def test_base64_is_the_file(self, data: bytes, media_type: str):
        picture = image_part(encoded(data), media_type, AT)
        assert (picture.data, picture.media_type, picture.place) == (data, media_type, PATH)

    def test_a_data_url_is_the_same(self, data: bytes, media_type: str):
        assert image_from_url(data_url(data, media_type), AT) == image_part(encoded(data), media_type, AT)

    def test_scheme_and_type_are_read_in_any_case_and_parameters_are_skipped(self, data: bytes, media_type: str):
        """RFC 2397 and RFC 2045 have both case-insensitive."""
        url = f"DATA:{media_type.upper()};name=a.png;Base64,{encoded(data)}"
        assert image_from_url(url, AT).data == data

    def test_a_file_of_another_type_than_it_is_said_to_be_is_refused(self, data: bytes, media_type: str):
        (other,) = {"image/png", "image/jpeg"} - {media_type}
        error = refusal(data_url(data, other))
        assert error.code is Code.INVALID_IMAGE
        assert other in error.message


@pytest.mark.parametrize(
    "url", ["http://example.com/a.png", "HTTPS://example.com/a.png", "file:///etc/passwd", "ftp://example.com/a.png"]
)
def test_nothing_is_fetched_and_a_remote_url_is_refused_by_name(url: str):
    error = refusal(url)
    assert isinstance(error, Unsupported)
    assert "fetches nothing" in error.message


@pytest.mark.parametrize(
    "url", ["", "a.png", "data:", "data:image/png", "data:image/png,AAAA", "data:image/png;base64", "data;base64,AAAA"]
)
def test_what_is_no_data_url_of_base64_is_refused(url: str):
    assert refusal(url).code is Code.INVALID_VALUE


@pytest.mark.parametrize("media_type", ["image/gif", "image/webp", "image/svg+xml", "text/html", ""])
def test_other_types_are_refused_by_name(media_type: str):
    error = refusal(data_url(PNG, media_type))
    assert isinstance(error, Unsupported)
    assert "image/png or image/jpeg" in error.message


@pytest.mark.parametrize(
    "data",
    [
        "",
        "AAAA",
        encoded(PNG)[:-1],
        encoded(PNG) + "=",
        encoded(PNG) + "AAAA====",
        encoded(PNG)[:8] + "\n" + encoded(PNG)[8:],
        encoded(PNG)[:8] + " " + encoded(PNG)[8:],
        base64.urlsafe_b64encode(PNG + b"\xff" * 9).decode(),
        encoded(PNG)[:8] + "é" + encoded(PNG)[9:],
        encoded(b"GIF89a"),
    ],
)
def test_loose_base64_and_files_of_nothing_are_no_pictures(data: str):
    with pytest.raises(InvalidRequest) as caught:
        image_part(data, "image/png", AT)
    assert (caught.value.code, caught.value.param) == (Code.INVALID_IMAGE, PATH)


def test_ten_mebibytes_are_the_largest_file():
    """Seeds 3.5."""
    largest = PNG + bytes(10 * MIB - len(PNG))
    assert len(image_part(encoded(largest), "image/png", AT).data) == 10 * MIB
    for more in (1, 2, 3, MIB):
        with pytest.raises(InvalidRequest) as caught:
            image_part(encoded(largest + bytes(more)), "image/png", AT)
        assert (caught.value.code, caught.value.param) == (Code.IMAGE_TOO_LARGE, PATH)


class TestAllTogether:
    PICTURE = ImagePart(data=PNG, media_type="image/png", place=PATH)

    def test_ten_are_the_most(self):
        """Peers 126: the eleventh is refused."""
        check(*(showing(self.PICTURE, self.PICTURE) for _ in range(5)))
        with pytest.raises(InvalidRequest, match="11 pictures; at most 10") as caught:
            check(*(showing(self.PICTURE, self.PICTURE) for _ in range(5)), showing(self.PICTURE, role=Role.TOOL))
        assert (caught.value.param, caught.value.code) == ("messages", Code.INVALID_VALUE)

    def test_twenty_mebibytes_are_the_most(self):
        """Seeds 3.5."""
        large = ImagePart(data=bytes(10 * MIB), media_type="image/png")
        check(showing(large), showing(large))
        with pytest.raises(InvalidRequest) as caught:
            check(showing(large), showing(large, self.PICTURE))
        assert (caught.value.param, caught.value.code) == ("messages", Code.IMAGE_TOO_LARGE)

    @pytest.mark.parametrize("role", [Role.SYSTEM, Role.DEVELOPER, Role.ASSISTANT])
    def test_only_users_and_tools_show_pictures(self, role: Role):
        """Seeds 3.5, and tools beside: Anthropic's tool results hold pictures."""
        check(showing(self.PICTURE), showing(self.PICTURE, role=Role.TOOL))
        with pytest.raises(InvalidRequest, match=role.value) as caught:
            check(showing(), showing(self.PICTURE, role=role))
        assert (caught.value.param, caught.value.code) == (PATH, Code.INVALID_VALUE)
