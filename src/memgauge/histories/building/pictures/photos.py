"""Pictures from outside: opened with bounds, upright, in RGB, without what their files carry along."""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from memgauge.errors import InputError
from memgauge.histories.building.pictures.drawing import Picture
from memgauge.histories.building.pictures.sheet import encoded

MOST_BYTES = 32 * 2**20
MOST_PIXELS = 1 << 25
"""About 33 million, the bound of the reader of histories too (`pictures_at.MAX_PIXELS`)."""
FORMATS = {"JPEG": (".jpg", ".jpeg"), "PNG": (".png",), "WEBP": (".webp",), "GIF": (".gif",)}
LARGEST_SIDE = 1024
"""Longer side of the file that `Photo.clean` makes."""


class RefusedPicture(InputError):  # noqa: N818 - a refusal, counted by reason
    """A picture that cannot be used; `reason` is one of a few words to count by."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Photo:
    """A decoded picture."""

    image: Image.Image
    """RGB, upright."""
    pixels_sha256: str
    """Of width, height and the decoded RGB bytes: equal pictures in different files have the same."""
    notes: tuple[str, ...] = field(default=())
    """What was mended: `wrong extension`, `turned`, `cmyk`, `transparent`, `first of several`."""

    def sharpness(self) -> float:
        """Return the variance of the Laplacian of the grey picture of at most 512 pixels a side; low is blurred."""
        grey = self.image.convert("L")
        grey.thumbnail((512, 512), Image.Resampling.BOX)
        values = np.asarray(grey, dtype=np.float64)
        if min(values.shape) < 3:
            return 0.0
        inner = values[1:-1, 1:-1]
        around = values[:-2, 1:-1] + values[2:, 1:-1] + values[1:-1, :-2] + values[1:-1, 2:]
        return float((around - 4 * inner).var())

    def phash(self) -> int:
        """Return the perceptual hash of 64 bits."""
        import imagehash

        bits = imagehash.phash(self.image).hash.ravel()
        return int("".join("1" if bit else "0" for bit in bits), 2)

    def clean(self) -> Picture:
        """Return the file to export: JPEG without metadata, at most 1,024 pixels a side."""
        image = self.image.copy()
        image.info = {}  # a comment in the file would be written again
        image.thumbnail((LARGEST_SIDE, LARGEST_SIDE), Image.Resampling.LANCZOS)
        return Picture(encoded(image, "jpg"), "jpg", *image.size)


def open_photo(path: Path, *, inside: Path | None = None) -> Photo:
    """Read and decode a picture's file.

    Raises `RefusedPicture` with the reason `escape` (it lies outside the folder `inside`, also through a link),
    `missing`, `huge`, `animated`, `format` (not JPEG, PNG, WebP or GIF) or `broken`.
    """
    if inside is not None and not path.resolve().is_relative_to(inside.resolve()):
        raise RefusedPicture("escape", f"{path}: lies outside of {inside}")
    if not path.is_file():
        raise RefusedPicture("missing", f"{path}: no such file")
    if path.stat().st_size > MOST_BYTES:
        raise RefusedPicture("huge", f"{path}: more than {MOST_BYTES // 2**20} MiB")
    return decode(path.read_bytes(), name=str(path), extension=path.suffix)


def decode(data: bytes, *, name: str, extension: str = "") -> Photo:
    """Decode a picture from its bytes; see `open_photo` for the reasons of a refusal."""
    if len(data) > MOST_BYTES:
        raise RefusedPicture("huge", f"{name}: more than {MOST_BYTES // 2**20} MiB")
    try:
        with warnings.catch_warnings():
            # Pillow warns about many pixels before it decodes; the bound below refuses them.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=tuple(FORMATS)) as opened:
                return _decoded(opened, name, extension)
    except Image.DecompressionBombError as error:
        raise RefusedPicture("huge", f"{name}: {error}") from error
    except UnidentifiedImageError as error:
        raise RefusedPicture("format", f"{name}: not a JPEG, PNG, WebP or GIF picture") from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
        raise RefusedPicture("broken", f"{name}: broken picture ({error})") from error


def _decoded(opened: Image.Image, name: str, extension: str) -> Photo:
    width, height = opened.size
    if width * height > MOST_PIXELS:
        raise RefusedPicture("huge", f"{name}: {width} x {height} pixels, at most {MOST_PIXELS:,} pixels are read")
    notes = []
    form = opened.format or ""
    if form == "MPO":  # a JPEG file with a preview or depth map behind the picture, as many cameras write
        notes.append("first of several")
        form = "JPEG"
    elif getattr(opened, "n_frames", 1) > 1:
        raise RefusedPicture("animated", f"{name}: several frames")
    if extension and extension.lower() not in FORMATS[form]:
        notes.append("wrong extension")
    if opened.getexif().get(0x0112, 1) != 1:
        notes.append("turned")
    image = ImageOps.exif_transpose(opened)
    if image.mode == "CMYK":
        notes.append("cmyk")
    if image.has_transparency_data:
        notes.append("transparent")
        layer = image.convert("RGBA")
        image = Image.new("RGB", layer.size, (255, 255, 255))
        image.paste(layer, mask=layer.getchannel("A"))
    image = image.convert("RGB")
    digest = hashlib.sha256(struct.pack(">II", *image.size) + image.tobytes()).hexdigest()
    return Photo(image, digest, tuple(notes))
