"""The prompt of MEMLENS for models that read a whole conversation, word for word and line for line.

The texts are data (`memlens.json`, with their source). The paper prints the prompt, the header of a session and the
roles; the wish to reason first, the header of a fact and the labels of pictures are memgauge's own (extension).
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Heading = Literal["session", "fact"]


def around_context(question: str, question_date: str, *, reasoning: bool = False) -> tuple[str, str]:
    r"""Return what stands before and after the conversation in a request.

    `reasoning` puts a wish to reason in place of "Directly output the answer with no extra output."

    >>> before, after = around_context("What is my cat called?", "2024/05/31 (Fri) 07:58")
    >>> before.splitlines()[-1], after.splitlines()[-2:]
    ('Conversation:', ['Question Date: 2024/05/31 (Fri) 07:58', 'Question: What is my cat called?'])
    """
    texts = _texts()
    lines = [*texts["template"]]
    if reasoning:
        lines[lines.index(texts["direct"])] = texts["extensions"]["reasoning"]
    before, after = "\n".join(lines).split("{context}")
    # Each piece goes in by itself, so that braces in a question are left as they are.
    head, middle = after.split("{question_date}")
    tail, end = middle.split("{question}")
    return before, f"{head}{question_date}{tail}{question}{end}"


def heading(kind: Heading, number: int, date: str) -> str:
    """Return the line above a session or a fact; `number` counts from 1.

    >>> heading("session", 1, "2024/05/01 (Wed) 10:00")
    '=== Session 1 (Date: 2024/05/01 (Wed) 10:00) ==='
    """
    texts = _texts()
    form = texts["session"] if kind == "session" else texts["extensions"]["fact"]
    before, after = form.split("{date}")
    return f"{before.replace('{i}', str(number))}{date}{after}"


def role_prefix(role: Literal["user", "assistant"]) -> str:
    """Return what stands before a turn: `[User]: ` or `[Assistant]: `."""
    return str(_texts()["roles"][role])


def picture_label(number: int) -> str:
    """Return the label of a picture; `number` counts from 1 through the conversation."""
    return str(_texts()["extensions"]["label"]).replace("{k}", str(number))


@cache
def prompt_version() -> str:
    """Return a digest of all texts; rows made with other texts are other rows."""
    return hashlib.blake2b(files(__package__).joinpath("memlens.json").read_bytes(), digest_size=6).hexdigest()


def prompt_source() -> str:
    """Return where the texts are from."""
    return str(_texts()["source"])


@cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = json.loads(files(__package__).joinpath("memlens.json").read_text("utf-8"))
    return texts
