"""Draw the glyph atlas of the construction pipeline from the Noto Color Emoji font.

The font is in the Debian package fonts-noto-color-emoji (SIL Open Font License 1.1); it holds bitmaps of 109 pixels an
em. Each glyph is scaled into a cell of 128 x 128 pixels. Usage:

    python tools/make_atlas.py /usr/share/fonts/truetype/noto/NotoColorEmoji.ttf
"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from memgauge.files import write_whole
from memgauge.histories.building.pictures.entities import NAMES

DATA = Path(__file__).parents[1] / "src/memgauge/histories/building/pictures/data"
CELL, COLUMNS, STRIKE = 128, 16, 109

GLYPHS = {
    "banana": "🍌", "watermelon": "🍉", "lemon": "🍋", "pineapple": "🍍", "strawberry": "🍓", "pear": "🍐",
    "kiwi": "🥝", "coconut": "🥥", "grape": "🍇", "cherry": "🍒", "blueberry": "🫐", "peach": "🍑",
    "carrot": "🥕", "broccoli": "🥦", "corn": "🌽", "eggplant": "🍆", "cucumber": "🥒", "potato": "🥔", "onion": "🧅",
    "garlic": "🧄", "mushroom": "🍄", "lettuce": "🥬", "pea": "🫛",
    "pizza": "🍕", "hamburger": "🍔", "taco": "🌮", "burrito": "🌯", "sushi": "🍣", "hot dog": "🌭", "sandwich": "🥪",
    "spaghetti": "🍝", "dumpling": "🥟", "salad": "🥗", "ramen": "🍜",
    "doughnut": "🍩", "cupcake": "🧁", "cookie": "🍪", "lollipop": "🍭", "chocolate": "🍫", "ice cream": "🍦",
    "pie": "🥧", "custard": "🍮", "waffle": "🧇", "pancake": "🥞",
    "elephant": "🐘", "giraffe": "🦒", "zebra": "🦓", "lion": "🦁", "tiger": "🐅", "koala": "🐨", "panda": "🐼",
    "kangaroo": "🦘", "camel": "🐫", "hedgehog": "🦔", "rabbit": "🐇", "gorilla": "🦍",
    "penguin": "🐧", "owl": "🦉", "parrot": "🦜", "flamingo": "🦩", "peacock": "🦚", "swan": "🦢", "eagle": "🦅",
    "rooster": "🐓", "duck": "🦆", "turkey": "🦃", "dove": "🕊",
    "octopus": "🐙", "shark": "🦈", "crab": "🦀", "lobster": "🦞", "shrimp": "🦐", "squid": "🦑", "pufferfish": "🐡",
    "jellyfish": "🪼", "oyster": "🦪",
    "butterfly": "🦋", "ladybug": "🐞", "bee": "🐝", "ant": "🐜", "spider": "🕷", "scorpion": "🦂", "cricket": "🦗",
    "beetle": "🪲", "mosquito": "🦟", "caterpillar": "🐛", "cockroach": "🪳",
    "guitar": "🎸", "violin": "🎻", "trumpet": "🎺", "saxophone": "🎷", "accordion": "🪗", "drum": "🥁", "piano": "🎹",
    "banjo": "🪕", "flute": "🪈", "maraca": "🪇",
    "motorcycle": "🏍", "tractor": "🚜", "ambulance": "🚑", "helicopter": "🚁", "sailboat": "⛵", "canoe": "🛶",
    "rocket": "🚀", "tram": "🚊", "rickshaw": "🛺", "scooter": "🛴", "locomotive": "🚂", "skateboard": "🛹",
    "hammer": "🔨", "handsaw": "🪚", "wrench": "🔧", "screwdriver": "🪛", "axe": "🪓", "ladder": "🪜", "magnet": "🧲",
    "clamp": "🗜", "broom": "🧹", "paintbrush": "🖌", "plunger": "🪠",
    "dress": "👗", "kimono": "👘", "scarf": "🧣", "glove": "🧤", "sock": "🧦", "coat": "🧥", "swimsuit": "🩱",
    "vest": "🦺", "sandal": "👡", "sneaker": "👟", "boot": "👢",
    "basketball": "🏀", "baseball": "⚾", "volleyball": "🏐", "frisbee": "🥏", "kite": "🪁", "boomerang": "🪃",
    "sled": "🛷", "snorkel": "🤿", "dartboard": "🎯", "racket": "🎾",
    "tulip": "🌷", "sunflower": "🌻", "hibiscus": "🌺", "cactus": "🌵", "clover": "🍀", "maple": "🍁", "lotus": "🪷",
    "hyacinth": "🪻", "bamboo": "🎍", "fir": "🌲", "palm": "🌴",
    "teapot": "🫖", "candle": "🕯", "couch": "🛋", "bathtub": "🛁", "bucket": "🪣", "basket": "🧺", "mirror": "🪞",
    "toothbrush": "🪥", "sponge": "🧽", "vase": "🏺", "padlock": "🔒", "chair": "🪑",
    "laptop": "💻", "telephone": "☎", "radio": "📻", "television": "📺", "printer": "🖨", "flashlight": "🔦",
    "joystick": "🕹", "battery": "🔋", "stethoscope": "🩺", "megaphone": "📢", "wristwatch": "⌚", "projector": "📽",
}  # fmt: skip
"""Name: the character whose glyph shows it."""


def glyph(font: ImageFont.FreeTypeFont, character: str) -> Image.Image:
    """Return the glyph in colour, cut to what it shows and centred in a square cell."""
    wide = Image.new("RGBA", (STRIKE * 2, STRIKE * 2), (0, 0, 0, 0))
    ImageDraw.Draw(wide).text((STRIKE // 3, STRIKE // 3), character, font=font, embedded_color=True)
    box = wide.getchannel("A").point(lambda alpha: 255 * (alpha > 8)).getbbox()
    if box is None:
        raise SystemExit(f"the font has no glyph for {character!r}")
    shown = wide.crop(box)
    scale = (CELL - 4) / max(shown.size)
    shown = shown.resize((round(shown.width * scale), round(shown.height * scale)), Image.Resampling.LANCZOS)
    cell = Image.new("RGBA", (CELL, CELL), (0, 0, 0, 0))
    cell.paste(shown, ((CELL - shown.width) // 2, (CELL - shown.height) // 2))
    return cell


def main() -> None:
    """Write atlas.png and atlas.json."""
    parser = argparse.ArgumentParser(description="Draw the glyph atlas from NotoColorEmoji.ttf.")
    parser.add_argument("font", type=Path)
    parser.add_argument("--out", type=Path, default=DATA)
    given = parser.parse_args()
    if set(GLYPHS) != set(NAMES):
        raise SystemExit(f"names without a glyph or glyphs without a name: {sorted(set(GLYPHS) ^ set(NAMES))}")
    font = ImageFont.truetype(given.font, STRIKE)
    rows = -(-len(NAMES) // COLUMNS)
    atlas = Image.new("RGBA", (COLUMNS * CELL, rows * CELL), (0, 0, 0, 0))
    for index, name in enumerate(NAMES):
        atlas.paste(glyph(font, GLYPHS[name]), (index % COLUMNS * CELL, index // COLUMNS * CELL))
    buffer = io.BytesIO()
    atlas.save(buffer, "png", optimize=True)
    write_whole(given.out / "atlas.png", buffer.getvalue())
    names = {name: [index % COLUMNS, index // COLUMNS] for index, name in enumerate(NAMES)}
    write_whole(given.out / "atlas.json", json.dumps({"cell": CELL, "places": names}, indent=0) + "\n")


if __name__ == "__main__":
    main()
