"""Checks of a question with its facts, before any session is written (MEMLENS, 3.3 and C.4)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memgauge.histories.building.model import Blueprint
from memgauge.histories.building.text.judges import Judge, TextItem
from memgauge.histories.building.text.validators.context import MARKER, SMALL_SPACE, Bans, protected_forms
from memgauge.histories.building.text.validators.forms import phrase
from memgauge.histories.building.text.validators.normal import occurrences, words

CONFIDENT = 0.5
"""A right answer without pictures rejects from this confidence on."""
FEW_VALUES = 3
"""With so few possible answers a single right guess proves nothing."""
ASKED_AGAIN, TOO_OFTEN = 5, 4
"""Such a question is asked so often, with shuffled options, and rejected when right that often."""
ALIKE = 0.8
"""Share of 5-grams that near-duplicates have in common."""

_FORMS = (
    ("date", re.compile(r"\d{4}/\d{2}/\d{2}")),
    ("money", re.compile(r"\$\d{1,3}(?:,?\d{3})*\.\d{2}")),
    ("time", re.compile(r"\d{1,2}:\d{2}")),
    ("number", re.compile(r"\d+")),
    ("yes_no", re.compile(r"Yes|No")),
    ("choice", re.compile(r"[AB]")),
    ("order", re.compile(r"(?:\(\d\)){2,}")),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a question is rejected."""

    check: str
    """`rule`, `ngram`, `text_only`, `answerable`, `format` or `duplicate`."""
    reason: str


def answer_form(answer: str) -> str:
    """Return the form of an answer; `text` for any other.

    >>> answer_form("2023/05/12"), answer_form("(3)(1)(2)"), answer_form("owl")
    ('date', 'order', 'text')
    """
    return next((name for name, pattern in _FORMS if pattern.fullmatch(answer)), "text")


def rule_problems(blueprint: Blueprint) -> list[Problem]:
    """Check the question's own text: no picture, no answer in it (unless all answers are offered), an end mark."""
    question, problems = blueprint.question.strip(), []
    if MARKER in question:
        problems.append(Problem("rule", f"the question holds {MARKER}"))
    if question[-1:] not in (".", "?", "!"):
        problems.append(Problem("rule", "the question ends without a mark"))
    if not blueprint.answer.strip():
        problems.append(Problem("rule", "the answer is empty"))
    if answer_form(blueprint.answer) in ("choice", "order", "yes_no"):
        return problems
    tokens = words(question)
    answer = phrase(blueprint.answer)
    if answer and occurrences(answer, tokens):
        # A value among others that the question offers alike gives nothing away.
        offered = [value for value in blueprint.answer_space if occurrences(phrase(value), tokens)]
        if len(offered) < 2:
            problems.append(Problem("rule", "the question says the answer"))
    return problems


def ngram_problems(blueprint: Blueprint, captions: Sequence[str] = ()) -> list[Problem]:
    """Check the facts' texts and the exported captions for the answer, unless several possible answers stand there.

    Text that suffices by intent (`visual_need` is `sufficient`) is not checked.
    """
    if blueprint.visual_need == "sufficient" or answer_form(blueprint.answer) in ("choice", "order", "yes_no"):
        return []
    bans = Bans(protected_forms(blueprint.answer) or (phrase(blueprint.answer),))
    tokens = [words(text) for text in (*(fact.text.replace(MARKER, " ") for fact in blueprint.facts), *captions)]
    if not any(bans.found(t) for t in tokens):
        return []
    said = {value for value in blueprint.answer_space if any(occurrences(phrase(value), t) for t in tokens)}
    if len(said) > 1 or answer_form(blueprint.answer) == "number":
        # Small numbers stand in every text; only the judge can say whether one tells anything.
        return [] if len(said) > 1 or not blueprint.answer_space else _number_problem(blueprint, tokens)
    return [Problem("ngram", "the facts or captions say the answer")]


def _number_problem(blueprint: Blueprint, tokens: Iterable[list[str]]) -> list[Problem]:
    """A number of a small space gives the answer away unless it is the word "one", which is also a pronoun."""
    if blueprint.answer == "1":
        return []
    said = any(occurrences((blueprint.answer,), t) for t in tokens)
    return [Problem("ngram", "the facts or captions say the answer")] if said else []


def text_only_problems(
    blueprint: Blueprint, judge: Judge, *, captions: Sequence[str] = (), swap_passed: bool = False, seed: int = 0
) -> list[Problem]:
    """Let a judge answer without pictures: the question alone, with its facts, with facts and captions.

    Right with a confidence of at least 0.5 in the first two ways rejects; so does the third where captions are given.
    With few possible answers the judge is asked five times with shuffled options, and four right answers reject
    unless the counterfactual swap has passed, which proves more. Where all answers can be listed and the swap has
    passed, what is rejected must not depend on which of them is right, or the one that never occurs would be known:
    there a confident guess at any of them rejects.
    """
    if blueprint.visual_need == "sufficient":
        return []
    facts = tuple(fact.text for fact in blueprint.facts)
    ways = [("question alone", ()), ("question and facts", facts)]
    if captions:
        ways.append(("question, facts and captions", (*facts, *captions)))
    few = 0 < len(blueprint.answer_space) <= FEW_VALUES
    if few and swap_passed:
        return []
    small = blueprint.answer_space if len(blueprint.answer_space) <= SMALL_SPACE else ()
    rejecting = small if small and swap_passed else (blueprint.answer,)
    rejected = {tuple(words(value)) for value in rejecting}
    form = answer_form(blueprint.answer)
    shuffler = random.Random(seed)
    for name, texts in ways:
        right = 0
        for _ in range(ASKED_AGAIN if few else 1):
            options = list(small)
            if few:
                shuffler.shuffle(options)
            guess = judge.answer_without_images(TextItem(blueprint.question, texts, tuple(options), form))
            right += tuple(words(guess.answer)) in rejected and (few or guess.confidence >= CONFIDENT)
        if right >= (TOO_OFTEN if few else 1):
            return [Problem("text_only", f"answered from the {name}")]
    return []


def answer_problems(
    blueprint: Blueprint,
    oracle: Callable[[Blueprint], str] | None = None,
    grade: Callable[[Blueprint, str], bool | None] | None = None,
) -> list[Problem]:
    """Check that the answer follows from the structured truth (`oracle`) and survives its own grading (`grade`).

    Both are handed in; a check without its function is not run.
    """
    problems = []
    if oracle is not None and (found := oracle(blueprint)) != blueprint.answer:
        problems.append(Problem("answerable", f"the oracle answers {found!r}"))
    space = blueprint.answer_space
    if space and blueprint.answer not in space:
        problems.append(Problem("format", "the answer is not in its space"))
    if grade is not None and grade(blueprint, blueprint.answer) is not True:
        problems.append(Problem("format", "the scorer does not accept the answer itself"))
    return problems


class NearDuplicates:
    """Questions of a build by subtype, to find those that are worded alike once names are masked.

    >>> seen = NearDuplicates()
    >>> seen.add("q1", "chat", "When was I due at the fair with Ann, in hours and minutes?", ["Ann"])
    >>> seen.add("q2", "chat", "When was I due at the fair with Bob, in hours and minutes?", ["Bob"])
    'q1'
    """

    def __init__(self, alike: float = ALIKE) -> None:
        self._alike = alike
        self._seen: dict[str, list[tuple[str, frozenset[tuple[str, ...]]]]] = {}

    def add(self, id: str, subtype: str, question: str, names: Sequence[str] = ()) -> str | None:
        """Return the id of an earlier question that this one repeats; otherwise keep it and return None.

        `names` are those of people and things that are masked. Alike means a 5-gram Jaccard index of at least 0.8.
        """
        text = question
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"\b{re.escape(name)}\b", "_name_", text, flags=re.IGNORECASE)
        tokens = words(text)
        size = min(5, len(tokens))
        grams = frozenset(tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))
        kept = self._seen.setdefault(subtype, [])
        for other, known in kept:
            union = len(grams | known)
            if union and len(grams & known) / union >= self._alike:
                return other
        kept.append((id, grams))
        return None
