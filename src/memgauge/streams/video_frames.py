"""The frames of a synthetic video: one letter on one of three labelled belts (ECCBench, A.3).

There are 48 frames, sixteen letters on three belts. A letter stands in the middle of its belt, as it is seen in one
frame only: which belt comes when is all that moves. Pixels are composed from masks that come with the package, so they
are equal on every machine; the encoded bytes are equal wherever Pillow is built alike.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.resources import files
from types import ModuleType
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Observation, SymbolArray
from memgauge.errors import InputError, unknown_name

ImageFormat = Literal["png", "jpeg"]
Pixels = NDArray[np.uint8]

LETTERS = "ACDEHKLMRSTUWXYZ"
"""The letter of each symbol 0 to 15.

Left out are those that a reader may take for another one or for a digit: I and O (1, 0), Q (O), J (I), B (8, R), G (C),
F (E), P (R), N (H, M) and V (U, Y). Of the pairs that stay, the two most alike (K and X) share 67 % of their ink; P and
R would share 75 %, C and O 83 %.
"""
LANES = 3
SIZE = 448
"""Width and height in pixels (ECCBench, A.3)."""
SIZES = (64, 2048)
"""The smallest and the largest frame that can be asked for."""
BELT_LEFT = (16, 160, 304)
BELT_WIDTH = 128
BELT_TOP = 48
LABEL_HEIGHT = 40
TILE = 112
"""Side of the tile that carries a letter."""
_PAPER, _BELT, _SLAT = 244, 200, 180
_SLAT_EVERY = 40
_JPEG_QUALITY = 90
_PNG_LEVEL = 3
DESIGN = 1
"""Raised whenever a pixel changes."""


def letter_of(symbol: int) -> str:
    """Return the letter that shows a symbol.

    >>> letter_of(0), letter_of(15)
    ('A', 'Z')
    """
    return LETTERS[symbol]


def frame_words(symbol: int, lane: int) -> str:
    """Say what a frame shows.

    >>> frame_words(4, 2)
    'letter H on belt 3'
    """
    return f"letter {LETTERS[symbol]} on belt {lane + 1}"


def spell(symbols: SymbolArray, lanes: SymbolArray) -> str:
    """Write frames as letters and belts.

    >>> spell(np.array([0, 4], np.uint8), np.array([2, 0], np.uint8))
    'A3 H1'
    """
    return " ".join(f"{LETTERS[s]}{n + 1}" for s, n in zip(symbols.tolist(), lanes.tolist(), strict=True))


def check_style(image_format: str, size: int) -> None:
    """Raise `InputError` unless frames can be made so."""
    if image_format not in get_args(ImageFormat):
        raise unknown_name("image format", image_format, get_args(ImageFormat))
    if not SIZES[0] <= size <= SIZES[1]:
        raise InputError(f"a frame is {SIZES[0]} to {SIZES[1]} pixels wide and high; got {size}")


def frame_pixels(symbol: int, lane: int, size: int = SIZE) -> Pixels:
    """Draw one frame in grey, shape [size, size].

    The design is 448 x 448; other sizes are resampled from it.
    """
    scene, masks = _scene()
    frame = scene.copy()
    left = BELT_LEFT[lane] + (BELT_WIDTH - TILE) // 2
    top = (BELT_TOP + SIZE - TILE) // 2
    frame[top : top + TILE, left : left + TILE] = masks[symbol]
    if size != SIZE:
        image = pillow().Image
        frame = np.asarray(image.fromarray(frame).resize((size, size), image.Resampling.LANCZOS))
    return frame


def encode_image(pixels: Pixels, image_format: ImageFormat = "png") -> bytes:
    """Encode a grey picture, shape [height, width]. PNG is lossless; JPEG has quality 90."""
    picture = pillow().Image.fromarray(pixels)
    data = io.BytesIO()
    if image_format == "png":
        picture.save(data, "PNG", compress_level=_PNG_LEVEL)
    else:
        picture.save(data, "JPEG", quality=_JPEG_QUALITY)
    return data.getvalue()


@lru_cache(maxsize=16 * LANES * 8)
def frame_bytes(symbol: int, lane: int, image_format: ImageFormat = "png", size: int = SIZE) -> bytes:
    """Return one frame as encoded bytes; each of the 48 is drawn once in a process, for every format and size."""
    return encode_image(frame_pixels(symbol, lane, size), image_format)


@dataclass(frozen=True, slots=True, eq=False)
class Frames(Sequence[Observation]):
    """A video, or the clip of a candidate, as a sequence of frames; each is made when somebody looks.

    >>> clip = Frames(np.array([4, 0], np.uint8), np.array([2, 1], np.uint8))
    >>> len(clip), clip[0].text, clip[1].kind
    (2, 'letter H on belt 3', 'frame')
    """

    symbols: SymbolArray
    """Shape [n]; read-only."""
    lanes: SymbolArray
    """Shape [n]: 0, 1 or 2; read-only."""
    image_format: ImageFormat = "png"
    size: int = SIZE

    def __len__(self) -> int:
        return len(self.symbols)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> Frames: ...
    def __getitem__(self, index: int | slice) -> Observation | Frames:
        if isinstance(index, slice):
            return Frames(self.symbols[index], self.lanes[index], self.image_format, self.size)
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        at = index % len(self)
        symbol, lane = int(self.symbols[at]), int(self.lanes[at])
        return Observation(
            "frame",
            self.symbols[at : at + 1],
            self.lanes[at : at + 1],
            render_text=partial(frame_words, symbol, lane),
            render_image=partial(frame_bytes, symbol, lane, self.image_format, self.size),
        )

    def pixels(self, index: int) -> Pixels:
        """Return frame `index` before it is encoded, shape [size, size]; read-only."""
        return _drawn(int(self.symbols[index]), int(self.lanes[index]), self.size)


@lru_cache(maxsize=16 * LANES)
def _drawn(symbol: int, lane: int, size: int) -> Pixels:
    pixels = frame_pixels(symbol, lane, size)
    pixels.flags.writeable = False
    return pixels


def contact_sheet(frames: Frames, *, columns: int = 16, size: int = 112) -> Pixels:
    """Lay the frames of a video out in rows, shape [rows * size, columns * size]: for looking at."""
    columns = max(1, min(columns, len(frames)))
    rows = -(-len(frames) // columns)
    sheet = np.full((rows * size, columns * size), 255, np.uint8)
    small = Frames(frames.symbols, frames.lanes, size=size)
    for index in range(len(frames)):
        top, left = index // columns * size, index % columns * size
        sheet[top : top + size, left : left + size] = small.pixels(index)
    return sheet


@cache
def _scene() -> tuple[Pixels, Pixels]:
    """Return the frame without a letter, [448, 448], and the sixteen tiles, [16, 112, 112]; both in grey."""
    data = files(__package__).joinpath("data", "letters.png").read_bytes()
    ink = np.asarray(pillow().Image.open(io.BytesIO(data)).convert("L"))
    scene = np.full((SIZE, SIZE), _PAPER, np.uint8)
    for left in BELT_LEFT:
        belt = scene[BELT_TOP:, left : left + BELT_WIDTH]
        belt[:] = _BELT
        for offset in range(2):
            belt[offset::_SLAT_EVERY] = _SLAT
    labels = scene[(BELT_TOP - LABEL_HEIGHT) // 2 :][:LABEL_HEIGHT]
    labels[:] = _inked(_PAPER, ink[SIZE:])
    tiles = _inked(255, ink[:SIZE].reshape(4, TILE, 4, TILE).swapaxes(1, 2).reshape(16, TILE, TILE))
    for edge in (0, 1, -1, -2):
        tiles[:, edge, :] = 0
        tiles[:, :, edge] = 0
    return scene, tiles


def _inked(paper: int, ink: Pixels) -> Pixels:
    """Put black ink on paper; whole numbers, so that every machine gets the same grey."""
    return ((255 - ink.astype(np.uint32)) * paper // 255).astype(np.uint8)


@cache
def pillow() -> Any:
    """Import Pillow, which only pictures need."""
    try:
        import PIL.Image
    except ImportError as error:
        raise InputError("frames need Pillow; install it with: pip install 'memgauge[models]'") from error
    module: ModuleType = PIL
    return module
