"""Pictures from outside: bad files are refused by name, odd ones are mended, repeats are found."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFilter

from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures.dedup import Seen, canonical_url, truth_key
from memgauge.histories.building.pictures.photos import MOST_BYTES, RefusedPicture, decode, open_photo


def natural(seed=0, size=(400, 300)):
    """A picture with soft shapes and some grain, as photographs have."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 255, (9, 12, 3), dtype=np.uint8)
    soft = np.asarray(Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)).astype(float)
    return Image.fromarray((soft + rng.normal(0, 12, soft.shape)).clip(0, 255).astype(np.uint8))


def saved(image, kind="jpeg", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def huge_png():
    """The header of a picture of 60,000 x 60,000 pixels."""
    body = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + body + struct.pack(">I", zlib.crc32(b"IHDR" + body))
    end = struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    return b"\x89PNG\r\n\x1a\n" + chunk + end


def large_png():
    """More pixels than we read, fewer than Pillow refuses by itself."""
    return saved(Image.new("L", (8000, 8000)), "png")


GOOD = saved(natural())
ANIMATED = saved(natural(1), "gif", save_all=True, append_images=[natural(2)])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "format"),
        (b"no picture at all", "format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "format"),
        (saved(natural(), "bmp"), "format"),
        (GOOD[: len(GOOD) // 3], "broken"),
        (saved(natural(), "png")[:900], "broken"),
        (huge_png(), "huge"),
        (large_png(), "huge"),
        (b"\xff\xd8" + b"\0" * MOST_BYTES, "huge"),
        (ANIMATED, "animated"),
    ],
    ids=["empty", "text", "svg", "bmp", "cut jpeg", "cut png", "bomb", "many pixels", "many bytes", "animated"],
)
def test_refused(data, reason, tmp_path):
    with pytest.raises(RefusedPicture, match="thing") as refusal:
        decode(data, name="thing")
    assert refusal.value.reason == reason
    path = tmp_path / "thing.jpg"
    path.write_bytes(data)
    with pytest.raises(RefusedPicture) as refusal:
        open_photo(path, inside=tmp_path)
    assert refusal.value.reason == reason


def test_paths_stay_inside(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out.jpg"
    inside.mkdir()
    outside.write_bytes(GOOD)
    (inside / "link.jpg").symlink_to(outside)
    for path in (inside / ".." / "out.jpg", inside / "link.jpg", outside):
        with pytest.raises(RefusedPicture) as refusal:
            open_photo(path, inside=inside)
        assert refusal.value.reason == "escape"
    with pytest.raises(RefusedPicture) as refusal:
        open_photo(inside / "none.jpg", inside=inside)
    assert refusal.value.reason == "missing"


def test_mended():
    image = natural()
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "the answer is red"
    turned = decode(saved(image, exif=exif), name="x", extension=".jpg")
    assert turned.image.size == (300, 400)
    assert turned.notes == ("turned",)
    clean = turned.clean()
    assert b"answer" not in clean.data
    assert b"Exif" not in clean.data
    cmyk = decode(saved(image.convert("CMYK")), name="x")
    assert cmyk.notes == ("cmyk",)
    assert cmyk.image.mode == "RGB"
    assert np.abs(np.asarray(cmyk.image).astype(int) - np.asarray(image)).mean() < 12
    layer = image.convert("RGBA")
    layer.putalpha(0)
    clear = decode(saved(layer, "png"), name="x", extension=".JPG")
    assert clear.notes == ("wrong extension", "transparent")
    assert np.asarray(clear.image).min() == 255
    palette = decode(saved(image.quantize(16), "gif"), name="x", extension=".gif")
    assert palette.image.mode == "RGB"
    assert decode(saved(natural(3, (2000, 900))), name="x").clean().width == 1024


def test_pixels_hash_and_sharpness():
    image = natural()
    first, second = (decode(saved(image, kind), name="x") for kind in ("png", "webp"))
    assert first.pixels_sha256 == decode(saved(image, "png", compress_level=1), name="y").pixels_sha256
    assert first.pixels_sha256 != second.pixels_sha256
    wide, tall = Image.new("RGB", (4, 9)), Image.new("RGB", (9, 4))
    assert decode(saved(wide, "png"), name="x").pixels_sha256 != decode(saved(tall, "png"), name="x").pixels_sha256
    grey = np.asarray(image.convert("L")).astype(float)
    naive = [
        grey[y - 1, x] + grey[y + 1, x] + grey[y, x - 1] + grey[y, x + 1] - 4 * grey[y, x]
        for y in range(1, grey.shape[0] - 1)
        for x in range(1, grey.shape[1] - 1)
    ]
    assert first.sharpness() == pytest.approx(np.var(naive))
    blurred = decode(saved(image.filter(ImageFilter.GaussianBlur(4)), "png"), name="x")
    assert blurred.sharpness() < 20 < first.sharpness()
    assert decode(saved(Image.new("RGB", (2, 2)), "png"), name="x").sharpness() == 0


def test_canonical_url():
    same = [
        "http://Example.org/a/b.jpg?b=2&a=1",
        "http://example.org:80/a/./b.jpg?a=1&b=2&utm_campaign=z#frag",
        " http://EXAMPLE.ORG//a/x/../b.jpg?a=1&b=2&fbclid=9 ",
    ]
    assert len(set(map(canonical_url, same))) == 1
    assert canonical_url("https://example.org/a") != canonical_url("http://example.org/a")
    assert canonical_url("https://example.org:8443/a") != canonical_url("https://example.org/a")
    assert canonical_url("https://example.org/A") != canonical_url("https://example.org/a")
    assert canonical_url(same[0]) == canonical_url(canonical_url(same[0]))


def test_repeats():
    seen = Seen()
    image = natural(4)
    first = decode(saved(image, "png"), name="x")
    assert seen.repeats("http://a.org/1", first.pixels_sha256, first.phash()) == ""
    seen.claim("http://a.org/1", first.pixels_sha256, first.phash())
    other = decode(saved(natural(5), "png"), name="x")
    assert seen.repeats("http://A.org/1?utm_source=q", other.pixels_sha256, other.phash()) == "url"
    assert seen.repeats("http://b.org/1", first.pixels_sha256, first.phash()) == "pixels"
    again = decode(saved(image.resize((380, 290)), quality=70), name="x")
    assert again.pixels_sha256 != first.pixels_sha256
    assert (again.phash() ^ first.phash()).bit_count() <= 6
    assert seen.repeats("", again.pixels_sha256, again.phash()) == "look"
    assert seen.repeats("", other.pixels_sha256, other.phash()) == ""
    assert seen.repeats("", "", first.phash() ^ 0b111_1110) == "look"
    assert seen.repeats("", "", first.phash() ^ 0b111_1111) == ""
    assert 0 <= first.phash() < 2**64


def test_drawn_repeats_by_truth():
    seen = Seen()
    first = ImageSpec("receipt", {"b": [1, 2], "a": "é"}, 1)
    assert seen.claim_drawn(first)
    assert not seen.claim_drawn(ImageSpec("receipt", {"a": "é", "b": [1, 2]}, 99))
    assert seen.claim_drawn(ImageSpec("menu", {"a": "é", "b": [1, 2]}, 1))
    assert seen.claim_drawn(ImageSpec("receipt", {"a": "é", "b": [2, 1]}, 1))
    assert truth_key(first) == ("receipt", '{"a":"é","b":[1,2]}')


def test_a_file_to_export_carries_nothing_along():
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    data = saved(natural(), comment=b"secret comment", exif=exif, icc_profile=b"secret profile", dpi=(300, 300))
    assert data.count(b"secret") == 3
    assert b"secret" not in decode(data, name="x").clean().data


def test_a_camera_file_with_a_preview_behind_the_picture():
    data = saved(natural(1), "mpo", save_all=True, append_images=[natural(2)])
    photo = decode(data, name="x", extension=".jpg")
    assert photo.notes == ("first of several",)
    assert photo.phash() == decode(saved(natural(1)), name="y").phash()


def test_forty_megapixels_are_too_many():
    with pytest.raises(RefusedPicture, match="8000 x 5000 pixels") as refusal:
        decode(saved(Image.new("1", (8000, 5000)), "png"), name="x")
    assert refusal.value.reason == "huge"
