"""What an Inspect task asks, made from its parameters alone: the same episodes and prompts as `memgauge run`.

The parameters are those of `-T` or those that a log recorded, so that whoever reads a log can make every question again
and check that it is the one that was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast, get_args

from memgauge.episode import ARMS, Episode, Query
from memgauge.errors import InputError, unknown_name
from memgauge.prompts import ArmName, ecc_prompt, text_request
from memgauge.streams.item import Band, Negatives
from memgauge.tasks import FrameStyle, MadeStreams, Task, get_task

VERSION = 1
"""Raised whenever a task asks something else, or a reply is read differently; logs of another version are refused."""

T = TypeVar("T")
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
    def least_tokens(self) -> int:
        """Prompt tokens below which a server has cut the request short: one a symbol, or one a frame."""
        return self.images or self.episode.length


@dataclass(frozen=True, slots=True)
class AskingPlan:
    """Everything that a task asks."""

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

    def askings(self) -> Iterator[Asking]:
        """Yield every sample: all arms of a question, all questions of a stream, shortest streams first."""
        for cell in self.source.cells():
            for episode in cell.episodes(self.task, self.style):
                for query in episode.queries:
                    for arm in self.arms:
                        name = f"{episode.id}.{cell.negatives}.{query.id}.{arm}"
                        yield Asking(name, episode, query, arm)


def plan_of(name: str, parameters: Mapping[str, object]) -> AskingPlan:
    """Return the plan of the task `name` with parameters as given by `-T`, or as recorded in a log.

    Raises `InputError` that names the parameter.

    >>> plan = plan_of("ecc_text", {"lengths": "8,64", "bands": "max", "count": 1, "queries": 2, "arms": ["A", "B"]})
    >>> [asking.id for asking in plan.askings()][:2]
    ['max-8-0000.uniform.q00.A', 'max-8-0000.uniform.q00.B']
    """
    if name not in PARAMETERS:
        raise unknown_name("task", name, PARAMETERS)
    for given in parameters:
        if given not in PARAMETERS[name]:
            raise unknown_name(f"parameter of {name}", given, PARAMETERS[name])
    values = {**PARAMETERS[name], **parameters}
    video = name == "ecc_video" or (name == "easyhuman" and _one_of(values, "show", ("text", "video")) == "video")
    if not video:
        useless = [option for option in (*SHOWN, "lanes") if values.get(option) != PARAMETERS[name].get(option)]
        if useless:
            raise InputError(f"{', '.join(useless)}: {name} shows no frames here; leave it out, or give show=video")
    free = video and _one_of(values, "lanes", ("fixed", "free")) == "free"
    source = MadeStreams(
        lengths=_listed(values, "lengths", _integer),
        bands=("easyhuman",) if name == "easyhuman" else _listed(values, "bands", _member(Band)),
        count=_integer("count", values["count"]),
        queries=_integer("queries", values["queries"]),
        negatives=_listed(values, "negatives", _member(Negatives)) if "negatives" in values else _MADE.negatives,
        seed=_integer("seed", values["seed"]),
    )
    arms = _listed(values, "arms", _arm)
    if not arms or len(set(arms)) != len(arms):
        raise InputError("arms takes each arm once: none, A, B")
    return AskingPlan(
        name=name,
        source=source,
        task=get_task("ecc-text" if not video else "ecc-video-free" if free else "ecc-video"),
        style=_style(values) if video else FrameStyle(),
        arms=arms,
        images=cast(Delivery, _one_of(values, "images", get_args(Delivery))) if video else "image_url",
    )


def _style(values: Mapping[str, object]) -> FrameStyle:
    kind = cast(Literal["png", "jpeg"], _one_of(values, "frame_format", ("png", "jpeg")))
    size = _integer("frame_size", values["frame_size"])
    if not 16 <= size <= 4096:
        raise InputError(f"frame_size is {size}; it is the height and width in pixels, 16 to 4096")
    return FrameStyle(kind, size)


def _listed(values: Mapping[str, object], name: str, read: Callable[[str, object], T]) -> tuple[T, ...]:
    """Read a list, a single value, or values separated by commas."""
    given = values[name]
    parts = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else [given]
    return tuple(read(name, part.strip() if isinstance(part, str) else part) for part in parts)


def _integer(name: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InputError(f"{name} is {str(value)[:60]!r}; it is a whole number, not negative")
    return value


def _member(kind: Any) -> Callable[[str, object], Any]:
    """Return a reader of one of the values of a `Literal`."""

    def read(name: str, value: object) -> Any:
        return _one_of({name: value}, name, get_args(kind))

    return read


def _one_of(values: Mapping[str, object], name: str, known: tuple[str, ...]) -> str:
    value = str(values[name])[:60]
    if value not in known:
        raise unknown_name(name, value, known)
    return value


def _arm(name: str, value: object) -> ArmName:
    # YAML, in which Inspect reads -T, may write the arm `none` as null.
    arm = "none" if value is None else str(value)[:60]
    if arm not in ARMS:
        raise unknown_name("arm", arm, ARMS)
    return cast(ArmName, arm)
