"""Sessions and questions written by chat models: one plays the user, one the assistant (MEMLENS, C.4).

The plan of a session, the validators, the attempts and the rejections are those of the procedural writer; before them
stands a check that a reply is a text at all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memgauge.histories.building.model import Blueprint, Fact, ImageSpec, Turn
from memgauge.histories.building.text.bad_replies import ReplyCheck
from memgauge.histories.building.text.banks import banks
from memgauge.histories.building.text.chat import Chat, ChatFailedError, NoReplyError
from memgauge.histories.building.text.json_replies import BadReplyError, ask_json
from memgauge.histories.building.text.judges import Judge, LLMJudge, RuleJudge
from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.model_text import clean
from memgauge.histories.building.text.prompts import personas, prompt
from memgauge.histories.building.text.questions import text_only_problems
from memgauge.histories.building.text.rewording import Objection, Parts, QuestionWriter, objection, take_apart
from memgauge.histories.building.text.types import Message, Plan, Topic
from memgauge.histories.building.text.validators.checks import chain
from memgauge.histories.building.text.validators.context import MARKER
from memgauge.histories.building.text.writer import ATTEMPTS, QuestionRejectedError, write_session

PictureParts = Callable[[ImageSpec], Message]
"""Makes the part of a chat message that holds a picture, such as `{"type": "image_url", ...}`."""


class ModelWriter:
    """Writes sessions with two chat models; see `Writer.session`.

    The user model gets the fact's text and never what its picture shows. The assistant model gets the dialogue, with
    the pictures if `picture` is given. The question model gets a draft and neither facts nor answer.
    """

    name = "model"

    def __init__(
        self,
        user: Chat,
        assistant: Chat,
        *,
        question: Chat | None = None,
        judge: Judge | None = None,
        picture: PictureParts | None = None,
        log: AttemptLog | None = None,
    ) -> None:
        self.user, self.assistant, self.picture = user, assistant, picture
        self.log = log if log is not None else AttemptLog()
        self.judge: Judge = judge if judge is not None else RuleJudge()
        self.validators = (ReplyCheck(self.log.fault), *chain(self.judge))
        self.questions = QuestionWriter(question if question is not None else user)

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
        """See `Writer.session`. `NoReplyError` and `BudgetUsedUpError` end it: they say nothing about the text."""
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

    def question(
        self,
        blueprint: Blueprint,
        rng: random.Random,
        *,
        captions: Sequence[str] = (),
        swap_passed: bool = False,
    ) -> str:
        """See `Writer.question`."""
        parts, nonce = take_apart(blueprint), f"{rng.getrandbits(32):08x}"
        hints: list[str] = []
        found = Objection("", "")
        for _ in range(ATTEMPTS):
            question = ""
            try:
                question = self.questions.reword(parts, nonce, hints, self.log.fault)
                found = self._objection(replace(blueprint, question=question), parts, captions, swap_passed)
            except BadReplyError:
                found = Objection("reply", "no_judgement" if question else "no_json")
            except NoReplyError:
                raise
            except ChatFailedError as error:
                found = Objection("reply", error.kind)
            self.log.question(found.check, found.reason)
            if not found.check:
                self.log.questions["accepted"] += 1
                if question == blueprint.question:
                    self.log.questions["unchanged"] += 1
                return question
            hints.append(found.hint)
        self.log.questions["rejected"] += 1
        raise QuestionRejectedError(f"{found.check}, {found.reason}")

    def _objection(self, worded: Blueprint, parts: Parts, captions: Sequence[str], swap_passed: bool) -> Objection:
        """Return the first objection to a wording, an empty one if there is none: rules first, then the judges."""
        found = objection(worded, parts, worded.question)
        if found is not None:
            return found
        if isinstance(self.judge, LLMJudge) and worded.question != parts.whole:
            difference = self.judge.same_question(parts.whole, worded.question)
            if difference:
                return Objection("meaning", "judge", "Ask for exactly the same thing as the draft.")
        problems = text_only_problems(worded, self.judge, captions=captions, swap_passed=swap_passed)
        if problems:
            return Objection(problems[0].check, problems[0].reason, "Give less away.")
        return Objection("", "")


class ModelScribe:
    """One session in two models' hands."""

    def __init__(self, writer: ModelWriter, plan: Plan, rng: random.Random) -> None:
        self.writer, self.plan = writer, plan
        self.persona = rng.choice(personas())
        # Part of each request, so that a session that is redrawn does not meet its own cached replies.
        self.nonce = f"{rng.getrandbits(32):08x}"

    def turn(self, turns: Sequence[Turn], hints: Sequence[str]) -> str:
        """See `Scribe`. A model that declines has written an empty turn, which is rejected."""
        user = len(turns) % 2 == 0
        messages = self._as_user(turns) if user else self._as_assistant(turns)
        if hints:
            text = prompt("hints", hints=" ".join(dict.fromkeys(hints)))
            messages = [*messages, {"role": "user", "content": f"{text} ({len(hints) + 1})"}]
        chat = self.writer.user if user else self.writer.assistant
        try:
            return clean(chat(messages))
        except NoReplyError:
            raise
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


@dataclass(frozen=True, slots=True)
class Background:
    """A paragraph on a topic with the things that it names (MEMLENS, C.4, step 1)."""

    paragraph: str
    entities: tuple[str, ...]


class BackgroundWriter:
    """Writes backgrounds with a chat model."""

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


def checked_background(paragraph: str, names: Sequence[str]) -> Background:
    """Return the background if it has the form that was asked for, else raise `BadReplyError`."""
    sentences = sum(paragraph.count(sign) for sign in ".!?")
    if not 3 <= sentences <= 8:
        raise BadReplyError("the paragraph does not have three to five sentences")
    if len(names) < 2 or any(not name or name.lower() not in paragraph.lower() for name in names):
        raise BadReplyError("fewer than two things, or one that the paragraph does not name")
    return Background(paragraph, tuple(names))
