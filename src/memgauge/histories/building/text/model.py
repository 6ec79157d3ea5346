"""A chat model behind an OpenAI-compatible endpoint, and the writer that a build makes from its options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.text.chat import CachedChat, CallBudget, ChatFailedError, ReplyCache
from memgauge.histories.building.text.endpoint import DEFAULT_KEY_ENV, Endpoint, Note, request_of, silent
from memgauge.histories.building.text.judges import Judge, LLMJudge, RuleJudge
from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.model_text import without_thoughts
from memgauge.histories.building.text.model_writer import ModelWriter
from memgauge.histories.building.text.prompts import version
from memgauge.histories.building.text.types import Message
from memgauge.systems.models.wire import checked_url

RULES = "rules"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Options:
    """How the models of a build are reached; all roles share them except for the names of the models."""

    name: str
    """Of the model that plays the user, and every role that has no name of its own."""
    base_url: str
    assistant: str = ""
    question: str = ""
    judge: str = ""
    """The name of the model that judges after the rules, by default the one that writes; `rules`: none does."""
    api_key_env: str = DEFAULT_KEY_ENV
    temperature: float = 0.8
    max_tokens: int = 600
    seed: int = 0
    timeout_s: float = 120.0
    max_calls: int | None = None

    @classmethod
    def read(cls, pairs: Mapping[str, str]) -> Options:
        """Read options as a command line gives them. Raises `InputError` that names the option."""
        known = {field.name: field for field in fields(cls)}
        values: dict[str, Any] = {}
        for name, text in pairs.items():
            if name not in known:
                raise unknown_name("writer option", name, known)
            kind = {"temperature": float, "timeout_s": float, "max_tokens": int, "seed": int, "max_calls": int}.get(
                name
            )
            try:
                values[name] = kind(text) if kind else text
            except ValueError:
                raise InputError(f"writer option {name}={text!r}: expected a number") from None
        for name in ("name", "base_url"):
            if not values.get(name):
                raise InputError(f"the model writer needs {name}=..., as in model:name=MODEL,base_url=URL")
        options = cls(**values)
        checked_url(options.base_url)
        for name, low, high in (("temperature", 0, 2), ("max_tokens", 1, 100_000), ("timeout_s", 0.01, 86_400)):
            if not low <= getattr(options, name) <= high:
                raise InputError(f"writer option {name}={getattr(options, name)}: takes {low} to {high}")
        if options.max_calls is not None and options.max_calls < 1:
            raise InputError(f"writer option max_calls={options.max_calls}: takes at least 1")
        if not _VARIABLE.fullmatch(options.api_key_env):
            raise InputError("writer option api_key_env names the environment variable that holds the key, not the key")
        return options


class EndpointChat:
    """A `Chat` that asks an OpenAI-compatible server; requests that fail for a passing reason are tried again.

    Parameters
    ----------
    endpoint : shared with other models at the same address; by default one of its own.
    sampling : settings in place of those of the options.
    note : is told the kind of every fault.
    """

    def __init__(
        self,
        options: Options,
        model: str,
        *,
        endpoint: Endpoint | None = None,
        sampling: Mapping[str, Any] | None = None,
        note: Note = silent,
    ) -> None:
        """Raises `InputError` when the package `openai` is missing."""
        self._endpoint = endpoint if endpoint is not None else endpoint_of(options)
        self._model, self._note = model, note
        self._parameters = parameters(options) if sampling is None else dict(sampling)

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the reply's text. Raises `ChatFailedError` for a refusal by the server or an empty reply,
        `NoReplyError` and `EndpointStoppedError` when the server does not answer (see `Endpoint.ask`).
        """
        reply = self._endpoint.ask(request_of(self._model, self._parameters, messages), self._note)
        if reply.finish_reason == "length":
            self._note("cut_at_max_tokens")
        text = without_thoughts(reply.raw[reply.content_at :])
        if not text.strip():
            self._note("empty")
            raise ChatFailedError("the server gave an empty reply", "empty")
        return text


def endpoint_of(options: Options, spend: Callable[[], None] = lambda: None) -> Endpoint:
    """Return the endpoint that options name. Raises `InputError` for an address that is none."""
    return Endpoint(options.base_url, key_env=options.api_key_env, timeout_s=options.timeout_s, spend=spend)


def parameters(options: Options) -> dict[str, Any]:
    """Return the sampling settings, which are part of each request."""
    return {"temperature": options.temperature, "max_tokens": options.max_tokens, "seed": options.seed}


def model_writer_factory(pairs: Mapping[str, str], folder: Path) -> Callable[[AttemptLog], ModelWriter]:
    """Return what makes model writers; they share one cache of replies in `folder` and one budget of calls.

    The address enters no key of the cache: a server that has moved still is the same model.

    Raises `InputError` for options that cannot be used.
    """
    options = Options.read(pairs)
    cache = ReplyCache(folder / "replies.sqlite")
    endpoint = endpoint_of(options, CallBudget(options.max_calls, cache).spend)

    def make(log: AttemptLog) -> ModelWriter:
        def chat(role: str, model: str, sampling: Mapping[str, Any]) -> CachedChat:
            asked = EndpointChat(options, model, endpoint=endpoint, sampling=sampling, note=log.fault)
            settings = {**sampling, "prompts": version()}
            return CachedChat(asked, model=model, parameters=settings, cache=cache, count=lambda: log.reply(role))

        writing = parameters(options)
        judge: Judge = RuleJudge()
        if options.judge != RULES:
            # The same text gets the same judgement.
            judge = LLMJudge(chat("judge", options.judge or options.name, {**writing, "temperature": 0.0}), log.fault)
        return ModelWriter(
            chat("user", options.name, writing),
            chat("assistant", options.assistant or options.name, writing),
            question=chat("question", options.question or options.name, writing),
            judge=judge,
            log=log,
        )

    return make


_RULES_RUN = {
    "question_rules": "form, structure, kept names and things, no word of the dialogue, no number, no possible answer",
    "structured_truth": "the solver finds the gold in the structured truth of the whole history, and nothing else",
    "draft_swap": "other pictures under the same draft and the same texts of facts give another answer",
    "turn_rules": "the six validators by rule on every turn of every session, and that each reply is a text at all",
}
_JUDGED = {
    "question_meaning": "a model says whether the wording asks for what the draft asks",
    "question_text_only": "a model without pictures answers from the question, its facts and its captions; a confident "
    "answer rejects, a right one in open answer spaces, any possible one in closed ones",
    "session_leak": "a model says of each turn with pictures whether it tells what they show",
    "session_disambiguation": "a model says of each turn with pictures whether it narrows down what they show",
}
_NEVER_RUN = {
    "vision_answerability": "no vision model was asked whether the evidence with its pictures gives the answer: that "
    "rests on the structured truth of the pictures alone",
    "swap_of_model_text": "the swap was run on drafts and texts of facts, not on what the model wrote around them: its "
    "writers saw no picture and no answer, and the judges stand in for the proof",
    "assistant_with_pictures": "the assistant's model was shown no picture, so that its turns do not refer to any",
    "haystack_judge": "no model was asked whether a decoy changes the answer: the solver over keys was",
}


def checks_of(pairs: Mapping[str, str]) -> dict[str, Any]:
    """Return which checks a build with these options runs, and which it does not, each with what it means."""
    judged = pairs.get("judge") != RULES
    because = {name: f"judge=rules: not run ({text})" for name, text in _JUDGED.items()}
    return {
        "family": "model",
        "prompts": version(),
        "checked": {**_RULES_RUN, **(_JUDGED if judged else {})},
        "not_run": {**({} if judged else because), **_NEVER_RUN},
    }
