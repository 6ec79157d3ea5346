"""What an Inspect task asks, made from its parameters alone: the same episodes and prompts as `memgauge run`.

The parameters are those of `-T` or those that a log recorded, so that whoever reads a log can make every question again
and check that it is the one that was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

from memgauge.episode import ARMS, Episode, Query
from memgauge.errors import InputError, unknown_name
from memgauge.inspect_tasks.values import integer, listed, member, one_of, refuse_unknown
from memgauge.prompts import ArmName, ecc_prompt, text_request
from memgauge.streams.item import Band, Negatives
from memgauge.tasks import FrameStyle, MadeStreams, Task, get_task

if TYPE_CHECKING:
    from memgauge.systems.models.pricing import Priced, Pricer

VERSION = 1
"""Raised whenever a task asks something else, or a reply is read differently; logs of another version are refused."""
MAX_TOKENS = 8192
"""Answer budget (ECCBench, B.8); `--max-tokens` gives another."""

Delivery = Literal["image_url", "video_url"]
_MADE = MadeStreams()
DEFAULTS: dict[str, Any] = {
    "lengths": _MADE.lengths,
    "bands": _MADE.bands,
    "count": _MADE.count,
    "queries": _MADE.queries,
    "negatives": _MADE.negatives,
    "seed": _MADE.seed,
    "arms": ("none",),
}
"""The parameters that every task has, with the defaults of `memgauge run`."""
SHOWN: dict[str, Any] = {"frame_format": "png", "frame_size": 448, "images": "image_url"}
"""The parameters of tasks that may show frames."""
PARAMETERS: dict[str, dict[str, Any]] = {
    "ecc_text": DEFAULTS,
    "ecc_video": {**DEFAULTS, **SHOWN, "lanes": "fixed"},
    "easyhuman": {
        **{name: value for name, value in DEFAULTS.items() if name not in ("bands", "negatives")},
        **SHOWN,
        "show": "text",
        "lanes": "fixed",
    },
}
"""Task: its parameters that decide what is asked, with their defaults."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One sample: a query of an episode under one payoff arm."""

    id: str
    episode: Episode
    query: Query
    arm: ArmName
    delivery: Delivery = "image_url"

    @property
    def images(self) -> int:
        """Frames of the stream and of the candidate."""
        return len(self.episode.observations) + len(self.query.question.clip) if self.is_video else 0

    @property
    def is_video(self) -> bool:
        """Whether frames are shown."""
        return len(self.query.question.clip) > 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The words of the request in order; frames stand between them in a video task."""
        if self.is_video:
            return "Main video:", "Option video:", ecc_prompt("video", self.arm)
        stream = ", ".join(observation.text for observation in self.episode.observations)
        return (text_request(stream, self.query.question.text, self.arm),)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the parts of the request in order."""
        if not self.is_video:
            return ("text",)
        if self.delivery == "video_url":
            return "text", "video", "text", "video", "text"
        main, option = len(self.episode.observations), len(self.query.question.clip)
        return "text", *["image"] * main, "text", *["image"] * option, "text"

    @property
    def least_tokens(self) -> int:
        """Prompt tokens below which a server has cut the request short: one a symbol, or one a frame."""
        return self.images or self.episode.length


@dataclass(frozen=True, slots=True)
class AskingPlan:
    """Everything that a task about streams asks."""

    version: ClassVar[int] = VERSION
    scorer: ClassVar[str] = "membership"
    scored: ClassVar[Mapping[str, object]] = {"version": VERSION}
    standard: ClassVar[Mapping[str, object]] = {"max_tokens": MAX_TOKENS, "temperature": 0.0}
    counted: ClassVar[str] = "symbols or frames"

    name: str
    source: MadeStreams
    task: Task
    style: FrameStyle
    arms: tuple[ArmName, ...]
    images: Delivery

    @property
    def identity(self) -> dict[str, object]:
        """What must be equal for two logs to have asked about the same data."""
        return {**self.source.identity, **self.task.identity(self.style)}

    @property
    def recorded(self) -> dict[str, object]:
        """What a log keeps of the plan."""
        return {"version": VERSION, "task": self.task.name, **self.identity}

    @property
    def delivery(self) -> dict[str, str]:
        """How frames are handed over, where it is not as pictures."""
        return {} if self.images == "image_url" else {"images": self.images}

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        return self.source.describe()

    def notes(self) -> list[str]:
        """Return nothing: streams that are made can all be asked about."""
        return []

    def different(self, asking: Asking, metadata: Mapping[str, Any]) -> None:
        """Return None: streams follow from the parameters alone."""

    def check_price(self, pricer: Pricer) -> None:
        """Raise `InputError` where the model has no price for what is shown."""
        pricer.check(self.task.kind == "frame")

    def price(self, pricer: Pricer, asking: Asking, tokens_in: int | None) -> Priced | None:
        """Price an answer by ECCBench, B.3."""
        return pricer.answer(
            asking.episode.length,
            frame=(self.style.size, self.style.size) if asking.is_video else None,
            option_frames=len(asking.query.question.clip),
            natural=False,
            tokens_in=tokens_in,
        )

    def askings(self) -> Iterator[Asking]:
        """Yield every sample: all arms of a question, all questions of a stream, shortest streams first."""
        for cell in self.source.cells():
            for episode in cell.episodes(self.task, self.style):
                for query in episode.queries:
                    for arm in self.arms:
                        name = f"{episode.id}.{cell.negatives}.{query.id}.{arm}"
                        yield Asking(name, episode, query, arm, self.images)


def plan_of(name: str, parameters: Mapping[str, object]) -> AskingPlan:
    """Return the plan of the task `name` with parameters as given by `-T`, or as recorded in a log.

    Raises `InputError` that names the parameter.

    >>> plan = plan_of("ecc_text", {"lengths": "8,64", "bands": "max", "count": 1, "queries": 2, "arms": ["A", "B"]})
    >>> [asking.id for asking in plan.askings()][:2]
    ['max-8-0000.uniform.q00.A', 'max-8-0000.uniform.q00.B']
    """
    if name not in PARAMETERS:
        raise unknown_name("task", name, PARAMETERS)
    refuse_unknown(name, parameters, PARAMETERS[name])
    values = {**PARAMETERS[name], **parameters}
    video = name == "ecc_video" or (name == "easyhuman" and one_of(values, "show", ("text", "video")) == "video")
    if not video:
        useless = [option for option in (*SHOWN, "lanes") if values.get(option) != PARAMETERS[name].get(option)]
        if useless:
            raise InputError(f"{', '.join(useless)}: {name} shows no frames here; leave it out, or give show=video")
    free = video and one_of(values, "lanes", ("fixed", "free")) == "free"
    source = MadeStreams(
        lengths=listed(values, "lengths", integer),
        bands=("easyhuman",) if name == "easyhuman" else listed(values, "bands", member(Band)),
        count=integer("count", values["count"]),
        queries=integer("queries", values["queries"]),
        negatives=listed(values, "negatives", member(Negatives)) if "negatives" in values else _MADE.negatives,
        seed=integer("seed", values["seed"]),
    )
    arms = listed(values, "arms", _arm)
    if not arms or len(set(arms)) != len(arms):
        raise InputError("arms takes each arm once: none, A, B")
    return AskingPlan(
        name=name,
        source=source,
        task=get_task("ecc-text" if not video else "ecc-video-free" if free else "ecc-video"),
        style=_style(values) if video else FrameStyle(),
        arms=arms,
        images=cast(Delivery, one_of(values, "images", get_args(Delivery))) if video else "image_url",
    )


def _style(values: Mapping[str, object]) -> FrameStyle:
    kind = cast(Literal["png", "jpeg"], one_of(values, "frame_format", ("png", "jpeg")))
    size = integer("frame_size", values["frame_size"])
    if not 16 <= size <= 4096:
        raise InputError(f"frame_size is {size}; it is the height and width in pixels, 16 to 4096")
    return FrameStyle(kind, size)


def _arm(name: str, value: object) -> ArmName:
    # YAML, in which Inspect reads -T, may write the arm `none` as null.
    arm = "none" if value is None else str(value)[:60]
    if arm not in ARMS:
        raise unknown_name("arm", arm, ARMS)
    return cast(ArmName, arm)
