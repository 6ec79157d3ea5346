"""Pictures of a history: found inside the image folder only, looked at before a question is asked, opened late."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from memgauge.episode import Picture
from memgauge.errors import InputError
from memgauge.histories.records import FaultKind, ImageRef, RecordError

MAX_PIXELS = 1 << 25
"""About 33 million, an 8K picture; a larger one is refused before it is decoded."""
MAX_BYTES = 64 << 20
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
"""What the servers of vision-language models take."""
_PLAIN = frozenset({"L", "LA", "RGB", "RGBA"})
"""Pixel formats that every reader of pictures knows; others (palettes, CMYK, 16 bits) are converted."""
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at a picture's header told."""

    path: Path
    bytes: int
    plain: bool
    """Whether its bytes can be handed over as they are: upright and of a common pixel format."""


class Pictures:
    """The image folder of a dataset. `None` stands for a dataset without one.

    Paths come from untrusted records: absolute ones, `..`, backslashes, NUL and symbolic links are refused, so that
    nothing outside the folder is ever opened or sent anywhere.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._root = None if folder is None else folder.resolve()
        self._looked: dict[str, Looked | tuple[FaultKind, str]] = {}

    def picture(self, image: ImageRef, record: str) -> Picture:
        """Return a handle to a picture that has been looked at. Raises `RecordError` that names the record."""
        looked = self._looked.get(image.file)
        if looked is None:
            try:
                looked = self._look(image.file)
            except RecordError as error:
                looked = (error.kind, str(error).partition(": ")[2])
            self._looked[image.file] = looked
        if not isinstance(looked, Looked):
            raise RecordError(looked[0], record, looked[1])
        return Picture(name_of(image.file), partial(_bytes_of, looked), looked.bytes, image.caption)

    def resolve(self, file: str) -> Path:
        """Return the path of a picture inside the folder. Raises `RecordError`."""
        problem = unsafe(file)
        if problem:
            raise RecordError("unsafe_path", "picture", f"{file!r:.120} {problem}; a picture lies in the image folder")
        if self._root is None:
            raise RecordError("image_absent", "picture", f"{file!r:.120}: there is no image folder; give --images")
        # Some files name the image folder itself.
        relative = file.removeprefix(f"{self._root.name}/")
        path = self._root / relative
        # A link, wherever on the way, makes the real path another one.
        if os.path.realpath(path) != str(path):
            raise RecordError("unsafe_path", "picture", f"{file!r:.120} goes through a symbolic link")
        return path

    def _look(self, file: str) -> Looked:
        path = self.resolve(file)
        try:
            about = path.lstat()
        except (OSError, ValueError) as error:
            raise RecordError("image_absent", "picture", f"{file!r:.120} is not in {self.folder}") from error
        if not stat.S_ISREG(about.st_mode):
            raise RecordError("image_unreadable", "picture", f"{file!r:.120} is no file")
        if about.st_size > MAX_BYTES:
            raise RecordError(
                "image_too_large", "picture", f"{file!r:.120} has {about.st_size:,} bytes; at most {MAX_BYTES:,}"
            )
        with _opened(path, file) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise RecordError(
                    "image_too_large",
                    "picture",
                    f"{file!r:.120} has {width} x {height} = {width * height / 1e6:.1f} million pixels; at most "
                    f"{MAX_PIXELS / 1e6:.1f} are read",
                )
            plain = image.mode in _PLAIN and _is_upright(image)
            try:
                image.verify()
            except (OSError, SyntaxError, ValueError) as error:
                raise RecordError("image_unreadable", "picture", f"{file!r:.120} is broken: {error}") from error
        return Looked(path, about.st_size, plain)


def unsafe(file: str) -> str | None:
    r"""Say why a picture's path is refused whatever the folder holds, or None.

    >>> unsafe("cats/1.png"), unsafe("../1.png"), unsafe("a\\b.png")
    (None, 'has the part ..', 'has a backslash')
    """
    if len(file) > 1024:
        return "is too long"
    if not file.isprintable():
        return "has characters that cannot be printed"
    if "\\" in file:
        return "has a backslash"
    if file.startswith(("/", "~")) or ":" in file.partition("/")[0]:
        return "does not begin in the image folder"
    parts = file.split("/")
    for odd in ("..", ".", ""):
        if odd in parts:
            return f"has the part {odd}" if odd else "has an empty part"
    return None


def name_of(file: str) -> str:
    """Return a name that tells a picture from others and gives nothing away: folders can say what is evidence."""
    digest = hashlib.blake2b(file.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return digest + PurePosixPath(file).suffix.lower()[:6]


def _opened(path: Path, file: str) -> Any:
    try:
        import PIL.Image
    except ImportError as error:
        raise InputError("pictures need Pillow: pip install 'memgauge[histories]'") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
            return PIL.Image.open(path, formats=FORMATS)
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as error:
        raise RecordError("image_too_large", "picture", f"{file!r:.120} has too many pixels: {error}") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise RecordError(
            "image_unreadable", "picture", f"{file!r:.120} is no picture in one of the forms {', '.join(FORMATS)}"
        ) from error


def _is_upright(image: Any) -> bool:
    """Read the orientation from what the header holds; asking Pillow for it would decode a PNG."""
    import PIL.Image

    data = image.info.get("exif")
    if not data:
        return True
    exif = PIL.Image.Exif()
    try:
        exif.load(data)
        return bool(exif.get(_ORIENTATION, 1) == 1)
    except (OSError, SyntaxError, ValueError, KeyError, struct.error):
        return True  # no orientation that anybody could read


def _bytes_of(looked: Looked) -> bytes:
    """Read a picture. Raises `InputError` where it has gone or changed since it was looked at."""
    try:
        handle = os.open(looked.path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(handle, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{looked.path}: cannot be read any more: {error.strerror}") from error
    if len(data) != looked.bytes:
        raise InputError(f"{looked.path}: has changed while it was used")
    return data if looked.plain else upright(data)


def upright(data: bytes) -> bytes:
    """Return a picture turned as its EXIF orientation says, in a pixel format that every reader knows."""
    import PIL.Image
    import PIL.ImageOps

    with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
        turned = PIL.ImageOps.exif_transpose(image)
        lossless = image.format == "PNG"
        if turned.mode not in _PLAIN:
            turned = turned.convert("RGBA" if "transparency" in turned.info else "RGB")
        out = io.BytesIO()
        if lossless or turned.mode not in ("L", "RGB"):
            turned.save(out, "PNG", compress_level=1)
        else:
            turned.save(out, "JPEG", quality=95)
        return out.getvalue()
