"""A chat model behind an OpenAI-compatible endpoint, and the writer that a build makes from its options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.text.chat import CachedChat, CallBudget, ChatFailedError, ReplyCache
from memgauge.histories.building.text.judges import LLMJudge, RuleJudge
from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.model_writer import ModelWriter
from memgauge.histories.building.text.prompts import version
from memgauge.histories.building.text.types import Message


@dataclass(frozen=True, slots=True)
class Options:
    """How the models of a build are reached; all roles share them except for the names of the models."""

    name: str
    """Of the model that plays the user, and every role that has no name of its own."""
    base_url: str
    assistant: str = ""
    judge: str = "rules"
    """`rules`, or the name of a model that judges after the rules."""
    api_key_env: str = "OPENAI_API_KEY"
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
        return cls(**values)


class EndpointChat:
    """A `Chat` that asks an OpenAI-compatible server; requests that fail for a passing reason are tried again."""

    def __init__(self, options: Options, model: str) -> None:
        """Raises `InputError` when the package `openai` is missing."""
        try:
            import openai
        except ImportError as error:
            raise InputError("the model writer needs the package openai: pip install 'memgauge[models]'") from error
        self._errors = openai.OpenAIError
        self._client = openai.OpenAI(
            base_url=options.base_url,
            # Servers on one's own machine ask for no key, the client does.
            api_key=os.environ.get(options.api_key_env) or "none",
            timeout=options.timeout_s,
            max_retries=4,
        )
        self._model, self._parameters = model, parameters(options)

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the reply's text. Raises `ChatFailedError` for a refusal by the server or an empty reply."""
        try:
            reply = self._client.chat.completions.create(
                model=self._model, messages=cast(Any, list(messages)), **self._parameters
            )
        except self._errors as error:
            raise ChatFailedError(f"{type(error).__name__}: {error}"[:500]) from error
        if not reply.choices or not reply.choices[0].message.content:
            raise ChatFailedError("the server gave an empty reply")
        return str(reply.choices[0].message.content)


def parameters(options: Options) -> dict[str, Any]:
    """Return the sampling settings, which are part of each request."""
    return {"temperature": options.temperature, "max_tokens": options.max_tokens, "seed": options.seed}


def model_writer_factory(pairs: Mapping[str, str], folder: Path) -> Callable[[AttemptLog], ModelWriter]:
    """Return what makes model writers; they share one cache of replies in `folder` and one budget of calls.

    Raises `InputError` for options that cannot be used.
    """
    options = Options.read(pairs)
    cache = ReplyCache(folder / "replies.sqlite")
    budget = CallBudget(options.max_calls)

    def chat(model: str) -> CachedChat:
        settings = parameters(options) | {"base_url": options.base_url, "prompts": version()}
        return CachedChat(EndpointChat(options, model), model=model, parameters=settings, cache=cache, budget=budget)

    user = chat(options.name)
    assistant = chat(options.assistant or options.name)
    judge = RuleJudge() if options.judge == "rules" else LLMJudge(chat(options.judge))

    def make(log: AttemptLog) -> ModelWriter:
        return ModelWriter(user, assistant, judge=judge, log=log)

    return make
