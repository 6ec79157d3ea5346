"""The options of `memgauge run memlens`, as one group of parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from memgauge.histories.source import HistorySource


CONVERSATION = Group("Conversations (memlens)", sort_key=2)


def _flag(text: str) -> Parameter:
    return Parameter(group=CONVERSATION, negative="", help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class ConversationOptions:
    """What is shown of a conversation, which questions are asked, and how answers are graded."""

    oracle: Annotated[
        Literal["facts", "sessions"] | None,
        Parameter(
            group=CONVERSATION,
            help="Show only the turns that carry the evidence (facts), or only the sessions that hold it.",
        ),
    ] = None
    no_context: Annotated[bool, _flag("Ask without the conversation.")] = False
    text_only: Annotated[bool, _flag("Take pictures and their markers out.")] = False
    captions: Annotated[bool, _flag("Put each picture's caption in its place.")] = False
    label_images: Annotated[bool, _flag("Number the pictures: [Image 1], [Image 2], ...")] = False
    cot: Annotated[bool, _flag("Ask to reason before the answer.")] = False
    only: Annotated[
        str | None,
        Parameter(
            group=CONVERSATION,
            help="Abilities, subtypes or kinds of questions, comma-separated: IE, MSR_Counting, ie_chat, ...",
        ),
    ] = None
    subset: Annotated[
        str | None,
        Parameter(group=CONVERSATION, help="A file of question ids, or `agent` for the dataset's own subset."),
    ] = None
    images: Annotated[
        Path | None,
        Parameter(group=CONVERSATION, help="The image folder [images or release_images beside the data]."),
    ] = None
    grading: Annotated[
        Literal["strict", "official"] | None,
        Parameter(
            group=CONVERSATION,
            help="strict: rules, and a judge where they cannot decide. official: the paper's pipeline, a judge for all "
            "[strict].",
        ),
    ] = None
    judge: Annotated[
        str | None,
        Parameter(
            group=CONVERSATION,
            help="A model (model:name=...,base_url=...) that decides what rules cannot. Without one such answers stay "
            "pending, for `memgauge judge run`.",
        ),
    ] = None
    strict: Annotated[bool, _flag("Stop at the first faulty record instead of leaving it out.")] = False

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        names = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        return [f"--{name.replace('_', '-')}" for name in names]

    def source(self, data: Path | None, lengths: str | None, count: int | None, seed: int | None) -> HistorySource:
        """Return the histories that the options describe. Raises `InputError`."""
        from memgauge.cli.options import names
        from memgauge.errors import InputError
        from memgauge.histories.ablations import Ablation
        from memgauge.histories.source import HistorySource

        if data is None:
            raise InputError(
                "memlens needs histories: give --data FOLDER (`memgauge histories build --profile quick --out FOLDER`)"
            )
        return HistorySource(
            data,
            tuple(name.lower() for name in names("--lengths", lengths)),
            Ablation(self.oracle, self.no_context, self.text_only, self.captions, self.label_images, self.cot),
            mode=self.grading or "strict",
            only=names("--only", self.only),
            subset=self.subset,
            count=count,
            seed=seed or 0,
            images=self.images,
            strict=self.strict,
        )


def refuse_stream_options(given: dict[str, object]) -> None:
    """Refuse options of streams and videos for conversations. Raises `InputError`."""
    from memgauge.errors import InputError

    useless = [name for name, value in given.items() if value is not None]
    if useless:
        raise InputError(f"{', '.join(useless)}: memlens shows conversations, not streams; leave it out")


def refuse_conversation_options(options: ConversationOptions, task: str) -> None:
    """Refuse options of conversations for another task. Raises `InputError`."""
    from memgauge.errors import InputError

    if options.given:
        raise InputError(f"{', '.join(options.given)}: for the task memlens only, not for {task}; leave it out")
