"""What a model wrote, as plain text on one line."""

from __future__ import annotations

import re

MAX_TURN = 8000
"""Characters of a reply that are kept; longer ones are cut and fail the length check."""
_THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)


def clean(reply: str) -> str:
    """Return a reply without outer white space, outer quotation marks, line breaks and control characters.

    >>> clean('  "How do I\\n\\nbegin?" ')
    'How do I begin?'
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reply[:MAX_TURN]).split())
    if len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2:
        text = text[1:-1].strip()
    return text


def without_thoughts(reply: str) -> str:
    """Return what stands behind a think block; nothing where the block was never closed.

    >>> without_thoughts("<think>Hm.</think> Hello."), without_thoughts("<think>Hm")
    (' Hello.', '')
    """
    text = _THOUGHT.sub("", reply, count=1)
    return "" if text.lstrip().startswith("<think>") else text
