"""What the Inspect task `memlens` asks: the episodes, words and pictures of `memgauge run memlens`.

It is made from the task's parameters and from a folder of histories. Whoever reads a log needs the histories too.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

from memgauge.episode import Episode, Picture, Query
from memgauge.errors import InputError
from memgauge.grading import conversation
from memgauge.grading.typed.prepare import Mode
from memgauge.histories.ablations import Ablation, Oracle
from memgauge.histories.source import AGENT, HistorySource
from memgauge.inspect_tasks.values import integer, listed, one_of, refuse_unknown, switch, words
from memgauge.prompts.conversation import conversation_pieces, words_of
from memgauge.prompts.memlens import prompt_version
from memgauge.tasks import FrameStyle, Task, get_task

if TYPE_CHECKING:
    from memgauge.systems.models.pricing import Priced, Pricer

NAME = "memlens"
VERSION = 1
"""Raised whenever the task asks something else, or a reply is read differently; logs of another version are refused."""
MAX_TOKENS = 2048
"""Answer budget of a model that answers directly (MEMLENS, evaluation protocol); `--max-tokens` gives another."""
PARAMETERS: dict[str, Any] = {
    "data": None,
    "length": None,
    "oracle": None,
    "no_context": False,
    "text_only": False,
    "captions": False,
    "label_images": False,
    "cot": False,
    "only": None,
    "subset": None,
    "count": None,
    "seed": 0,
    "images": None,
    "grading": "strict",
    "strict": False,
}
"""The parameters, with the defaults of `memgauge run memlens`."""
PLACES = ("data", "images", "subset")
"""The parameters that name files."""


@dataclass(frozen=True)
class ConversationAsking:
    """One sample: the question of a history."""

    episode: Episode
    query: Query
    arm: str

    @property
    def id(self) -> str:
        """The question's id and the length of its history."""
        return f"{self.episode.id}.{self.episode.length}"

    @cached_property
    def pieces(self) -> tuple[str | Picture, ...]:
        """The message in order; pictures are opened by whoever sends it."""
        return conversation_pieces(self.episode.observations, self.query.question)

    @property
    def texts(self) -> tuple[str, ...]:
        """The words of the request in order; pictures stand between them."""
        return tuple(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the parts of the request in order."""
        return tuple("text" if isinstance(piece, str) else "image" for piece in self.pieces)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Picture))

    @property
    def images(self) -> int:
        """Pictures that are shown."""
        return len(self.pictures)

    @property
    def least_tokens(self) -> int:
        """Prompt tokens below which a server has cut the request short: one a word and one a picture."""
        return words_of(self.pieces) + self.images


@dataclass(frozen=True)
class ConversationPlan:
    """Everything that the task asks."""

    version: ClassVar[int] = VERSION
    scorer: ClassVar[str] = "conversation"
    scored: ClassVar[Mapping[str, object]] = {"version": VERSION, "grading": conversation.VERSION}
    standard: ClassVar[Mapping[str, object]] = {"max_tokens": MAX_TOKENS, "temperature": 0.0}
    delivery: ClassVar[Mapping[str, str]] = {}
    counted: ClassVar[str] = "words and pictures"

    source: HistorySource

    @property
    def task(self) -> Task:
        """The task of `memgauge run`."""
        return get_task(NAME)

    @property
    def arms(self) -> tuple[str]:
        """The ablation."""
        return (self.source.ablation.arm,)

    @property
    def identity(self) -> dict[str, object]:
        """What must be equal for two logs to have asked about the same data."""
        return {**self.source.identity, **self.task.identity(FrameStyle())}

    @property
    def recorded(self) -> dict[str, object]:
        """What a log keeps of the plan: the data, the prompt, and a hash of the questions that were chosen."""
        chosen = self.source.chosen
        digest = None if chosen is None else hashlib.sha256("\n".join(sorted(chosen)).encode()).hexdigest()
        return {
            "version": VERSION,
            "task": NAME,
            **self.identity,
            "arm": self.arms[0],
            "lengths": [split.name for split in self.source.splits],
            "questions": digest,
            "prompt": prompt_version(),
        }

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        return self.source.describe()

    def notes(self) -> list[str]:
        """Say which records were left out, and why."""
        return self.source.notes()

    def askings(self) -> Iterator[ConversationAsking]:
        """Yield every sample, shortest histories first; one history is in memory at a time."""
        for cell in self.source.cells():
            for episode in cell.episodes(self.task):
                for query in episode.queries:
                    yield ConversationAsking(episode, query, self.arms[0])

    def different(self, asking: ConversationAsking, metadata: Mapping[str, Any]) -> str | None:
        """Say whether a sample was made of another history: its words, or the names and sizes of its pictures."""
        if metadata.get("fingerprint") == asking.episode.fingerprint:
            return None
        return f"its history is not the one in {self.source.data}: the data were changed, or the log was"

    def check_price(self, pricer: Pricer) -> None:
        """Do nothing: whether a question shows pictures is seen when it is priced."""

    def price(self, pricer: Pricer, asking: ConversationAsking, tokens_in: int | None) -> Priced | None:
        """Price an answer; None where the server did not say how many tokens it read.

        Raises `InputError` where the model has no price for pictures, or one of them has gone.
        """
        pricer.check(asking.images > 0)
        if tokens_in is None:
            return None
        return pricer.conversation(tokens_in, [_size_of(picture) for picture in asking.pictures])


def conversation_plan(parameters: Mapping[str, object]) -> ConversationPlan:
    """Return the plan with parameters as given by `-T`, or as recorded in a log.

    Raises `InputError` that names the parameter, or what is wrong with the data.
    """
    refuse_unknown(NAME, parameters, PARAMETERS)
    values = {**PARAMETERS, **{name: value for name, value in parameters.items() if value is not None}}
    if values["data"] is None:
        raise InputError(
            "memlens needs histories: give -T data=FOLDER (`memgauge histories build --profile quick --out FOLDER`)"
        )
    given = {name: None if values[name] is None else words(name, values[name]) for name in PLACES}
    ablation = Ablation(
        None if values["oracle"] is None else cast(Oracle, one_of(values, "oracle", get_args(Oracle))),
        *(switch(name, values[name]) for name in ("no_context", "text_only", "captions", "label_images", "cot")),
    )
    return ConversationPlan(
        HistorySource(
            Path(str(given["data"])).expanduser(),
            () if values["length"] is None else tuple(name.lower() for name in listed(values, "length", words)),
            ablation,
            mode=cast(Mode, one_of(values, "grading", get_args(Mode))),
            only=() if values["only"] is None else listed(values, "only", words),
            subset=given["subset"],
            count=None if values["count"] is None else integer("count", values["count"]),
            seed=integer("seed", values["seed"]),
            images=None if given["images"] is None else Path(given["images"]).expanduser(),
            strict=switch("strict", values["strict"]),
        )
    )


def places_of(plan: ConversationPlan) -> dict[str, str]:
    """Return where the data lie as absolute paths, so that a log can be read from another folder."""
    source = plan.source
    found = {"data": str(source.data.absolute())}
    if source.images is not None:
        found["images"] = str(source.images.absolute())
    if source.subset is not None:
        found["subset"] = AGENT if source.subset == AGENT else str(Path(source.subset).absolute())
    return found


def _size_of(picture: Picture) -> tuple[int, int]:
    """Return width and height of a picture; its header is read."""
    import PIL.Image

    with PIL.Image.open(io.BytesIO(picture.open())) as image:
        return image.size
