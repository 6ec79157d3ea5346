"""Sessions written by chat models: one plays the user, one the assistant (MEMLENS, C.4).

The plan of a session, the validators, the attempts and the rejections are those of the procedural writer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memgauge.histories.building.model import Blueprint, Fact, ImageSpec, Turn
from memgauge.histories.building.text.banks import banks
from memgauge.histories.building.text.chat import Chat, ChatFailedError
from memgauge.histories.building.text.json_replies import BadReplyError, ask_json
from memgauge.histories.building.text.judges import Judge
from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.prompts import personas, prompt
from memgauge.histories.building.text.types import Message, Plan, Topic
from memgauge.histories.building.text.validators.checks import chain
from memgauge.histories.building.text.validators.context import MARKER
from memgauge.histories.building.text.writer import write_session

PictureParts = Callable[[ImageSpec], Message]
"""Makes the part of a chat message that holds a picture, such as `{"type": "image_url", ...}`."""
MAX_TURN = 8000
"""Characters of a reply that are kept; longer ones are cut and fail the length check."""


class ModelWriter:
    """Writes sessions with two chat models; see `Writer.session`.

    The user model gets the fact's text and never what its picture shows. The assistant model gets the dialogue, with
    the pictures if `picture` is given.
    """

    name = "model"

    def __init__(
        self,
        user: Chat,
        assistant: Chat,
        *,
        judge: Judge | None = None,
        picture: PictureParts | None = None,
        log: AttemptLog | None = None,
    ) -> None:
        self.user, self.assistant, self.picture = user, assistant, picture
        self.log = log if log is not None else AttemptLog()
        self.validators = chain(judge)

    def session(
        self,
        topic: Topic | Sequence[Topic],
        carriers: Sequence[Fact],
        date: datetime,
        rng: random.Random,
        profile: str = "compact",
        *,
        answer_space: Sequence[str] = (),
    ) -> tuple[Turn, ...]:
        """See `Writer.session`. A budget that is used up ends it with `BudgetUsedUpError`."""
        return write_session(
            lambda plan, generator: ModelScribe(self, plan, generator),
            topic,
            carriers,
            date,
            rng,
            profile,
            validators=self.validators,
            log=self.log,
            answer_space=answer_space,
        )


class ModelScribe:
    """One session in two models' hands."""

    def __init__(self, writer: ModelWriter, plan: Plan, rng: random.Random) -> None:
        self.writer, self.plan = writer, plan
        self.persona = rng.choice(personas())
        # Part of each request, so that a session that is redrawn does not meet its own cached replies.
        self.nonce = f"{rng.getrandbits(32):08x}"

    def turn(self, turns: Sequence[Turn], hints: Sequence[str]) -> str:
        """See `Scribe`. A model that fails has written an empty turn, which the length check rejects."""
        user = len(turns) % 2 == 0
        messages = self._as_user(turns) if user else self._as_assistant(turns)
        if hints:
            text = prompt("hints", hints=" ".join(dict.fromkeys(hints)))
            messages = [*messages, {"role": "user", "content": f"{text} ({len(hints) + 1})"}]
        chat = self.writer.user if user else self.writer.assistant
        try:
            return clean(chat(messages))
        except ChatFailedError:
            return ""

    def _as_user(self, turns: Sequence[Turn]) -> list[Message]:
        plan = self.plan
        exchange = len(turns) // 2
        low, high = plan.profile.user
        system = prompt(
            "user_system",
            persona=self.persona,
            say=plan.topic.say,
            subtopic=plan.topic.subtopic,
            domain=plan.topic.domain or banks().domains.get(plan.topic.sub_attribute, "everyday life"),
            low=low,
            high=high,
        )
        fact = plan.carriers.get(exchange)
        ask = [prompt("user_turn", number=exchange + 1, count=plan.exchanges)]
        if fact is None:
            ask.append(prompt("user_plain"))
        else:
            place = "before" if plan.carrier_first[exchange] else "after"
            ask.append(prompt("user_fact", fact=fact.text, place=place))
        # The model plays the user, so the roles of the dialogue are exchanged.
        dialogue = [{"role": "user" if t.role == "assistant" else "assistant", "content": t.content} for t in turns]
        opening: list[Message] = [{"role": "system", "content": f"{system} [{self.nonce}]"}]
        if dialogue:
            opening.append({"role": "user", "content": "Begin."})
            ask.insert(0, str(dialogue.pop()["content"]))
        return [*opening, *dialogue, {"role": "user", "content": "\n\n".join(ask)}]

    def _as_assistant(self, turns: Sequence[Turn]) -> list[Message]:
        low, high = self.plan.profile.assistant
        system = f"{prompt('assistant_system', low=low, high=high)} [{self.nonce}]"
        messages: list[Message] = [{"role": "system", "content": system}]
        for turn in turns:
            messages.append({"role": turn.role, "content": self._content(turn)})
        return messages

    def _content(self, turn: Turn) -> str | list[Message]:
        """The text, or its pieces with the pictures between them."""
        if self.writer.picture is None or not turn.images:
            return turn.content
        pieces = turn.content.split(MARKER)
        parts: list[Message] = []
        for index, piece in enumerate(pieces):
            if piece.strip():
                parts.append({"type": "text", "text": piece})
            if index < len(turn.images):
                parts.append(self.writer.picture(turn.images[index]))
        return parts


def clean(reply: str) -> str:
    """Return a reply without outer white space, outer quotation marks and line breaks.

    >>> clean('  "How do I\\n\\nbegin?" ')
    'How do I begin?'
    """
    text = " ".join(reply[:MAX_TURN].split())
    if len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2:
        text = text[1:-1].strip()
    return text


@dataclass(frozen=True, slots=True)
class Background:
    """A paragraph on a topic with the things that it names (MEMLENS, C.4, step 1)."""

    paragraph: str
    entities: tuple[str, ...]


class QuestionWriter:
    """Words questions and backgrounds with a chat model; it sees no answer and no picture."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat

    def background(self, topic: Topic) -> Background:
        """Return a paragraph of three to five sentences that names at least two things.

        Raises `BadReplyError` for anything else.
        """
        text = prompt("background", say=topic.say, subtopic=topic.subtopic)
        reply = ask_json(self.chat, [{"role": "user", "content": text}], {"paragraph": str, "entities": list})
        names = tuple(dict.fromkeys(str(name).strip() for name in reply["entities"]))
        return checked_background(reply["paragraph"].strip(), names)

    def question(self, blueprint: Blueprint) -> str:
        """Return another wording of a blueprint's question; the checks of `questions` decide whether it will do."""
        facts = "\n".join(f"- {fact.text}" for fact in blueprint.facts)
        text = prompt("question", facts=facts, question=blueprint.question)
        reply = ask_json(self.chat, [{"role": "user", "content": text}], {"question": str})
        return clean(reply["question"])


def checked_background(paragraph: str, names: Sequence[str]) -> Background:
    """Return the background if it has the form that was asked for, else raise `BadReplyError`."""
    sentences = sum(paragraph.count(sign) for sign in ".!?")
    if not 3 <= sentences <= 8:
        raise BadReplyError("the paragraph does not have three to five sentences")
    if len(names) < 2 or any(not name or name.lower() not in paragraph.lower() for name in names):
        raise BadReplyError("fewer than two things, or one that the paragraph does not name")
    return Background(paragraph, tuple(names))
