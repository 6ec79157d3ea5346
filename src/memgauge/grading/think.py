"""Reasoning blocks: where a model thinks aloud, nothing is an answer.

A block opens with a tag such as `<think>` and ends at the next closing tag. Chat templates often open the block
themselves, so a closing tag without an opening one ends a block that began with the text. A block that is never closed
runs to the end. Opening tags inside a block change nothing: the first closing tag ends it, since models repeat the tag
that their template already gave.
"""

from __future__ import annotations

_NAMES = r"(?:[\w.-]{1,32}:)?(?:think|thinking|thoughts?|reasoning)"

OPEN = (
    rf"<\s*{_NAMES}(?:\s[^<>]*)?>"  # <think>, <thinking budget="4">, <seed:think>
    r"|\[think\]"  # Mistral
    r"|◁think▷"  # Kimi
    r"|<\|(?:begin_of_)?(?:thought|thinking|think)\|>"
    r"|<\|channel\|>\s*(?:analysis|commentary)[^<>]{0,200}<\|message\|>"  # the channels of the Harmony format
)
CLOSE = (
    rf"<\s*/\s*{_NAMES}\s*>"
    r"|\[/think\]"
    r"|◁/think▷"
    r"|<\|(?:end_of_|/)(?:thought|thinking|think)\|>"
    r"|<\|channel\|>\s*final[^<>]{0,200}<\|message\|>"
)
EMPTY = rf"<\s*{_NAMES}(?:\s[^<>]*)?/\s*>"  # <think/> opens nothing

TAG = rf"(?P<empty>{EMPTY})|(?P<open>{OPEN})|(?P<close>{CLOSE})"
"""The tags, in any letter case. Every repetition stops at the next angle bracket, so a scan is linear in the text."""
