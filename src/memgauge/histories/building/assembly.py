"""Length assembly: which sessions each length holds (MEMLENS, C.8, history assembly).

The lengths are built from the smallest up, each from the one before, so that they are nested. Sessions with pictures
are chosen first, by their numbers of pictures alone; the text budget that remains is filled with text-only sessions,
the last of which is cut after a whole exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memgauge.histories.building.accounting import Length


class InfeasibleError(Exception):
    """A history of these parts cannot be assembled; `reason` is a short code for the count of rejections."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Filler:
    """The size of a text-only session."""

    slot: int
    tokens: tuple[int, ...]
    """tokens[i]: of the session cut after exchange i, overheads included; the last is the whole session."""


@dataclass(frozen=True, slots=True)
class Member:
    """What one length holds."""

    pictured: tuple[int, ...]
    """Slots of the sessions with pictures, ascending."""
    fillers: tuple[int, ...]
    """Slots of the fillers, ascending; the cut one among them."""
    cut: tuple[int, int] | None
    """Slot of the filler that is cut and the exchanges that remain."""
    text: int
    """Text tokens."""
    pictures: int
    """Tokens of the pictures; for the paper's counts what the text leaves."""


def choose_pictured(
    required: Sequence[int],
    groups: Sequence[Sequence[int]],
    pictures: Mapping[int, int],
    lengths: Sequence[Length],
) -> dict[str, tuple[int, ...]]:
    """Choose the sessions with pictures of each length, smallest first, so that its number of pictures is met exactly.

    Parameters
    ----------
    required : slots of the evidence and contrast sessions, in every length.
    groups : slots of the decoy blueprints, in the order in which they are taken; a group comes whole, except that at
        the end single sessions of the first groups that fit make up the number.
    pictures : number of pictures of each slot.
    lengths : ascending.

    Raises `InfeasibleError` with `required_pictures` when the required sessions hold too many, `decoys` when the groups
    cannot make up the number.
    """
    inside = set(required)
    count = sum(pictures[slot] for slot in inside)
    chosen = {}
    for length in lengths:
        if count > length.pictures:
            raise InfeasibleError("required_pictures")
        for group in groups:
            # Only what is not in yet: after a broken chain a part of the group already is.
            new = [slot for slot in group if slot not in inside]
            more = sum(pictures[slot] for slot in new)
            if new and count + more <= length.pictures:
                inside.update(new)
                count += more
        for group in groups:
            for slot in group:
                if slot not in inside and count + pictures[slot] <= length.pictures:
                    inside.add(slot)
                    count += pictures[slot]
        if count != length.pictures:
            raise InfeasibleError("decoys")
        chosen[length.name] = tuple(sorted(inside))
    return chosen


def fill(
    chosen: Mapping[str, Sequence[int]],
    text: Mapping[int, int],
    price: Mapping[int, int],
    lengths: Sequence[Length],
    filler: Callable[[int], Filler | None],
) -> dict[str, Member]:
    """Fill the text budget of each length, smallest first.

    Parameters
    ----------
    chosen : what `choose_pictured` returned.
    text, price : text tokens, and tokens of the pictures, of each slot with pictures.
    filler : the i-th text-only session in the order in which they are taken, None past the last; asked for in order
        and only as far as needed.

    Fillers are added whole while they fit; the first that does not is cut after the last exchange that fits, and ends
    the length. A length with a number of sessions (the paper's counts) takes whole fillers up to that number.

    Raises `InfeasibleError` with `text` when the sessions with pictures alone pass the budget, `fillers` when there are
    too few, `nesting` when a filler of a smaller length does not fit into a larger one.
    """
    members: dict[str, Member] = {}
    made: list[Filler] = []

    def nth(index: int) -> Filler:
        while len(made) <= index:
            found = filler(len(made))
            if found is None:
                raise InfeasibleError("fillers")
            made.append(found)
        return made[index]

    least = 0
    for length in lengths:
        slots = chosen[length.name]
        used = sum(text[slot] for slot in slots)
        pictures = sum(price[slot] for slot in slots)
        if length.sessions is not None:
            taken = [nth(i) for i in range(max(least, length.sessions - len(slots)))]
            used += sum(f.tokens[-1] for f in taken)
            if used >= length.budget:
                raise InfeasibleError("text")
            fillers, cut, pictures = [f.slot for f in taken], None, length.budget - used
        else:
            room = length.budget - pictures - used
            if room < 0:
                raise InfeasibleError("text")
            fillers, cut, spent = _fit(room, nth)
            used += spent
        if len(fillers) < least:
            raise InfeasibleError("nesting")
        least = len(fillers)
        members[length.name] = Member(tuple(slots), tuple(sorted(fillers)), cut, used, pictures)
    return members


def _fit(room: int, nth: Callable[[int], Filler]) -> tuple[list[int], tuple[int, int] | None, int]:
    """Return the slots of the fillers that fit, the cut one, and the tokens used."""
    fillers: list[int] = []
    left = room
    # A filler has at least an exchange, and none is shorter than its overheads: this ends.
    while left > 0:
        this = nth(len(fillers))
        fits = sum(tokens <= left for tokens in this.tokens)
        if fits == 0:
            break
        fillers.append(this.slot)
        left -= this.tokens[fits - 1]
        if fits < len(this.tokens):
            return fillers, (this.slot, fits), room - left
    return fillers, None, room - left
