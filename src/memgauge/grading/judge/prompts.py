"""What a judge is asked: the policy, one rubric, worked examples, and the judged answer between marker lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from memgauge.errors import unknown_name
from memgauge.grading.subtypes import SUBTYPES, TASK_KEYS

Message = Mapping[str, str]
"""`role` and `content`, as chat APIs take them."""

RUBRIC_OF = (
    {name: name for name in SUBTYPES} | {key: name for name, key in TASK_KEYS.items()} | {"IE_PreviousInfo": "IE"}
)
"""The rubric of each subtype and of each task key; IE_Entity and IE_PreviousInfo share one."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a judge."""

    messages: tuple[Message, ...]
    fence: str
    """The marker line around the judged answer. It is made from the answer, so that the answer cannot hold it."""
    content_key: str
    """SHA-256 of everything that reaches the judge."""


def judge_request(
    task: str, question: str, reference: str, prediction: str, *, old_answer: str | None = None
) -> Request:
    """Build the request about one answer.

    Parameters
    ----------
    task : a subtype (`KU`) or a task key (`KU_KnowledgeUpdate`).
    question, reference, prediction : texts; `prediction` is the model's raw output.
    old_answer : for a knowledge update, the value that no longer holds, when known.

    Raises `InputError` for an unknown task.

    >>> request = judge_request("KU", "What do I drink now?", "tea", "coffee", old_answer="coffee")
    >>> [m["role"] for m in request.messages], request.messages[1]["content"].count(request.fence)
    (['system', 'user'], 2)
    """
    rubric = RUBRIC_OF.get(task)
    if rubric is None:
        raise unknown_name("judging task", task, RUBRIC_OF)
    fence = fence_of(question, reference, prediction, old_answer)
    lines = [f"Question: {question}", f"Reference answer: {reference}"]
    if old_answer:
        lines.append(f"Outdated answer: {old_answer}")
    lines += [
        "The student's answer stands between two lines in square brackets that hold the same mark.",
        "",
        fence,
        prediction,
        fence,
        "",
        "Grade it by the criteria.",
    ]
    return request_of(_system(rubric), "\n".join(lines), fence)


def request_of(system: str, user: str, fence: str) -> Request:
    """Return a request of two messages. `fence` stands around the judged text in `user` (`fence_of`)."""
    key = hashlib.sha256(_digest(system))
    key.update(user.encode("utf-8", "surrogatepass"))
    messages = ({"role": "system", "content": system}, {"role": "user", "content": user})
    return Request(messages, fence, key.hexdigest())


@lru_cache(maxsize=64)
def _digest(system: str) -> bytes:
    """Hash the part that many requests share once; it has a fixed length, so that no two requests share a key."""
    return hashlib.sha256(system.encode("utf-8", "surrogatepass")).digest()


@cache
def _system(rubric: str) -> str:
    """Return the policy, the worked examples, the criteria of a rubric and the form of the verdict."""
    texts = _texts()
    examples = []
    for example in texts["examples"]:
        score = f"{example['score']} point{'' if example['score'] == 1 else 's'}"
        examples.append(
            f"Example ({example['name']})\nQuestion: {example['question']}\nReference answer: {example['reference']}\n"
            f"Student's answer: {example['answer']}\nVerdict: {example['rationale']} {score}."
        )
    parts = [
        "\n".join(texts["policy"]),
        *examples,
        f"Criteria for this question: {texts['rubrics'][rubric]}",
        "\n".join(texts["format"]),
    ]
    return "\n\n".join(parts)


def rubric(task: str) -> str:
    """Return the criteria of a subtype or task key."""
    name = RUBRIC_OF.get(task)
    if name is None:
        raise unknown_name("judging task", task, RUBRIC_OF)
    return str(_texts()["rubrics"][name])


def fence_of(*parts: str | None) -> str:
    """Return a marker line that no part holds: a digest of them all, taken again until it is new to them."""
    digest = hashlib.sha256(_canonical(parts)).hexdigest()
    while any(part and digest[:24] in part for part in parts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"[student answer {digest[:24]}]"


def _canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")


@cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = json.loads(files(__package__).joinpath("rubrics.json").read_text("utf-8"))
    return texts
