"""Things that a picture can show: names by visual class.

Each name has one glyph in the atlas. Names are unique over all classes, no name is part of another, none is a colour or
an everyday verb, and within a class no two glyphs look alike (a test reads them back from drawn pictures).
"""

from __future__ import annotations

from memgauge.errors import unknown_name

CLASSES: dict[str, tuple[str, ...]] = {
    "fruit": (
        "banana", "watermelon", "lemon", "pineapple", "strawberry", "pear", "kiwi", "coconut", "grape", "cherry",
        "blueberry", "peach",
    ),
    "vegetable": (
        "carrot", "broccoli", "corn", "eggplant", "cucumber", "potato", "onion", "garlic", "mushroom", "lettuce", "pea",
    ),
    "dish": (
        "pizza", "hamburger", "taco", "burrito", "sushi", "hot dog", "sandwich", "spaghetti", "dumpling", "salad",
        "ramen",
    ),
    "dessert": (
        "doughnut", "cupcake", "cookie", "lollipop", "chocolate", "ice cream", "pie", "custard", "waffle", "pancake",
    ),
    "mammal": (
        "elephant", "giraffe", "zebra", "lion", "tiger", "koala", "panda", "kangaroo", "camel", "hedgehog", "rabbit",
        "gorilla",
    ),
    "bird": (
        "penguin", "owl", "parrot", "flamingo", "peacock", "swan", "eagle", "rooster", "duck", "turkey", "dove",
    ),
    "sea creature": (
        "octopus", "shark", "crab", "lobster", "shrimp", "squid", "pufferfish", "jellyfish", "oyster",
    ),
    "bug": (
        "butterfly", "ladybug", "bee", "ant", "spider", "scorpion", "cricket", "beetle", "mosquito", "caterpillar",
        "cockroach",
    ),
    "instrument": (
        "guitar", "violin", "trumpet", "saxophone", "accordion", "drum", "piano", "banjo", "flute", "maraca",
    ),
    "vehicle": (
        "motorcycle", "tractor", "ambulance", "helicopter", "sailboat", "canoe", "rocket", "tram", "rickshaw",
        "scooter", "locomotive", "skateboard",
    ),
    "tool": (
        "hammer", "handsaw", "wrench", "screwdriver", "axe", "ladder", "magnet", "clamp", "broom", "paintbrush",
        "plunger",
    ),
    "garment": (
        "dress", "kimono", "scarf", "glove", "sock", "coat", "swimsuit", "vest", "sandal", "sneaker", "boot",
    ),
    "sports item": (
        "basketball", "baseball", "volleyball", "frisbee", "kite", "boomerang", "sled", "snorkel", "dartboard",
        "racket",
    ),
    "plant": (
        "tulip", "sunflower", "hibiscus", "cactus", "clover", "maple", "lotus", "hyacinth", "bamboo", "fir", "palm",
    ),
    "household item": (
        "teapot", "candle", "couch", "bathtub", "bucket", "basket", "mirror", "toothbrush", "sponge", "vase", "padlock",
        "chair",
    ),
    "device": (
        "laptop", "telephone", "radio", "television", "printer", "flashlight", "joystick", "battery", "stethoscope",
        "megaphone", "wristwatch", "projector",
    ),
}  # fmt: skip
"""Class (a singular noun): its members (singular nouns)."""

NAMES: tuple[str, ...] = tuple(name for members in CLASSES.values() for name in members)
"""All names, in the order of the atlas."""

_CLASS_OF = {name: kind for kind, members in CLASSES.items() for name in members}
_SAME = {
    "broccoli", "corn", "garlic", "sushi", "spaghetti", "ramen", "squid", "shrimp", "pufferfish", "jellyfish", "bamboo",
}  # fmt: skip
_IRREGULAR = {"scarf": "scarves", "cactus": "cacti"}


def class_of(name: str) -> str:
    """Return the class of a name; raises `InputError` for an unknown one.

    >>> class_of("teapot")
    'household item'
    """
    try:
        return _CLASS_OF[name]
    except KeyError:
        raise unknown_name("entity", name, NAMES) from None


def plural(noun: str) -> str:
    """Return the plural of an entity's or a class's name.

    >>> plural("cherry"), plural("torch"), plural("scarf"), plural("sea creature")
    ('cherries', 'torches', 'scarves', 'sea creatures')
    """
    if noun in _SAME:
        return noun
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def with_article(noun: str) -> str:
    """Return the noun behind its indefinite article.

    >>> with_article("owl"), with_article("tulip")
    ('an owl', 'a tulip')
    """
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
