"""What every plan of a task can say: which questions it asks, with which words, and what a log of it must hold.

Whoever reads a log makes the plan again from the parameters in it, and compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memgauge.episode import Episode, Query

if TYPE_CHECKING:
    from memgauge.systems.models.pricing import Priced, Pricer


class Asking(Protocol):
    """One sample: a query of an episode under one arm."""

    @property
    def id(self) -> str:
        """The sample's name."""
        ...

    @property
    def episode(self) -> Episode:
        """What is observed."""
        ...

    @property
    def query(self) -> Query:
        """What is asked."""
        ...

    @property
    def arm(self) -> str:
        """A payoff arm or an ablation."""
        ...

    @property
    def texts(self) -> tuple[str, ...]:
        """The words of the request in order."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the parts of the request in order: text, image, video."""
        ...

    @property
    def images(self) -> int:
        """Pictures that are shown."""
        ...

    @property
    def least_tokens(self) -> int:
        """Prompt tokens below which a server has cut the request short."""
        ...


class TaskPlan(Protocol):
    """Everything that a task asks."""

    @property
    def version(self) -> int:
        """Raised whenever the task asks something else, or a reply is read differently."""
        ...

    @property
    def scorer(self) -> str:
        """The name of the task's scorer, without ours."""
        ...

    @property
    def scored(self) -> Mapping[str, object]:
        """What a score of this scorer says of its rules."""
        ...

    @property
    def standard(self) -> Mapping[str, object]:
        """Settings of the task's own; other values become part of the system's name."""
        ...

    @property
    def delivery(self) -> Mapping[str, str]:
        """Parameters that change how things are shown, and not what: part of the system's name too."""
        ...

    @property
    def arms(self) -> Sequence[str]:
        """The arms of each question."""
        ...

    @property
    def counted(self) -> str:
        """What takes a prompt token at least, in words."""
        ...

    @property
    def identity(self) -> dict[str, object]:
        """What must be equal for two logs to have asked about the same data."""
        ...

    @property
    def recorded(self) -> dict[str, object]:
        """What a log keeps of the plan; its values are JSON."""
        ...

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        ...

    def askings(self) -> Iterator[Asking]:
        """Yield every sample, one episode after the other."""
        ...

    def different(self, asking: Any, metadata: Mapping[str, Any]) -> str | None:
        """Say how the data that a sample was made of differ from this plan's, or None."""
        ...

    def check_price(self, pricer: Pricer) -> None:
        """Raise `InputError` where answers cannot be priced."""
        ...

    def price(self, pricer: Pricer, asking: Any, tokens_in: int | None) -> Priced | None:
        """Price an answer; None where the server tells too little."""
        ...

    def notes(self) -> list[str]:
        """Say what could not be asked, once all samples have been seen."""
        ...
