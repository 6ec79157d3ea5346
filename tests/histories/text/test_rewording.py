"""Questions worded by a model: what must be kept, what may not be added, and that no check knows the right answer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random

import pytest

from memgauge.histories.building.blueprints import build_blueprint, draw_cast, plan_blueprint
from memgauge.histories.building.model import BUILDERS
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.text import AttemptLog, ProceduralWriter, QuestionRejectedError, rewording
from memgauge.histories.building.text.bad_replies import bad_kind
from memgauge.histories.building.text.chat import ChatFailedError
from memgauge.histories.building.text.judges import LLMJudge
from memgauge.histories.building.text.model_writer import ModelWriter
from memgauge.histories.building.text.rewording import objection, take_apart, vocabulary
from memgauge.histories.building.timeline import timeline

DATES = timeline(rng(1, "dates"), 60)[0]


def item(builder, number=0):
    path = f"q_{builder}{number}"
    plan = plan_blueprint(builder, seed=1, path=(path,), index=number)
    cast = draw_cast(1, path)
    return build_blueprint(plan, id=path, dates=DATES[: plan.slots], used=frozenset(), cast=cast)


def politely(head):
    return f"Could you tell me, {head[0].lower()}{head[1:]}"


@pytest.mark.parametrize("builder", BUILDERS)
def test_drafts_and_careful_wordings_pass(builder):
    for number in range(5):
        blueprint = item(builder, number)
        parts = take_apart(blueprint)
        assert parts.whole == blueprint.question
        assert objection(blueprint, parts, blueprint.question) is None
        worded = parts.joined(politely(parts.head))
        assert objection(blueprint, parts, worded) is None, worded
        assert worded.endswith(parts.tail)
        # The instruction on the form, the items and the options are no part of what is reworded.
        assert not re.search(r"\(1\)|\bA\. |YYYY|number (?:alone|only)", parts.head)


@pytest.mark.parametrize("builder", BUILDERS)
def test_what_is_filled_in_must_stay(builder):
    for number in range(3):
        blueprint = item(builder, number)
        parts = take_apart(blueprint)
        assert parts.kept
        for phrase in parts.kept:
            worded = parts.joined(re.sub(re.escape(phrase), "that", parts.head, flags=re.IGNORECASE))
            found = objection(blueprint, parts, worded)
            assert found is not None, (phrase, worded)


def added(parts, words):
    return parts.joined(f"Could you tell me {words}, {parts.head[0].lower()}{parts.head[1:]}")


def test_nothing_may_be_added():
    for builder, number in (("ie_counting", 0), ("msr_arithmetic", 2), ("ku_update", 1), ("ie_chat", 0)):
        blueprint = item(builder, number)
        parts = take_apart(blueprint)
        said = blueprint.key[0].split()[0]
        for words, reason in (
            ("3 times", "number"),
            ("both", "number"),
            ("with Peter", "name"),
            (f"of the {said}", "word_of_the_dialogue"),
            ("of this <image>", "the question holds <image>"),
            ("again and again " * 20, "length"),
            ("(1) apple", "structure"),
        ):
            found = objection(blueprint, parts, added(parts, words))
            assert found is not None, (builder, words)
            assert found.reason == reason, (builder, words, found)


def test_an_open_answer_may_not_be_said():
    for builder in ("msr_arithmetic", "ie_chat"):
        blueprint = item(builder, 2)
        assert not blueprint.answer_space
        found = objection(blueprint, take_apart(blueprint), added(take_apart(blueprint), f"if {blueprint.answer}"))
        assert found is not None


@pytest.mark.parametrize("builder", BUILDERS)
def test_in_closed_spaces_no_check_knows_which_answer_is_right(builder):
    """Every value is refused alike, whatever the gold is; else the text would tell by what it never says."""
    for number in range(2):
        blueprint = item(builder, number)
        if not blueprint.answer_space:
            continue
        parts, values = take_apart(blueprint), blueprint.answer_space[:6]
        wordings = [added(parts, f"if it is {value}") for value in values] + [parts.joined(politely(parts.head))]
        for worded in wordings:
            found = {objection(replace(blueprint, answer=answer), parts, worded) for answer in values}
            assert len(found) == 1, (worded, found)


def test_a_question_that_the_grader_would_read_otherwise_is_refused(monkeypatch):
    blueprint = item("msr_counting")
    parts = take_apart(blueprint)
    question = parts.joined(politely(parts.head))
    grade = rewording.grade_typed
    monkeypatch.setattr(rewording, "grade_typed", lambda gold, **k: grade("no number", **k))
    assert objection(blueprint, parts, question).reason == "grader_refuses_the_gold"
    monkeypatch.setattr(rewording, "infer_subtype", lambda kind, asked, *_: asked)
    assert objection(blueprint, parts, question).reason == "read_as_another_kind"


def test_the_vocabulary_holds_no_thing():
    assert not {"teapot", "wardrobe", "tiger", "penmanship"} & vocabulary()
    assert {"how", "many", "insignia", "which"} <= vocabulary()


# The loop of attempts.


class Model:
    """Replies to wordings in turn; every judgement is favourable unless another is given."""

    def __init__(self, *wordings, **judgements):
        self.wordings, self.asked = list(wordings), []
        said = {"same": {"same": True, "difference": ""}, "answer": {"answer": "", "confidence": 0.0}} | judgements
        self.said = {name: reply if isinstance(reply, str) else json.dumps(reply) for name, reply in said.items()}

    def __call__(self, messages):
        self.asked.append(messages)
        first = messages[0]["content"]
        if first.startswith("Do the two questions"):
            return self.said["same"]
        if first.startswith("Answer the question"):
            return self.said["answer"]
        reply = self.wordings.pop(0) if len(self.wordings) > 1 else self.wordings[0]
        if isinstance(reply, Exception):
            raise reply
        return reply if reply.startswith("Sorry") else json.dumps({"question": reply})

    @property
    def hints(self):
        return [m[1]["content"] for m in self.asked if m[0]["content"].startswith("You reword")]


def worded(model, blueprint, **options):
    log = AttemptLog()
    writer = ModelWriter(model, model, judge=LLMJudge(model, log.fault), log=log)
    return writer.question(blueprint, Random(1), swap_passed=True, **options), log


def test_a_bad_wording_then_a_good_one():
    blueprint = item("ku_update")
    parts = take_apart(blueprint)
    model = Model("Which one is it now?", parts.joined(politely(parts.head)))
    question, log = worded(model, blueprint, captions=["a photo"])
    assert question == parts.joined(politely(parts.head))  # the copied tail stands there once
    assert log.questions == {"attempts": 2, "accepted": 1}
    assert log.question_rejected == {"kept": 1}
    assert "Keep" in model.hints[1]
    texts = " ".join(m[-1]["content"] for m in model.asked if m[0]["content"].startswith("You reword"))
    assert blueprint.answer not in texts
    assert not any(fact.text in texts for fact in blueprint.facts)


def test_four_attempts_and_no_more():
    model = Model("Sorry, I would rather talk about something else.")
    log = AttemptLog()
    with pytest.raises(QuestionRejectedError, match="reply, no_json"):
        ModelWriter(model, model, log=log).question(item("ku_update"), Random(1))
    assert log.questions == {"attempts": 4, "rejected": 1}
    assert log.faults == {"prose_for_json": 8}  # each attempt was repaired once
    model = Model(ChatFailedError("filtered", "filtered"))
    with pytest.raises(QuestionRejectedError, match="reply, filtered"):
        ModelWriter(model, model).question(item("ku_update"), Random(1))


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        ({"same": {"same": False, "difference": "another person"}}, "meaning, judge"),
        ({"same": "They are the same."}, "reply, no_judgement"),
        ({"same": {"same": "true", "difference": ""}}, "reply, no_judgement"),
        ({"answer": "I do not know."}, "reply, no_judgement"),
    ],
)
def test_a_judge_that_objects_or_gives_no_judgement_never_passes(judgement, reason):
    blueprint = item("ie_chat")
    model = Model(politely(take_apart(blueprint).head), **judgement)
    with pytest.raises(QuestionRejectedError, match=reason):
        worded(model, blueprint)


def test_a_sure_judge_rejects_the_right_answer_or_any_possible_one():
    """Open spaces: only what is right. Closed ones: any value, so that the rejection says nothing about the gold."""
    opened, closed, two = item("ie_chat"), item("ku_update"), item("tr_duration")
    wrong = next(value for value in closed.answer_space if value != closed.answer)
    for blueprint, answer, passes in (
        (opened, opened.answer, False),
        (opened, "something else", True),
        (closed, closed.answer, False),
        (closed, wrong, False),
        (closed, "a thing outside", True),
        (two, two.answer, True),  # the swap has passed, and proves more
    ):
        model = Model(politely(take_apart(blueprint).head), answer={"answer": answer, "confidence": 0.9})
        if passes:
            assert worded(model, blueprint)[1].questions["accepted"] == 1
        else:
            with pytest.raises(QuestionRejectedError, match="text_only"):
                worded(model, blueprint)


def test_an_unchanged_draft_is_counted():
    blueprint = item("ku_update")
    question, log = worded(Model(take_apart(blueprint).head), blueprint)
    assert question == blueprint.question
    assert log.questions["unchanged"] == 1


def test_templates_word_nothing():
    blueprint, generator = item("ku_update"), Random(1)
    state = generator.getstate()
    assert ProceduralWriter().question(blueprint, generator) == blueprint.question
    assert generator.getstate() == state
    assert set(AttemptLog().as_dict()) == {"turns", "rejected", "reasons", "sessions"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("I'm sorry, but I can't assist with that request.", "refusal"),
        ("I cannot help with writing this.", "refusal"),
        ("Unfortunately, I am unable to provide that.", "refusal"),
        ("yes yes yes yes " * 30, "repetition"),
        ("I'm sorry that I ask again, but which pan is best for rice?", ""),
        ("I can't decide between the two. Which would you take?", ""),
        ("My sister was sorry she could not help with the move. How do I begin?", ""),
    ],
)
def test_replies_that_are_no_text(text, kind):
    assert bad_kind(text) == kind


def test_counts_of_models_add_up_and_come_back():
    log = AttemptLog()
    log.question("kept", "left_out")
    log.reply("judge")
    log.fault("http_429")
    again = AttemptLog.from_dict(log.as_dict())
    again.merge(log)
    assert again.question_reasons == {"kept: left_out": 2}
    assert again.faults == {"http_429": 2}
    assert again.replies == {"judge": 2}
