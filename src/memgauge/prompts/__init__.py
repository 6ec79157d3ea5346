"""Protocol texts, word for word: the prompts of ECCBench (B.1) and the sentences of its payoff arms (B.8).

The texts are data (`ecc.json`, with their source); this module only puts them together. What the listings leave open is
settled as follows. A line break inside a quoted sentence is the listing's layout and becomes one space; every quoted
sentence becomes one line of the prompt; the natural-video template keeps the lines it is printed with. An arm sentence
is appended on a line of its own, and nothing else changes between the arms.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from memgauge.errors import InputError, unknown_name

PromptKind = Literal["text", "video", "natural"]
ArmName = Literal["none", "A", "B"]


def ecc_prompt(kind: PromptKind, arm: ArmName = "none", *, question: str | None = None) -> str:
    """Return the prompt of a task, with the sentence of the payoff arm where there is one.

    Parameters
    ----------
    kind : `text`, `video`, or `natural`.
    arm : `none`, `A` (+3 / -1) or `B` (+1 / -4). In the sentence, {X} is the abstain option of the prompt: {2}, or
        {uncertain} in natural video.
    question : the annotation's question as written; natural video needs one, and the other prompts take none.

    >>> print(ecc_prompt("natural", "A", question="Did the person wash a plate in this video?"))
    Watch this video closely, paying attention to the entire video.
    Did the person wash a plate in this video?
    <BLANKLINE>
    Write {0} if yes, {1} if no or {uncertain} if you are unsure.
    Please put your answer in curly braces, e.g, {0}.
    Scoring: a correct answer earns +3 points, a wrong answer costs -1 point, and {uncertain} earns 0 points. Answer \
only if you are more than 25% confident; otherwise answer {uncertain}.

    Raises `InputError` for an unknown kind or arm, and for a question that is missing or not wanted.
    """
    if kind not in get_args(PromptKind):
        raise unknown_name("kind of prompt", kind, get_args(PromptKind))
    if arm not in get_args(ArmName):
        raise unknown_name("arm", arm, get_args(ArmName))
    if (question is None) == (kind == "natural"):
        raise InputError(f"the {kind} prompt takes {'a question' if kind == 'natural' else 'no question'}")
    texts = _texts()
    # The question goes in last and by itself, so that braces in it are left as they are.
    lines = [*texts[kind]]
    if arm != "none":
        lines.append(texts["arms"][arm].replace("{X}", texts["abstain"][kind]))
    return "\n".join(question if line == "{question}" and question is not None else line for line in lines)


def text_request(stream_text: str, candidate_text: str, arm: ArmName = "none") -> str:
    """Return a whole request of the text task: the prompt, the main sequence, and the candidate on its own line.

    The candidate comes last, so that the requests about one stream begin alike and a server can keep what it has read.
    Both sequences are comma-separated integers (`Observation.text` and `Question.text`).

    >>> print(text_request("8, 1, 4, 6", "1, 4, 6").splitlines()[-1])
    Candidate sequence: 1, 4, 6
    """
    return f"{ecc_prompt('text', arm)}\n\nMain sequence: {stream_text}\nCandidate sequence: {candidate_text}"


def prompt_source() -> str:
    """Return where the texts are from."""
    return str(_texts()["source"])


@cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = json.loads(files(__package__).joinpath("ecc.json").read_text("utf-8"))
    return texts
