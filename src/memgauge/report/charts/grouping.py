"""What is drawn together: rows of one task, one kind of negatives and one payoff arm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memgauge.report.page import Text
from memgauge.report.text import named, plain

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that may stand in one chart, and what they have in common."""

    task: str
    negatives: str | None
    arm: str
    subtype: str | None
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """What the rows have in common, in words."""
        parts = [named(self.task)]
        if self.negatives is not None:
            parts.append(f"{named(self.negatives)} negatives")
        if self.arm != "none":
            parts.append(f"arm {named(self.arm)}")
        if self.subtype is not None:
            parts.append(named(self.subtype))
        return ", ".join(parts)

    @property
    def slug(self) -> str:
        """The same, for a file name."""
        return "-".join(plain(part) for part in (self.task, self.negatives, self.arm, self.subtype) if part is not None)

    @property
    def lengths(self) -> list[int]:
        """The lengths that occur, shortest first."""
        return sorted({row["length"] for row in self.rows})

    @property
    def systems(self) -> list[str]:
        """The systems that occur."""
        return list(dict.fromkeys(row["system"] for row in self.rows))

    def at(self, lengths: Collection[int]) -> Group:
        """Return the group's rows of some lengths."""
        return replace(self, rows=tuple(row for row in self.rows if row["length"] in lengths))

    @property
    def two_sided(self) -> bool:
        """Whether the questions are balanced yes-no questions, where guessing is right half of the time."""
        return self.task.startswith("ecc-")


def groups(rows: Sequence[Row], limit: int) -> tuple[list[Group], list[Group]]:
    """Return the groups to draw, the paper's protocol first (no arm, uniform negatives), and those beyond `limit`.

    Where a task was asked without a payoff, the arms are left to the charts that compare them: accuracy counts an
    abstention as wrong, which is not what a payoff asks for.
    """
    plain_tasks = {row["task"] for row in rows if row.get("arm") in (None, "none")}
    found: dict[tuple[str, str | None, str, str | None], list[Row]] = {}
    for row in rows:
        if row["task"] in plain_tasks and row.get("arm") in ("A", "B"):
            continue
        found.setdefault((row["task"], row.get("negatives"), row.get("arm") or "none", row.get("subtype")), []).append(
            row
        )
    made = [Group(*key, tuple(members)) for key, members in found.items()]
    made.sort(
        key=lambda group: (
            group.arm != "none",
            group.negatives not in ("uniform", None),
            group.subtype is not None,
            -len(group.rows),
        )
    )
    return made[:limit], made[limit:]


def widest(calibration: Sequence[Row], of: Sequence[str] = ()) -> list[Row]:
    """Return of each system the lines of the payoff arms that pool most, as the paper's Table 10 does.

    With `of`, of each system and these columns.
    """
    order = {"none": 0, "splits": 1, "all": 2}
    best: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(calibration, key=lambda row: order[row["pooled"]]):
        own = (str(row[name]) for name in of)
        same = best.setdefault((row["system"], row["task"], row["negatives"], row["subtype"], *own), [])
        if same and same[0]["pooled"] != row["pooled"]:
            same.clear()
        same.append(row)
    return [row for rows in best.values() for row in rows]


def by_protocol(calibration: Sequence[Row]) -> dict[str, list[Row]]:
    """Return lines of the payoff arms by task, negatives and subtype, under a title that says these."""
    found: dict[str, list[Row]] = {}
    for row in sorted(calibration, key=lambda row: row["negatives"] not in ("uniform", None)):
        parts = [row["task"], f"{row['negatives']} negatives" if row["negatives"] else None, row["subtype"]]
        found.setdefault(", ".join(named(part) for part in parts if part), []).append(row)
    return found


def left_out(names: Sequence[str]) -> list[Text]:
    """Say which groups were not drawn."""
    if not names:
        return []
    return [Text(f"Not drawn, to keep the page readable: {'; '.join(names)}. The tables hold their numbers.")]
