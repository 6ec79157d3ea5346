"""What a build is asked for, and the lines of its quota that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.accounting import Accounting, Length, from_manifest
from memgauge.histories.building.filler_pool import public_name
from memgauge.histories.building.model import BUILDERS
from memgauge.histories.building.pictures.options import PhotoOptions
from memgauge.histories.building.profiles import (
    PAPER_COUNTS,
    REFUSAL,
    largest_remainder,
    profile_named,
    question_counts,
    refusal_builders,
)
from memgauge.histories.building.topics import ontology_of

FORMAT = "memgauge-histories"
FORMAT_VERSION = 2
"""Raised whenever the same options give other files."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the quota: so many questions of one kind."""

    name: str
    """A builder; `ar` for refusals; `<builder>.told` where the text suffices."""
    quota: int
    told: bool = False

    @property
    def refusal(self) -> bool:
        """Whether the evidence of its questions is dropped."""
        return self.name == REFUSAL

    def builder(self, index: int) -> str:
        """Return the builder of question `index` of this line."""
        return refusal_builders(128 * (index // 128 + 1))[index] if self.refusal else self.name.removesuffix(".told")


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """Everything that the files of a build follow from. Numbers of processes and the like are no part of it."""

    profile: str = "quick"
    seed: int = 0
    questions: int = 40
    lengths: tuple[str, ...] = ("32k", "64k")
    accounting: Accounting = field(default_factory=Accounting)
    text_profile: str = "compact"
    captions: str = "coarse"
    writer: str = "procedural"
    fillers: str = "procedural"
    """Where text-only sessions come from: `procedural` or `FORM:FILE`."""
    ontology: str = ""
    """File of an ontology of one's own."""
    review: bool = False
    """Candidates go through three rounds of review before they are exported."""
    images: PhotoOptions | None = None
    """Where photographs come from; None if all pictures are drawn."""

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON values: hashes for files, no path, and no host of an endpoint."""
        fields = {
            "profile": self.profile,
            "seed": self.seed,
            "questions": self.questions,
            "lengths": list(self.lengths),
            "accounting": self.accounting.to_dict(),
            "text_profile": self.text_profile,
            "captions": self.captions,
            "writer": public_writer(self.writer),
            "fillers": public_name(self.fillers),
            "ontology": ontology_of(self.ontology).fingerprint(),
            "review": self.review,
        }
        return fields if self.images is None else {**fields, "images": self.images.to_dict()}

    @property
    def sizes(self) -> tuple[Length, ...]:
        """The lengths, ascending."""
        return tuple(sorted((self.accounting.length(name) for name in self.lengths), key=lambda length: length.budget))

    @property
    def second_carrier(self) -> float:
        """Probability that a session with pictures carries a second fact."""
        return profile_named(self.profile).second_carrier

    def quota(self) -> tuple[Line, ...]:
        """Return the lines of the quota, in the order of the paper's table."""
        profile = profile_named(self.profile)
        counts = question_counts(profile, self.questions)
        msr = {name: counts[name] for name in BUILDERS if name.startswith("msr_")}
        told = largest_remainder(round(profile.told * self.questions / profile.questions), msr)
        lines = []
        for name in PAPER_COUNTS:
            lines.append(Line(name, counts[name] - told.get(name, 0)))
            if told.get(name):
                lines.append(Line(f"{name}.told", told[name], told=True))
        return tuple(line for line in lines if line.quota)


def build_config(
    profile: str = "quick",
    *,
    seed: int = 0,
    questions: int | None = None,
    lengths: tuple[str, ...] = (),
    counter: str = "regex",
    picture: str | None = None,
    turn_tokens: int = 0,
    captions: str = "coarse",
    writer: str = "procedural",
    fillers: str = "procedural",
    ontology: str = "",
    review: bool = False,
    images: PhotoOptions | None = None,
) -> BuildConfig:
    """Fill in what a profile says and check the options. Raises `InputError` for what cannot be built."""
    base = profile_named(profile)
    if picture is not None and "rest" in (picture, base.picture) and picture != base.picture:
        raise InputError(f"the price of a picture is {base.picture} in the profile {profile}; leave --image-tokens out")
    if captions not in ("coarse", "rich"):
        raise InputError(f"--captions is coarse or rich, not {captions!r}")
    if not 0 <= seed < 2**63:
        raise InputError(f"--seed takes a whole number from 0 to 2^63 - 1, not {seed}")
    if not 0 <= turn_tokens <= 1000:
        raise InputError(f"--turn-tokens takes 0 to 1000, not {turn_tokens}")
    names = lengths or base.lengths
    if len(set(names)) != len(names):
        raise InputError(f"--lengths {','.join(names)}: a length stands there twice")
    if images is not None and (picture or base.picture) == "patch":
        raise InputError(
            "--image-tokens patch: photographs differ in size, and which one stands where is decided after the lengths "
            "are filled; use fixed:N with --images"
        )
    accounting = Accounting(counter, picture or base.picture, turn_tokens=turn_tokens)
    ordered = sorted((accounting.length(name) for name in names), key=lambda length: length.budget)
    config = BuildConfig(
        profile=profile,
        seed=seed,
        questions=base.questions if questions is None else questions,
        lengths=tuple(length.name for length in ordered),
        accounting=accounting,
        captions=captions,
        writer=writer,
        fillers=fillers,
        ontology=ontology,
        review=review,
        images=images,
    )
    config.quota()
    config.to_dict()  # reads the files that it names
    if writer != "procedural" and not writer.startswith("model:"):
        raise unknown_name("writer", writer, ["procedural", "model:name=MODEL,base_url=URL"])
    return config


_OPERATIONAL = ("base_url", "api_key_env", "timeout_s", "max_calls")


def public_writer(spec: str) -> str:
    """Return a writer's options without those that change no reply: endpoint, key, time-out, budget.

    >>> public_writer("model:name=m,base_url=http://localhost/v1,max_calls=9")
    'model:name=m'
    """
    kind, colon, options = spec.partition(":")
    kept = [part for part in options.split(",") if part.partition("=")[0] not in _OPERATIONAL]
    return kind + colon + ",".join(kept)


def config_from(fields: Mapping[str, Any]) -> BuildConfig:
    """Read what `BuildConfig.to_dict` wrote; other fields are left out, since sources cannot be opened again.

    Raises `InputError` for missing ones.
    """
    try:
        return BuildConfig(
            profile=fields["profile"],
            seed=fields["seed"],
            questions=fields["questions"],
            lengths=tuple(fields["lengths"]),
            accounting=from_manifest(fields["accounting"]),
            text_profile=fields["text_profile"],
            captions=fields["captions"],
            writer=fields["writer"],
            review=fields["review"],
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"the options of a build lack or misspell {error}") from error


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Name the options in which two configurations differ, with both values."""
    names = list(dict.fromkeys([*one, *other]))
    return [f"{n}: {one.get(n)!r} here, {other.get(n)!r} asked for" for n in names if one.get(n) != other.get(n)]
