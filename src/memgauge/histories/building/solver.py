"""The answer of a question from structured truth alone: all facts of a history, what they mention, what they show.

Written independently of the builders: it reads the key and `ask` of a question, the mentions and the pictures' truth of
facts, and the dates of their sessions, never an answer, a role or `gold`. So it finds out when another fact of the
history answers, changes or contradicts a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from memgauge.histories.building.model import REFUSAL_GOLD, Blueprint, Fact
from memgauge.histories.building.pictures.entities import class_of

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_AGO = {"today": 0, "yesterday": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_AGO |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12}


@dataclass(frozen=True, slots=True)
class Placed:
    """A fact and the date of its session."""

    fact: Fact
    date: datetime

    @property
    def shown(self) -> Mapping[str, Any]:
        """What its picture shows."""
        return self.fact.images[0].truth

    @property
    def told(self) -> Mapping[str, Any]:
        """What its text states."""
        return self.fact.mentions


def solve(blueprint: Blueprint, history: Iterable[Placed]) -> str:
    """Return the answer that a history gives to a question, `REFUSAL_GOLD` if it gives none.

    Every fact of the history that has the question's key is taken, whatever its role.
    """
    refusal = blueprint.builder == "ar"
    builder = blueprint.mode if refusal else blueprint.builder
    mode = str(blueprint.gold["mode"]) if refusal else blueprint.mode
    facts = sorted((placed for placed in history if placed.fact.key == blueprint.key), key=lambda placed: placed.date)
    return oracle(builder, mode, blueprint.ask, facts) or REFUSAL_GOLD


def oracle(builder: str, mode: str, ask: Mapping[str, Any], facts: Sequence[Placed]) -> str | None:
    """Return the answer to what is asked from the facts of one key, by date; None if they do not say it."""
    return _SOLVERS[builder](facts, mode, ask) if facts else None


def _disambiguation(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return str(facts[0].told["table"][facts[0].shown["entity"]])


def _alignment(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return str(facts[0].shown[ask["corner"]])


def _on_shelf(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return str({item["entity"]: item["count"] for item in facts[0].shown["items"]}.get(ask["thing"], 0))


def _spatial(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    shown = facts[0].shown
    if mode == "map":
        at = {("ABCD".index(p["cell"][0]), int(p["cell"][1])): p["label"] for p in shown["places"]}
    else:
        at = {(i % 3, i // 3): name for i, name in enumerate(shown["cells"]) if name is not None}
    x, y = next(cell for cell, label in at.items() if label == ask["anchor"])
    dx, dy = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}[ask["relation"]]
    found = at.get((x + dx, y + dy))
    return found


def _price(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    shown = facts[0].shown
    rows = {row["item"]: row["cents"] for row in shown["rows"]} if mode == "menu" else {None: shown["cents"]}
    return _money(rows[ask.get("item")] * ask["times"])


def _chat(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    pattern = {"time": r"\b\d\d:\d\d\b", "code": r"(?<![\d$.])\d{4}(?![\d:])", "price": r"\$[\d,]+\.\d\d"}[mode]
    said = " ".join(message["text"] for message in facts[0].shown["messages"] if message["sender"] == "them")
    found = [match[0] for match in re.finditer(pattern, said)]
    return found[0] if len(found) == 1 else None


def _app(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    shown = facts[0].shown
    if mode == "weather":
        return str(shown["degrees"])
    values = {row["label"]: row["value"] for row in shown["rows" if mode == "rows" else "bars"]}
    return str(re.findall(r"\d+", str(values[ask["label"]]))[0])


def _photo(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    shown = facts[0].shown
    if mode == "scene":
        return str(shown[ask["part"]])
    if mode == "clock":
        return f"{(shown['hour'] + 11) % 12 + 1}:{shown['minute']:02d}"
    if mode == "notice":
        return str(re.findall(r"Room (\d+)", " ".join(shown["lines"]))[0])
    return str(shown["text"])


def _sum(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return _money(sum(f.told.get("cents") or f.shown.get("total_cents") or f.shown["cents"] for f in facts))


def _members(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return str(sum(class_of(f.shown["entity"]) == ask["class"] for f in facts))


def _alike(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    if mode == "kinds":
        return str(len({f.shown["entity"] for f in facts}))
    at = {f.told["place"]: f.shown["entity"] for f in facts}
    here, there = (at.get(place) for place in ask["places"])
    return None if here is None or there is None else "Yes" if here == there else "No"


def _duration(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    days = {}
    for f in facts:
        begin = f.date.date() if f.told["begins"] == "today" else date.fromisoformat(f.told["begins"])
        days[f.told["thing"]] = (_shown_day(f) - begin).days
    if any(option not in days for option in ask["options"]) or len(set(days.values())) < len(days):
        return None
    best = (max if ask["wants"] == "longer" else min)(ask["options"], key=lambda option: days[option])
    return "AB"[ask["options"].index(best)]


def _order(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    numbers = [ask["items"].index(f.shown["entity"]) + 1 for f in facts if f.shown["entity"] in ask["items"]]
    return "".join(f"({n})" for n in numbers) if sorted(numbers) == list(range(1, len(ask["items"]) + 1)) else None


def _shown_date(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return f"{_shown_day(facts[0]):%Y/%m/%d}"


def _said_date(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    found = [f for f in facts if f.shown["entity"] == ask["thing"]]
    if len(found) != 1:
        return None
    told = found[0].told
    day = date.fromisoformat(told["date"]) if "date" in told else named_day(told["when"], found[0].date.date())
    return f"{day:%Y/%m/%d}"


def _latest(facts: Sequence[Placed], mode: str, ask: Mapping[str, Any]) -> str | None:
    return str(facts[-1].shown["entity"])


def named_day(said: str, today: date) -> date:
    """Return the day that a relative expression means on the day `today`.

    >>> named_day("last Tuesday", date(2024, 5, 21))  # itself a Tuesday
    datetime.date(2024, 5, 14)
    """
    words = said.lower().split()
    if words[0] == "last":
        back = (today.weekday() - _WEEKDAYS.index(words[1])) % 7 or 7
    elif words[0] in ("earlier", "this"):
        back = 0
    elif words == ["the", "day", "before", "yesterday"]:
        back = 2
    else:
        back = 7 if words[0] == "a" else _AGO[words[0]]
    return today - timedelta(days=back)


def _shown_day(placed: Placed) -> date:
    """Return the date that a picture shows."""
    shown = placed.shown
    if "date" in shown:
        return date.fromisoformat(shown["date"])
    if "month" in shown:
        return date(shown["year"], shown["month"], shown["day"])
    month, day, year = re.findall(rf"({'|'.join(_MONTHS)}) (\d+), (\d+)", " ".join(shown["lines"]))[0]
    return date(int(year), _MONTHS.index(month) + 1, int(day))


def _money(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


_SOLVERS: dict[str, Callable[[Sequence[Placed], str, Mapping[str, Any]], str | None]] = {
    "ie_disambiguation": _disambiguation,
    "ie_alignment": _alignment,
    "ie_counting": _on_shelf,
    "ie_spatial": _spatial,
    "ie_arithmetic": _price,
    "ie_chat": _chat,
    "ie_app": _app,
    "ie_photo": _photo,
    "msr_arithmetic": _sum,
    "msr_counting": _members,
    "msr_entity": _alike,
    "tr_duration": _duration,
    "tr_order": _order,
    "tr_date_b": _shown_date,
    "tr_date_c": _said_date,
    "tr_date_d": _said_date,
    "ku_update": _latest,
}
