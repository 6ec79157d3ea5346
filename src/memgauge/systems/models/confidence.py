"""Confidence of a model's answer: the probability of its option among all options, at the deciding marker (extension).

The paper takes no confidence from pretrained models. Where a server returns the log probabilities of the alternatives
to each token, the token that holds the option of the deciding marker tells how probable each option was there. That
gives a model a curve of coverage against accuracy, as the backbones have one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OPTIONS = (b"0", b"1", b"2")
"""The options of the prompts in force: yes, no, unsure (ECCBench, B.1)."""
ALTERNATIVES = 20
"""How many alternatives to each token are asked for: what the APIs allow at most."""


@dataclass(frozen=True, slots=True)
class OptionConfidence:
    """Tells the confidence once the grader has found the deciding marker."""

    raw: str
    content_at: int
    tokens: Sequence[dict[str, Any]]

    def __call__(self, marker_char: int) -> float | None:
        """Return P(option) / sum of P over the options, for the option of the marker that opens at `marker_char`.

        None where the tokens do not spell the text, or where the server names no alternative for the option.
        """
        option = marker_char + 1
        while option < len(self.raw) and not self.raw[option].isalnum():
            option += 1  # blanks and, in an escaped pair, a backslash
        chosen = self.raw[option : option + 1].encode()
        if chosen not in OPTIONS or option < self.content_at:
            return None
        pieces = [_bytes(token) for token in self.tokens]
        spelled, content = b"".join(pieces), self.raw[self.content_at :].encode("utf-8", "replace")
        begin = spelled.rfind(content)
        if begin < 0:
            return None
        at = begin + len(self.raw[self.content_at : option].encode("utf-8", "replace"))
        for token, piece in zip(self.tokens, pieces, strict=True):
            if at < len(piece):
                return _share(token, piece[:at], chosen)
            at -= len(piece)
        return None


def _share(token: dict[str, Any], before: bytes, chosen: bytes) -> float | None:
    """Return the share of the chosen option; `before` is what the token holds in front of it."""
    seen = {_bytes(entry): _logprob(entry) for entry in [*_alternatives(token), token]}
    mass = dict.fromkeys(OPTIONS, 0.0)
    for text, logprob in seen.items():
        option = text[len(before) : len(before) + 1]
        # {10} is no option, so a token that goes on with a digit does not count.
        if (
            logprob is not None
            and text.startswith(before)
            and option in mass
            and not text[len(before) + 1 :][:1].isdigit()
        ):
            mass[option] += math.exp(min(logprob, 0.0))
    total = sum(mass.values())
    return mass[chosen] / total if mass[chosen] > 0 else None


def _alternatives(token: dict[str, Any]) -> list[dict[str, Any]]:
    found = token.get("top_logprobs")
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _bytes(entry: dict[str, Any]) -> bytes:
    """Return a token as bytes: one token may be part of a character."""
    given = entry.get("bytes")
    if isinstance(given, list) and all(isinstance(b, int) and 0 <= b < 256 for b in given):
        return bytes(given)
    text = entry.get("token")
    return text.encode("utf-8", "replace") if isinstance(text, str) else b""


def _logprob(entry: dict[str, Any]) -> float | None:
    value = entry.get("logprob")
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)
