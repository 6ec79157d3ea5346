"""How many questions of which kind a build makes (MEMLENS, table of question types; the finer split is ours)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.model import BUILDERS

REFUSAL = "ar"

PAPER_COUNTS: dict[str, int] = {
    "ie_disambiguation": 24,
    "ie_alignment": 24,
    "ie_counting": 24,
    "ie_spatial": 24,
    "ie_arithmetic": 24,
    "ie_chat": 42,
    "ie_app": 42,
    "ie_photo": 42,
    "msr_arithmetic": 50,
    "msr_counting": 46,
    "msr_entity": 47,
    "tr_duration": 91,
    "tr_order": 24,
    "tr_date_b": 27,
    "tr_date_c": 26,
    "tr_date_d": 26,
    "ku_update": 116,
    REFUSAL: 90,
}
"""789 questions; `ar` are refusals, spread over the builders like the others."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named size and manner of a build."""

    name: str
    questions: int
    lengths: tuple[str, ...]
    picture: str = "fixed:2000"
    second_carrier: float = 0.2
    """Probability that a session with pictures carries a second fact."""
    told: int = 0
    """Multi-session items whose text suffices (the paper has 65)."""
    least_refusals: int = 1


PROFILES: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile("quick", 40, ("32k", "64k"), least_refusals=2),
        Profile("full", 789, ("32k", "64k", "128k", "256k")),
        Profile("paper", 789, ("32k", "64k", "128k", "256k"), told=65),
        # 1.5 pictures a session: with fewer, 20 pictures do not go into 14 sessions.
        Profile("paper-counts", 789, ("32k", "64k", "128k", "256k"), picture="rest", second_carrier=0.5),
    )
}


def profile_named(name: str) -> Profile:
    """Return a profile. Raises `InputError` for an unknown name."""
    if name not in PROFILES:
        raise unknown_name("profile", name, PROFILES)
    return PROFILES[name]


def largest_remainder(total: int, shares: Mapping[str, int], least: Mapping[str, int] | None = None) -> dict[str, int]:
    """Split `total` in proportion to `shares` with whole numbers that add up; at least `least` each where that fits.

    Ties go to the name that comes first in `shares`.

    >>> largest_remainder(10, {"a": 2, "b": 1, "c": 1})
    {'a': 5, 'b': 3, 'c': 2}
    """
    whole = sum(shares.values())
    if whole == 0:
        if total:
            raise ValueError("nothing to share out to")
        return dict.fromkeys(shares, 0)
    exact = {name: Fraction(total * share, whole) for name, share in shares.items()}
    counts = {name: int(value) for name, value in exact.items()}
    order = sorted(shares, key=lambda name: counts[name] - exact[name])
    for name in order[: total - sum(counts.values())]:
        counts[name] += 1
    floor = least or {}
    if sum(floor.values()) <= total:
        for name in sorted(floor, key=lambda n: floor[n] - counts[n], reverse=True):
            while counts[name] < floor[name]:
                # Taken from the name that lies furthest above its exact share and above its own least number.
                spare = [n for n in shares if counts[n] > floor.get(n, 0)]
                giver = max(spare, key=lambda n: counts[n] - exact[n])
                counts[giver] -= 1
                counts[name] += 1
    return counts


def question_counts(profile: Profile, questions: int | None = None) -> dict[str, int]:
    """Return how many questions of each builder, and refusals (`ar`), a build makes.

    789 gives the paper's table exactly; other sizes keep its proportions, with every builder at least once when the
    size allows.
    """
    size = profile.questions if questions is None else questions
    if size < 1:
        raise InputError(f"--n takes at least one question, not {size}")
    least = {name: profile.least_refusals if name == REFUSAL else 1 for name in PAPER_COUNTS}
    return largest_remainder(size, PAPER_COUNTS, least)


@cache
def refusal_builders(refusals: int) -> tuple[str, ...]:
    """Return the builder of each refusal, in proportion to the answerable questions.

    The list for a smaller number is the start of the one for a larger number.

    >>> refusal_builders(3)
    ('ku_update', 'tr_duration', 'msr_arithmetic')
    """
    shares = {name: PAPER_COUNTS[name] for name in BUILDERS}
    whole = sum(shares.values())
    given = dict.fromkeys(shares, 0)
    names = []
    for made in range(1, refusals + 1):
        # The builder that lies furthest behind its share goes next.
        name = max(shares, key=lambda n: Fraction(shares[n] * made, whole) - given[n])
        given[name] += 1
        names.append(name)
    return tuple(names)
