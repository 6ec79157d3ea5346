"""Reasoning blocks: where a model thinks aloud, nothing is an answer.

A block opens with a tag such as `<think>` and ends at the next closing tag. Chat templates often open the block
themselves, so a closing tag without an opening one ends a block that began with the text. A block that is never closed
runs to the end. Opening tags inside a block change nothing: the first closing tag ends it, since models repeat the tag
that their template already gave.
"""

from __future__ import annotations

import re
from typing import Literal

# Every repetition stops at the next angle bracket or is bounded, so a scan is linear in the text.
_TAG = re.compile(
    r"""<(?:\s*(?P<slash>/\s*)?                      # <think>, </think>, <thinking budget="4">, <seed:think>, <think/>
            (?:[\w.-]{1,32}:)?(?:think|thinking|thoughts?|reasoning)
            (?P<rest>[\s/][^<>]*)?>
          |\|(?P<pipe>/|begin_of_|end_of_)?(?:think|thinking|thought)\|>
          |\|channel\|>\s*(?P<channel>analysis|commentary|final)[^<>]{0,200}<\|message\|>)  # Harmony's channels
      |\[(?P<bracket>/)?think\]                      # Mistral
      |◁(?P<triangle>/)?think▷                       # Kimi
    """,
    re.IGNORECASE | re.VERBOSE,
)


def visible_spans(text: str) -> list[tuple[int, int]]:
    """Return the stretches of `text` outside reasoning blocks, in order, as (start, end); tags are in none of them.

    >>> [text[a:b] for text in ("a<think>b</think>c<think>d",) for a, b in visible_spans(text)]
    ['a', 'c']
    >>> visible_spans("template opened it</think>c")
    [(26, 27)]
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return [(0, len(text))]  # every tag begins with one of these
    spans: list[tuple[int, int]] = []
    begin, inside = 0, False
    for match in _TAG.finditer(text):
        kind = _kind(match)
        if kind == "open":
            if not inside:
                spans.append((begin, match.start()))
            inside = True
        elif kind == "close":
            if not inside:
                spans.clear()
            begin, inside = match.end(), False
    if not inside:
        spans.append((begin, len(text)))
    return spans


def _kind(tag: re.Match[str]) -> Literal["open", "close", "empty"]:
    """Tell an opening tag from a closing one, and from `<think/>`, which opens nothing."""
    if tag["slash"] or tag["bracket"] or tag["triangle"]:
        return "close"
    if (tag["pipe"] or "").lower() in ("/", "end_of_") or (tag["channel"] or "").lower() == "final":
        return "close"
    return "empty" if (tag["rest"] or "").rstrip().endswith("/") else "open"
