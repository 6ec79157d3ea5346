"""Make `src/memgauge/streams/data/letters.png` again, from the font that Pillow carries (Aileron Regular, CC0).

The picture is 448 wide: sixteen masks of 112 x 112 in reading order, then the strip with the names of the belts, 40
high. Run this file to write it; a test compares the two, so that the shipped picture cannot drift from its recipe.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from memgauge.streams.video_frames import BELT_LEFT, BELT_WIDTH, LABEL_HEIGHT, LETTERS, SIZE, TILE

PATH = Path(__file__).parents[2] / "src/memgauge/streams/data/letters.png"


def letters() -> Image.Image:
    """Draw the masks: 0 is paper, 255 is ink."""
    picture = Image.new("L", (SIZE, SIZE + LABEL_HEIGHT), 0)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(100)
    for symbol, letter in enumerate(LETTERS):
        middle = (symbol % 4 * TILE + TILE // 2, symbol // 4 * TILE + TILE // 2)
        draw.text(middle, letter, font=font, fill=255, anchor="mm", stroke_width=3)
    for lane, left in enumerate(BELT_LEFT):
        middle = (left + BELT_WIDTH // 2, SIZE + LABEL_HEIGHT // 2)
        draw.text(middle, f"Belt {lane + 1}", font=ImageFont.load_default(28), fill=255, anchor="mm")
    return picture


if __name__ == "__main__":
    letters().save(PATH, optimize=True)
