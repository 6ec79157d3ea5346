"""`memgauge histories ontology expand`: a file of topics grown by a model behind an endpoint, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, MemgaugeError
from memgauge.histories.building.ontology import built_in, load_ontology
from memgauge.histories.building.ontology_files import outline, shortages, to_text
from memgauge.histories.building.ontology_growth import expand
from memgauge.histories.building.room import write_named
from memgauge.histories.building.text.chat import CachedChat, CallBudget, Chat, NoReplyError, ReplyCache
from memgauge.histories.building.text.model import EndpointChat, Options, endpoint_of, parameters
from memgauge.histories.building.text.types import Message
from memgauge.progress import Progress

FAILURES = 3
"""Requests in a row that fail before the endpoint is given up."""


class Watched:
    """A `Chat` that counts requests, shows them, and gives up on an endpoint that does not answer."""

    def __init__(self, chat: Chat, url: str, bar: Progress) -> None:
        self._chat, self._url, self._bar = chat, url, bar
        self.requests = self._failed = 0

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the reply. Raises `MemgaugeError` after several failures in a row."""
        self.requests += 1
        try:
            reply = self._chat(messages)
        except NoReplyError as error:
            self._failed += 1
            if self._failed >= FAILURES:
                raise MemgaugeError(
                    f"the endpoint {self._url} failed {FAILURES} times in a row ({error}); what it said before is "
                    "kept, and the same command goes on from there"
                ) from error
            raise
        finally:
            self._bar.advance()
        self._failed = 0
        return reply


def expand_file(
    source: Path | None, out: Path, writer: str, *, topics: int, subtopics: int, rounds: int
) -> dict[str, Any]:
    """Grow the topics of a file (by default the built-in ones) into `out`; returns counts as JSON values.

    Replies are kept in a file beside `out` until that is written.

    Raises `InputError` for options or a file that cannot be used, `MemgaugeError` for an endpoint that does not answer.
    """
    for option, value, most in (
        ("--topics", topics, 1000),
        ("--subtopics", subtopics, 1000),
        ("--rounds", rounds, 100),
    ):
        if not 1 <= value <= most:
            raise InputError(f"{option} takes 1 to {most}, not {value}")
    kind, _, text = writer.partition(":")
    pairs = [part.partition("=") for part in text.split(",")]
    if kind != "model" or any(not name or not value for name, _, value in pairs):
        raise InputError(f"--writer {writer!r}: write model:name=MODEL,base_url=URL")
    options = Options.read({name: value for name, _, value in pairs})
    if out.exists():
        raise InputError(f"{out}: is there already; choose another file")
    start = built_in() if source is None else load_ontology(source)
    kept = out.with_name(f".{out.name}.replies.sqlite")
    with ReplyCache(kept) as cache, Progress("requests", None) as bar:
        endpoint = endpoint_of(options, CallBudget(options.max_calls, cache).spend)
        asked = EndpointChat(options, options.name, endpoint=endpoint)
        # The address is no part of the key: a server that has moved still is the same model.
        chat = CachedChat(asked, model=options.name, parameters=parameters(options), cache=cache)
        watched = Watched(chat, options.base_url, bar)
        grown = expand(start, watched, topics=topics, subtopics=subtopics, rounds=rounds)
    short = shortages(grown.ontology, topics, subtopics)
    if grown.ontology == start and any(short.values()):
        reasons = ", ".join(f"{count} {why}" for why, count in sorted(grown.rejected.items())) or "no answers"
        raise MemgaugeError(
            f"{options.name} at {options.base_url} added nothing in {watched.requests} requests ({reasons}); try "
            f"another model. Its replies are kept in {kept.name}: remove that file to ask again"
        )
    write_named(out, to_text(grown.ontology))
    for part in kept.parent.glob(f"{kept.name}*"):
        part.unlink()
    return {
        "file": out.name,
        "before": outline(start)["counts"],
        "after": outline(grown.ontology)["counts"],
        "requests": watched.requests,
        "rejected": dict(sorted(grown.rejected.items())),
        "short": short,
    }
