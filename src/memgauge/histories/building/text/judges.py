"""Judges of texts and questions, and the one that works by rule (MEMLENS, 3.3 and C.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from memgauge.histories.building.model import Fact
from memgauge.histories.building.text.chat import Chat, ChatFailedError, NoReplyError
from memgauge.histories.building.text.json_replies import BadReplyError, ask_json
from memgauge.histories.building.text.prompts import prompt
from memgauge.histories.building.text.types import PASSED, Message, Verdict
from memgauge.histories.building.text.validators.context import Bans, Context
from memgauge.histories.building.text.validators.forms import phrase
from memgauge.histories.building.text.validators.normal import words
from memgauge.histories.building.text.validators.wording import disambiguation


@dataclass(frozen=True, slots=True)
class TextItem:
    """A question with the texts that a judge without pictures gets."""

    question: str
    texts: tuple[str, ...] = ()
    answer_space: tuple[str, ...] = ()
    """Possible answers where they are few; a judge may be told these, never the answer."""
    form: str = "text"
    """Form of the answer: `date`, `money`, `time`, `number` or `text`."""


@dataclass(frozen=True, slots=True)
class Guess:
    """An answer without pictures, and how sure the judge is, 0 to 1."""

    answer: str
    confidence: float


class Judge(Protocol):
    """Decides what rules cannot see. Every method sees text only."""

    name: str

    def answer_without_images(self, item: TextItem) -> Guess:
        """Answer a question from text alone; an empty answer with confidence 0 if nothing is known."""
        ...

    def leaks(self, text: str, facts: Sequence[Fact], context: Context) -> Verdict:
        """Decide whether a turn says what only its session's pictures should say; `facts` are those of the turn."""
        ...

    def disambiguates(self, text: str, facts: Sequence[Fact], context: Context) -> Verdict:
        """Decide whether a turn narrows down what its pictures are meant to tell."""
        ...


_ONE = re.compile(r"\bone\b", re.IGNORECASE)
"""A pronoun more often than a count."""
_FORMS = {
    "date": re.compile(r"\b\d{4}[/-]\d\d?[/-]\d\d?\b"),
    "money": re.compile(r"\$\s?\d[\d,]*(?:\.\d\d)?"),
    "time": re.compile(r"\b\d{1,2}:\d\d\b"),
    "number": re.compile(r"(?<![\d.:/$])\b\d+\b(?![.:/]\d)"),
}


class RuleJudge:
    """Rules instead of a model: surface forms of what the pictures show, and the only candidates that the text offers.

    >>> RuleJudge().answer_without_images(TextItem("What did it cost?", ("It was $12.50.",), form="money"))
    Guess(answer='$12.50', confidence=1.0)
    """

    name = "rules"

    def answer_without_images(self, item: TextItem) -> Guess:
        """Guess among the candidates that stand in the texts, each equally likely."""
        text = "\n".join((item.question, *item.texts))
        if item.answer_space:
            tokens = words(_ONE.sub(" ", text))
            known = set(tokens)
            candidates = [v for v in item.answer_space if Bans([phrase(v)]).found(tokens, known)] if known else []
        elif item.form in _FORMS:
            candidates = list(dict.fromkeys(_FORMS[item.form].findall(text)))
        else:
            candidates = []
        if not candidates:
            return Guess("", 0.0)
        return Guess(candidates[-1], float(Fraction(1, len(candidates))))

    def leaks(self, text: str, facts: Sequence[Fact], context: Context) -> Verdict:
        """Look for every surface form of the pictures' open fields beyond what the facts themselves say."""
        scanned = context.scan(text)
        hits = context.open.found(scanned.tokens, scanned.known)
        if hits:
            allowed = context.allowed(facts)
            for form, count in hits.items():
                if count > allowed[form]:
                    hint = f'Do not say "{" ".join(form)}" or anything else that only the picture tells.'
                    return Verdict(False, "semantic", "field_of_picture", hint)
        return PASSED

    def disambiguates(self, text: str, facts: Sequence[Fact], context: Context) -> Verdict:
        """Look for adjectives of looks near the picture, comparisons across sessions, and counts."""
        reason = disambiguation(text, facts)
        if reason:
            hint = f"Leave out {reason[1]!r}: nothing may narrow down what the picture shows."
            return Verdict(False, "ambiguity", reason[0], hint)
        return PASSED


class LLMJudge:
    """Asks a chat model, after the rules have passed.

    A reply that is no judgement after one request for repair rejects the turn, and is no guess for a question. `note`
    is told the kind of every bad reply.
    """

    name = "model"

    def __init__(self, chat: Chat, note: Callable[[str], None] = lambda kind: None) -> None:
        self.chat, self.note = chat, note
        self._rules = RuleJudge()

    def answer_without_images(self, item: TextItem) -> Guess:
        """Let the model answer; options are named where the answers are few.

        Raises `BadReplyError` when it gives no answer in the form that was asked for.
        """
        options = f"The answer is among: {', '.join(item.answer_space)}.\n" if 0 < len(item.answer_space) <= 20 else ""
        texts = "\n\n".join(item.texts) or "(no text)"
        text = prompt("answer_without_images", texts=texts, question=item.question, options=options)
        reply = ask_json(self.chat, [_user(text)], {"answer": str, "confidence": (int, float)}, self.note)
        return Guess(reply["answer"].strip(), min(1.0, max(0.0, float(reply["confidence"]))))

    def same_question(self, one: str, other: str) -> str:
        """Return in what two questions ask for different things, or an empty string.

        Raises `BadReplyError` when the model gives no judgement.
        """
        text = prompt("same_question", one=one, other=other)
        reply = ask_json(self.chat, [_user(text)], {"same": bool, "difference": str}, self.note)
        return "" if reply["same"] else (" ".join(reply["difference"].split())[:200] or "they ask for different things")

    def leaks(self, text: str, facts: Sequence[Fact], context: Context) -> Verdict:
        """Rules first, then the model, for turns that carry a picture."""
        verdict = self._rules.leaks(text, facts, context)
        return self._asked("leaks", "semantic", text, facts) if verdict.ok and facts else verdict

    def disambiguates(self, text: str, facts: Sequence[Fact], context: Context) -> Verdict:
        """Rules first, then the model."""
        verdict = self._rules.disambiguates(text, facts, context)
        return self._asked("disambiguates", "ambiguity", text, facts) if verdict.ok and facts else verdict

    def _asked(self, name: str, validator: str, text: str, facts: Sequence[Fact]) -> Verdict:
        allowed = "\n".join(f"- {fact.text}" for fact in facts)
        request = [_user(prompt(name, facts=allowed, text=text))]
        try:
            reply = ask_json(self.chat, request, {name: bool, "quote": str}, self.note)
        except NoReplyError:
            raise
        except (BadReplyError, ChatFailedError):
            return Verdict(False, validator, "judge_failed", "Write it in other words.")
        if not reply[name]:
            return PASSED
        return Verdict(False, validator, "judge", f"Do not write: {reply['quote'][:200]!r}.")


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
