"""Another wording of a question by a chat model, and whether it still is that question (MEMLENS, 3.3 and C.4).

The model sees the draft and neither facts, pictures nor answer. Items `(1) ...`, options `A. ...` and the instruction
on the form of the answer stand behind the reworded part, untouched. What a blueprint has filled into the draft (people,
events, things, labels, numbers) must be kept word for word; what is new may be no word of the dialogue, no number, no
name and no possible answer. All of that is decided without the answer wherever the possible answers can be listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from memgauge.grading.subtypes import infer_subtype
from memgauge.grading.typed.grade import grade_typed
from memgauge.histories.building.blueprints.wording import bank
from memgauge.histories.building.model import BUILDERS, REFUSAL_GOLD, TYPES, Blueprint
from memgauge.histories.building.text.chat import Chat
from memgauge.histories.building.text.json_replies import ask_json
from memgauge.histories.building.text.model_text import clean
from memgauge.histories.building.text.prompts import prompt
from memgauge.histories.building.text.questions import answer_form, rule_problems
from memgauge.histories.building.text.types import Message
from memgauge.histories.building.text.validators.context import Bans
from memgauge.histories.building.text.validators.normal import occurrences, words
from memgauge.histories.building.text.validators.spaces import space_forms

MOST_WORDS = 80
_ITEMS = re.compile(r"\(1\) ")
_DIRECTIVE = re.compile(r"A or B|item numbers in parentheses|earliest|latest")
_SLOT = re.compile(r"\{[^}]*\}|[\[\]|]")
_ONE = re.compile(r"\bones?\b", re.IGNORECASE)
_FUNCTION = """
a about across after again all along also am among an and any anyone are around as asked at away back be became
become been before began being but by came can come could did do does doing done down during each else end ever
every exactly find for from gave get give given go goes going gone got had has have he her here him his how i if in
into is it its just kind know last later let like long look lot made make many may me might mine more most much must
my name need new no none nor not now of off on once only onto or other our out own part please put quite rather
really say see seen she should show shown since so some such take taken tell than that the their them then there
these they thing things this those through time to together told too until up us use used very want was way we were
what when where whether which while who whose why will with within would yet you your
"""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a wording is rejected, and what the next attempt should do otherwise; the hint never tells an answer."""

    check: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """A draft taken apart."""

    head: str
    """What is reworded."""
    tail: str
    """Items, options, the instruction on the form: what stands behind it as it is."""
    kept: tuple[str, ...]
    """What the wording must say as the draft does."""

    @property
    def whole(self) -> str:
        """The draft."""
        return f"{self.head} {self.tail}".strip()

    def joined(self, head: str) -> str:
        """Return a question with another head; a model that has copied the tail is forgiven."""
        return f"{head.removesuffix(self.tail).strip() if self.tail else head} {self.tail}".strip()


def take_apart(blueprint: Blueprint) -> Parts:
    """Split a blueprint's question into what is reworded and what is not."""
    draft = blueprint.question
    items = _ITEMS.search(draft)
    if items is not None:
        head, tail = draft[: items.start()], draft[items.start() :]
    else:
        head, mark, tail = draft.partition("? ")
        head += mark
    head = head.strip()
    low = head.lower()
    kept = [owner for owner in blueprint.key[1:] if owner.lower() in low]
    kept += [text for text in _texts(blueprint.ask) if len(text) > 1 and text.lower() in low]
    kept += _DIRECTIVE.findall(head)
    kept += _filled(head, {word for name in blueprint.key[1:] for word in words(name)})
    return Parts(head, tail.strip(), _longest(kept))


def _longest(phrases: Sequence[str]) -> tuple[str, ...]:
    """Drop phrases that stand in a longer one."""
    by_form = {phrase.lower(): phrase for phrase in phrases}
    return tuple(phrase for low, phrase in by_form.items() if not any(low != o and low in o for o in by_form))


def _texts(ask: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the question asks about, as far as it can stand in its text."""
    for name, value in ask.items():
        if name != "field":
            for text in value if isinstance(value, list | tuple) else (value,):
                if isinstance(text, str):
                    yield text.replace("_", " ")


def _filled(head: str, names: set[str]) -> list[str]:
    """Return the phrases that the slots of the templates were filled with: runs of words that no template has."""
    common, runs, run = vocabulary(), [], list[str]()
    for token in [*head.split(), ""]:
        bare = token.strip('.,;:?!()"“”')
        owner = re.sub(r"['’]s?$", "", bare)
        form = words(bare)
        free = not form or (all(word in common for word in form) and not names.intersection(form))
        if not free:
            run.append(owner)
        if run and (free or owner != bare or token != bare):
            runs.append(" ".join(run))
            run = []
    return runs


@cache
def vocabulary() -> frozenset[str]:
    """Return the words that the templates of questions are made of, with those that any sentence may have."""
    texts = [text for name, forms in bank("wordings").items() if name[-1] in "?!" for text in forms]
    return frozenset(word for text in texts for word in words(_SLOT.sub(" ", text))) | function_words()


@cache
def function_words() -> frozenset[str]:
    """Return words that say nothing about a subject."""
    return frozenset(words(_FUNCTION)) | frozenset(_FUNCTION.split())


class QuestionWriter:
    """Asks a chat model for another wording of a draft."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat

    def reword(self, parts: Parts, nonce: str, hints: Sequence[str], note: Callable[[str], None]) -> str:
        """Return a whole question. Raises `BadReplyError` for a reply in another form, and what the chat raises."""
        kept = ", ".join(f'"{text}"' for text in parts.kept)
        behind = prompt("question_tail", tail=parts.tail) if parts.tail else ""
        text = prompt("question", head=parts.head, kept=kept, tail=behind)
        if hints:
            said = " ".join(dict.fromkeys(hint for hint in hints if hint))
            text += "\n\n" + prompt("question_hints", hints=said, number=len(hints) + 1)
        messages: list[Message] = [
            {"role": "system", "content": f"{prompt('question_system')} [{nonce}]"},
            {"role": "user", "content": text},
        ]
        return parts.joined(clean(ask_json(self.chat, messages, {"question": str}, note)["question"]))


def objection(blueprint: Blueprint, parts: Parts, question: str) -> Objection | None:
    """Return what rules have against a wording, or None."""
    head = question.removesuffix(parts.tail).strip() if parts.tail else question
    for check in (_form, _kept, _new, _answers, _grader):
        found = check(blueprint, parts, question, head)
        if found is not None:
            return found
    return None


def _form(blueprint: Blueprint, parts: Parts, question: str, head: str) -> Objection | None:
    length, draft = len(head.split()), len(parts.head.split())
    if not 4 <= length <= min(MOST_WORDS, 2 * draft + 8):
        return Objection("form", "length", f"Write 4 to {min(MOST_WORDS, 2 * draft + 8)} words.")
    if question != parts.joined(head) or _ITEMS.search(head) or re.search(r"\bA\. ", head):
        return Objection("form", "structure", "Reword the draft alone, and leave out what stands behind it.")
    if "?" in parts.head and not head.endswith("?"):
        return Objection("form", "no_question", "Write one question that ends with a question mark.")
    # In open answer spaces the answer itself is looked for; in closed ones `_answers` bans every value alike.
    item = replace(blueprint, question=question)
    if blueprint.answer_space or blueprint.visual_need == "sufficient":
        item = replace(item, answer=REFUSAL_GOLD, answer_space=())
    found = rule_problems(item)
    return Objection("rule", found[0].reason, "Write one complete question without <image>.") if found else None


def _kept(blueprint: Blueprint, parts: Parts, question: str, head: str) -> Objection | None:
    there, draft = words(head), words(parts.head)
    for phrase in parts.kept:
        form = tuple(words(phrase))
        if form and occurrences(form, there) < min(1, occurrences(form, draft)):
            return Objection("kept", "left_out", f'Keep "{phrase}" as it stands.')
    return None


def _new(blueprint: Blueprint, parts: Parts, question: str, head: str) -> Objection | None:
    draft = set(words(parts.whole))
    new = [word for word in words(_ONE.sub(" ", head)) if word not in draft]
    if any(word[0].isdigit() for word in new):
        return Objection("new", "number", "Add no number and no count.")
    known = {word for token in parts.whole.split() for word in words(token)}
    sentences = re.split(r"(?<=[.?!:])\s+", head)
    inner = [token for sentence in sentences for token in sentence.split()[1:]]
    names = [token for token in inner if token[:1].isupper() and not token.startswith(("I'", "I’")) and token != "I"]
    if any(word not in known for token in names for word in words(token)):
        return Objection("new", "name", "Add no name and no word with a capital letter.")
    said = {word for fact in blueprint.facts for word in words(fact.text)} - vocabulary() - draft
    said |= {word for word in words(" ".join(blueprint.key[:1])) if word not in function_words() | draft}
    told = [word for word in new if word in said]
    if told:
        listed = ", ".join(f'"{word}"' for word in dict.fromkeys(told))
        return Objection("new", "word_of_the_dialogue", f"Do not use these words: {listed}.")
    return None


def _answers(blueprint: Blueprint, parts: Parts, question: str, head: str) -> Objection | None:
    """No possible answer beyond the draft's, whichever is right."""
    if not blueprint.answer_space or answer_form(blueprint.answer) in ("choice", "order", "yes_no"):
        return None
    bans = Bans(space_forms(tuple(value for value in blueprint.answer_space if len(value) > 1 or value.isdigit())))
    there, draft = bans.found(words(_ONE.sub(" ", question))), bans.found(words(_ONE.sub(" ", parts.whole)))
    if any(count > draft.get(form, 0) for form, count in there.items()):
        return Objection("new", "possible_answer", "Say nothing that could be an answer.")
    return None


def _grader(blueprint: Blueprint, parts: Parts, question: str, head: str) -> Objection | None:
    """The grader must read the question as it reads the draft."""
    kind, named = TYPES[blueprint.builder.split("_")[0]], BUILDERS[blueprint.builder]
    gold = blueprint.answer
    subtype = infer_subtype(kind, parts.whole, gold, named)
    if infer_subtype(kind, question, gold, named) != subtype:
        return Objection("format", "read_as_another_kind", "Ask for the same thing in the same form.")
    if grade_typed(gold, subtype=subtype, question=question, reference=gold).correct is not True:
        return Objection("format", "grader_refuses_the_gold", "Ask for the same thing in the same form.")
    return None
