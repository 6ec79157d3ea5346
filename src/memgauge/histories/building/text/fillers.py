"""Text-only sessions from files of real conversations: UltraChat, OpenAssistant, ShareGPT (streamed, filtered).

UltraChat is under the MIT licence, OpenAssistant under Apache-2.0. The rights in ShareGPT texts are unclear: build with
them for yourself, and do not pass the texts on.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from memgauge.errors import InputError, unknown_name
from memgauge.grading.typed.words import word_list
from memgauge.histories.building.model import Turn
from memgauge.histories.building.text.lint import IMAGE_WORDS
from memgauge.histories.building.text.validators.context import Bans, protected_forms
from memgauge.histories.building.text.validators.normal import words

MAX_LINE = 8 * 2**20
"""Bytes of one conversation."""
TURNS = (2, 20)
TOKENS = (200, 1500)
LATIN_SHARE = 0.9
"""Of the letters."""

_WORD = re.compile(r"\w+|[^\w\s]")
_LATIN = re.compile(r"[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_DATE = re.compile(
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun"
    r"|jul|aug|sept?|oct|nov|dec)\.?\s+\d{1,2}(?:st|nd|rd|th)?\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b",
    re.IGNORECASE,
)
_TOXIC = frozenset(
    word_list("fuck fucking shit bitch bastard asshole cunt nigger faggot slut whore rape porn nazi suicide")
)


@dataclass(frozen=True, slots=True)
class Filler:
    """One conversation of a file."""

    source: str
    """`FILE:NUMBER`, so that it can be named without passing its text on."""
    turns: tuple[Turn, ...]


def token_count(text: str) -> int:
    """Count words and signs, the default token counter."""
    return len(_WORD.findall(text))


@dataclass(slots=True)
class FillerFilter:
    """Decides which conversations can stand in a history, and counts why others cannot."""

    names: Sequence[str] = ()
    """People of the build: no filler may mention one."""
    protected: Sequence[str] = ()
    """Protected strings and keys of the questions."""
    count: Callable[[str], int] = token_count
    toxic: frozenset[str] = _TOXIC
    reasons: Counter[str] = field(default_factory=Counter)
    _bans: Bans = field(init=False)

    def __post_init__(self) -> None:
        self._bans = Bans([form for text in (*self.names, *self.protected) for form in protected_forms(text)])

    def accepts(self, turns: Sequence[Turn]) -> bool:
        """Whether a conversation passes; the reason is counted otherwise."""
        reason = self.reason(turns)
        self.reasons[reason or "accepted"] += 1
        return reason is None

    def reason(self, turns: Sequence[Turn]) -> str | None:
        """Return why a conversation cannot be used, or None."""
        if not TURNS[0] <= len(turns) <= TURNS[1]:
            return "turns"
        if any(turn.role != ("assistant" if i % 2 else "user") for i, turn in enumerate(turns)) or len(turns) % 2:
            return "roles"
        if any(not turn.content.strip() for turn in turns):
            return "empty_turn"
        text = "\n".join(turn.content for turn in turns)
        if not TOKENS[0] <= self.count(text) <= TOKENS[1]:
            return "tokens"
        letters = len(_LETTER.findall(text))
        if not letters or len(_LATIN.findall(text)) < LATIN_SHARE * letters:
            return "not_english"
        tokens = words(text)
        known = set(tokens)
        if not IMAGE_WORDS.isdisjoint(known) or "<image" in text:
            return "image_words"
        if _DATE.search(text):
            return "date"
        if not self.toxic.isdisjoint(known):
            return "toxic"
        return "protected" if self._bans.found(tokens, known) else None


def read_fillers(path: Path, form: str) -> Iterator[Filler]:
    """Yield the conversations of a file, one at a time: `ultrachat`, `oasst` or `sharegpt`; .gz is unpacked.

    Files are JSON lines; ShareGPT and UltraChat are also taken as a JSON array (`.json`). Turns of the same role in a
    row are joined, a system turn is dropped, a last user turn without a reply too.

    Raises `InputError` that names the file and the line (or the item) of what cannot be read.
    """
    if form not in _ADAPTERS:
        raise unknown_name("filler format", form, _ADAPTERS)
    adapt = _ADAPTERS[form]
    for where, record in _records(path):
        if not isinstance(record, dict):
            raise InputError(f"{where}: expected a JSON object, got {type(record).__name__}")
        try:
            pairs = adapt(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            detail = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{where}: no conversation of the format {form} ({detail})") from error
        yield Filler(f"{path.name}:{where.rsplit(' ', 1)[1]}", _turns(pairs, where))


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with _open(path) as file:
            if ".json" in path.suffixes:
                yield from _array(path, file)
                return
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
                where = f"{path}, line {number}"
                if len(line) > MAX_LINE:
                    raise InputError(f"{where}: longer than {MAX_LINE:,} bytes; is this a JSON array? Name it .json")
                if line.strip():
                    try:
                        yield where, json.loads(line)
                    except (ValueError, RecursionError) as error:
                        raise InputError(
                            f"{where}: no JSON ({error}); a JSON array is read from a .json file"
                        ) from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _array(path: Path, file: IO[bytes]) -> Iterator[tuple[str, Any]]:
    try:
        import ijson
    except ImportError as error:
        raise InputError(f"{path}: a JSON array needs the package ijson: pip install 'memgauge[histories]'") from error
    number = 0
    try:
        for number, record in enumerate(ijson.items(file, "item"), 1):
            yield f"{path}, item {number}", record
    except ijson.JSONError as error:
        raise InputError(f"{path}, after item {number}: no JSON array ({error})") from error
    if not number:
        raise InputError(f"{path}: no JSON array of conversations; JSON lines are read from a .jsonl file")


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        yield file  # type: ignore[misc]


Pairs = list[tuple[str, str]]


def _ultrachat(record: Mapping[str, Any]) -> Pairs:
    if "messages" in record:
        return [(message["role"], message["content"]) for message in record["messages"]]
    return [("assistant" if i % 2 else "user", text) for i, text in enumerate(_list(record["data"]))]


def _sharegpt(record: Mapping[str, Any]) -> Pairs:
    return [(message["from"], message["value"]) for message in _list(record["conversations"])]


def _oasst(record: Mapping[str, Any]) -> Pairs:
    """Follow the reply of the best rank from the prompt of a message tree; English trees only."""
    message: Mapping[str, Any] | None = record["prompt"]
    pairs: Pairs = []
    while message is not None and len(pairs) <= TURNS[1]:
        if message.get("lang", "en") != "en" or message.get("deleted"):
            break
        pairs.append((message["role"], message["text"]))
        replies = _list(message.get("replies") or [])
        message = min(replies, key=lambda reply: (reply.get("rank") is None, reply.get("rank") or 0), default=None)
    return pairs


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {type(value).__name__}")
    return value


_ADAPTERS: dict[str, Callable[[Mapping[str, Any]], Pairs]] = {
    "ultrachat": _ultrachat,
    "sharegpt": _sharegpt,
    "oasst": _oasst,
}
_ROLES = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
}


def _turns(pairs: Pairs, where: str) -> tuple[Turn, ...]:
    joined: list[list[str]] = []
    for name, text in pairs:
        if not isinstance(text, str) or not isinstance(name, str):
            raise InputError(f"{where}: role and text of a turn must be texts")
        if name not in _ROLES:
            raise InputError(f"{where}: unknown role {name!r}; known: {', '.join(_ROLES)}")
        role = _ROLES[name]
        if role == "system" or (not joined and role == "assistant"):
            continue
        if joined and joined[-1][0] == role:
            joined[-1][1] += f"\n\n{text}"
        else:
            joined.append([role, text])
    if joined and joined[-1][0] == "user":
        joined.pop()
    return tuple(Turn("user" if role == "user" else "assistant", text) for role, text in joined)
