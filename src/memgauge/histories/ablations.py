"""What of a conversation a system is shown: all of it, or one of the ablations; the arm of a run.

Every ablation works on what is observed, so that it holds for any system, not only for models behind an endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memgauge.errors import InputError
from memgauge.histories.records import MARKER, RecordTurn
from memgauge.prompts.memlens import picture_label

Oracle = Literal["facts", "sessions"]


@dataclass(frozen=True, slots=True)
class Ablation:
    """A combination of options; without any, the paper's main setting.

    >>> Ablation(oracle="sessions", text_only=True).arm, Ablation().arm
    ('oracle-sessions+text-only', 'none')
    """

    oracle: Oracle | None = None
    """`facts`: only the turns that carry the evidence, with their pictures (MEMLENS, Table 3). `sessions`: only the
    sessions that hold it (G.7)."""
    no_context: bool = False
    """The question alone."""
    text_only: bool = False
    """No pictures and no captions: markers are taken out."""
    captions: bool = False
    """Each marker is replaced by the picture's caption."""
    label_images: bool = False
    """Pictures are numbered: `[Image 1]` stands before each (extension)."""
    cot: bool = False
    """The system is asked to reason before it answers (extension)."""

    def __post_init__(self) -> None:
        given = {
            "--oracle": self.oracle is not None,
            "--no-context": self.no_context,
            "--text-only": self.text_only,
            "--captions": self.captions,
            "--label-images": self.label_images,
        }
        excluded = (
            ("--no-context", "--oracle"),
            ("--no-context", "--text-only"),
            ("--no-context", "--captions"),
            ("--no-context", "--label-images"),
            ("--text-only", "--captions"),
            ("--text-only", "--label-images"),
            ("--captions", "--label-images"),
        )
        for first, second in excluded:
            if given[first] and given[second]:
                raise InputError(f"{first} and {second} exclude each other; give one of them")

    @property
    def arm(self) -> str:
        """The value of the `arm` column: the options in a fixed order, or `none`."""
        parts = [f"oracle-{self.oracle}"] if self.oracle is not None else []
        for name in ("no_context", "text_only", "captions", "label_images", "cot"):
            if getattr(self, name):
                parts.append(name.replace("_", "-"))
        return "+".join(parts) or "none"

    @property
    def shows_pictures(self) -> bool:
        """Whether pictures are shown at all."""
        return not (self.no_context or self.text_only or self.captions)

    def content(self, turn: RecordTurn, shown: int) -> str:
        """Return a turn's text; `shown` pictures came before it in the conversation."""
        if self.text_only:
            return without_markers(turn.content)
        parts = turn.content.split(MARKER)
        if self.captions:
            fillers = [image.caption for image in turn.images]
        elif self.label_images:
            fillers = [f"{picture_label(shown + number)} {MARKER}" for number in range(1, len(turn.images) + 1)]
        else:
            return turn.content
        return "".join(part + filler for part, filler in zip(parts, [*fillers, ""], strict=True))


def without_markers(content: str) -> str:
    """Return a text without its markers: what they leave behind has no doubled blanks and no empty lines at the end.

    >>> without_markers("We met by this house <image> at noon.")
    'We met by this house at noon.'
    """
    parts = content.split(MARKER)
    return " ".join(part.strip(" ") for part in parts if part.strip(" ")).rstrip() if len(parts) > 1 else content
