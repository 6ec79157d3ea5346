"""Pictures: only inside their folder, looked at before they are asked about, upright when they are opened."""

from __future__ import annotations

import io
import os

import PIL.Image
import pytest
from history_files import picture
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories.pictures_at import MAX_PIXELS, Pictures, name_of, unsafe
from memgauge.histories.records import ImageRef, RecordError


@pytest.fixture
def folder(tmp_path):
    images = tmp_path / "images"
    (images / "in").mkdir(parents=True)
    (images / "in" / "red.png").write_bytes(picture("red"))
    (tmp_path / "secret.png").write_bytes(picture("blue"))
    return images


def fault(folder, file):
    with pytest.raises(RecordError) as caught:
        Pictures(folder).picture(ImageRef(file), "q_7")
    assert str(caught.value).startswith("q_7: ")
    return caught.value.kind


def test_a_picture_is_found_and_opened_late(folder):
    handle = Pictures(folder).picture(ImageRef("in/red.png", "a red thing"), "q")
    assert (handle.caption, handle.size) == ("a red thing", len(picture("red")))
    assert handle.name == name_of("in/red.png")
    assert handle.open() == picture("red")
    # The image folder's own name in front is taken too.
    assert Pictures(folder).picture(ImageRef("images/in/red.png"), "q").open() == picture("red")


@pytest.mark.parametrize(
    "file",
    ["../secret.png", "in/../../secret.png", "/etc/passwd", "in//red.png", "./in/red.png", "in\\red.png", "C:/x.png",
     "in/red.png\x00.png", "~/x.png", "file:///etc/passwd", "in/\u202egnp.png", "a" * 2000, "..", "in/"],
)  # fmt: skip
def test_paths_that_leave_the_folder_are_refused(folder, file):
    assert fault(folder, file) == "unsafe_path"


def test_links_are_refused_wherever_they_stand(folder, tmp_path):
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "inner.png").symlink_to(folder / "in" / "red.png")
    (folder / "away").symlink_to(tmp_path)
    for file in ("link.png", "inner.png", "away/secret.png"):
        assert fault(folder, file) == "unsafe_path"
    # A folder that is itself reached through a link is what the user named.
    (tmp_path / "named").symlink_to(folder)
    assert Pictures(tmp_path / "named").picture(ImageRef("in/red.png"), "q").open()


@given(st.text("./\\a\x00~:é", max_size=12))
@settings(max_examples=300, deadline=None)
def test_a_path_that_is_let_through_stays_inside(file):
    if unsafe(file) is None:
        root = "/images"
        assert os.path.normpath(f"{root}/{file}") == f"{root}/{file}"


def test_what_is_no_picture_is_named(folder):
    (folder / "page.png").write_bytes(b"<html>not found</html>")
    (folder / "empty.png").write_bytes(b"")
    (folder / "torn.png").write_bytes(picture("red", (64, 64))[:-20])
    (folder / "scan.tiff").write_bytes(picture("red", form="TIFF"))
    os.mkfifo(folder / "pipe.png")
    assert fault(folder, "missing.png") == "image_absent"
    assert fault(None, "in/red.png") == "image_absent"
    for file in ("page.png", "empty.png", "torn.png", "scan.tiff", "pipe.png", "in"):
        assert fault(folder, file) == "image_unreadable"


def test_forty_megapixels_are_refused_by_their_header(folder):
    wide = PIL.Image.new("1", (8000, 5000))
    wide.save(folder / "wide.png")
    assert fault(folder, "wide.png") == "image_too_large"
    # 200 million pixels in a few kilobytes: Pillow itself would raise.
    PIL.Image.new("1", (20_000, 10_000)).save(folder / "bomb.png")
    assert (folder / "bomb.png").stat().st_size < 100_000
    assert fault(folder, "bomb.png") == "image_too_large"
    PIL.Image.new("1", (MAX_PIXELS // 4096, 4096)).save(folder / "largest.png")
    assert Pictures(folder).picture(ImageRef("largest.png"), "q").size


def test_a_fault_is_found_once_and_named_for_each_record(folder):
    pictures = Pictures(folder)
    for record in ("q_1", "q_2"):
        with pytest.raises(RecordError, match=f"{record}: .*missing.png"):
            pictures.picture(ImageRef("missing.png"), record)


def opened(folder, file):
    return PIL.Image.open(io.BytesIO(Pictures(folder).picture(ImageRef(file), "q").open()))


def test_rotated_and_unusual_pictures_come_upright_and_plain(folder):
    photo = PIL.Image.new("RGB", (40, 20), (200, 30, 30))
    photo.paste((30, 30, 200), (0, 0, 8, 20))
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to see it upright
    for form in ("JPEG", "PNG", "WEBP"):
        photo.save(folder / f"turned.{form}", form, exif=exif, **({} if form == "PNG" else {"quality": 95}))
        assert opened(folder, f"turned.{form}").size == (20, 40)
    photo.convert("CMYK").save(folder / "print.jpg", "JPEG")
    assert opened(folder, "print.jpg").mode == "RGB"
    PIL.Image.new("I;16", (4, 4)).save(folder / "deep.png")
    assert opened(folder, "deep.png").mode == "RGB"
    photo.convert("P", palette=PIL.Image.Palette.ADAPTIVE).save(folder / "palette.png")
    plain = opened(folder, "palette.png")  # a text reader took the numbers of a palette for shades of grey
    assert plain.mode == "RGB"
    assert plain.tobytes() == PIL.Image.open(folder / "palette.png").convert("RGB").tobytes()


def test_a_picture_that_changed_is_an_error(folder):
    handle = Pictures(folder).picture(ImageRef("in/red.png"), "q")
    (folder / "in" / "red.png").write_bytes(picture("blue", (30, 30)))
    with pytest.raises(InputError, match="has changed"):
        handle.open()
    (folder / "in" / "red.png").unlink()
    with pytest.raises(InputError, match="cannot be read any more"):
        handle.open()
