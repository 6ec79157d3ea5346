"""The review of a build under way: what waits for it goes out to reviewers, and their decisions come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memgauge.errors import InputError
from memgauge.histories.building.config import config_from
from memgauge.histories.building.photographs import ledger, placed
from memgauge.histories.building.pictures.album import read_album
from memgauge.histories.building.pipeline import WORK, locked, read_config
from memgauge.histories.building.question import Place
from memgauge.histories.building.review import ROUNDS, Reviews
from memgauge.histories.building.review_items import (
    Imported,
    Item,
    import_decisions,
    item_of,
    read_decisions,
    to_csv,
)
from memgauge.histories.building.review_page import to_html
from memgauge.histories.building.room import write_named
from memgauge.histories.building.selection import Selection, select
from memgauge.histories.building.units import Header, read_body, read_header, rejected_header, unit_path

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def export_round(
    folder: Path, out: Path, *, round_: int | None, page: bool, reviewers: Sequence[str], overlap: float
) -> list[tuple[Path, int]]:
    """Write one file per reviewer with what waits for a round (by default the lowest that any item waits for).

    Returns the files with their numbers of items. Raises `InputError` when nothing waits.
    """
    for name in reviewers:
        if not _NAME.fullmatch(name):
            raise InputError(f"--assignees {name!r}: a name has up to 40 letters, digits and the signs _ . -")
    with locked(folder):
        reviews, selection = _state(folder)
        waiting = reviews.waiting(header for _, header in selection.accepted)
        if not waiting:
            raise InputError(f"{folder}: nothing waits for a review; `memgauge histories build --review` goes on")
        number = round_ or min(r for _, r in waiting)
        items = {name: item for name, item in _items(folder, selection, reviews).items() if item.round == number}
        if not items:
            raise InputError(f"{folder}: no item waits for round {number}")
        share = reviews.assign(list(items), number, reviewers, overlap)
        written = []
        for name, wanted in share.items():
            listed = [items[item] for item in wanted]
            if listed:
                path = out / f"round{number}-{name}.{'html' if page else 'csv'}"
                write_named(path, to_html(listed, folder / "images", name) if page else to_csv(listed))
                written.append((path, len(listed)))
        reviews.write(folder / WORK)
    return written


def import_file(folder: Path, file: Path, reviewer: str) -> tuple[Imported, float | None, int]:
    """Take in the decisions of one reviewer; returns what was taken, Cohen's kappa, and the pairs it rests on."""
    if not _NAME.fullmatch(reviewer):
        raise InputError(f"--reviewer {reviewer!r}: a name has up to 40 letters, digits and the signs _ . -")
    rows = read_decisions(file)
    with locked(folder):
        reviews, selection = _state(folder)
        imported = import_decisions(rows, reviewer, reviews, _items(folder, selection, reviews))
        reviews.write(folder / WORK)
    kappa, pairs = reviews.kappa()
    return imported, kappa, pairs


def review_status(folder: Path) -> dict[str, int | float | None]:
    """Return how many items wait for each round, have passed, are out, or have to be built again, and the agreement."""
    reviews, selection = _state(folder)
    waiting = Counter(r for _, r in reviews.waiting(header for _, header in selection.accepted))
    kappa, pairs = reviews.kappa()
    return {
        **{f"round {r}": waiting[r] for r in ROUNDS},
        "passed": sum(reviews.states[header.question_id].passed for _, header in selection.accepted),
        "out": len(reviews.rejected),
        "to be built": sum(selection.short.values()),
        "decisions": len(reviews.decisions),
        "seen twice": pairs,
        "kappa": kappa,
    }


def _state(folder: Path) -> tuple[Reviews, Selection]:
    """Return the decisions, and the selection as far as its candidates have been built."""
    fields = read_config(folder)
    config = config_from(fields)
    if not config.review:
        raise InputError(f"{folder}: was begun without --review")
    reviews = Reviews.read(folder / WORK)
    units = folder / WORK / "units"

    def existing(places: Sequence[Place]) -> list[Header]:
        headers = []
        for place in places:
            path = unit_path(units, place.question_id(config.seed), place.revision)
            named = place.question_id(config.seed), place.line.name, place.index, place.revision
            headers.append(read_header(path) if path.exists() else rejected_header(named, "missing: not built yet"))
        return headers

    given = None
    if "images" in fields:
        given = ledger(read_album(folder / WORK), config.seed, fields["images"]["reuse"])
    selection = select(
        config.quota(),
        existing,
        reviewed=reviews.rejected,
        revisions=reviews.revisions,
        question_id=lambda place: place.question_id(config.seed),
        ledger=given,
    )
    return reviews, selection


def _items(folder: Path, selection: Selection, reviews: Reviews) -> dict[str, Item]:
    """Return what waits, as the round of each item shows it."""
    rounds = dict(reviews.waiting(header for _, header in selection.accepted))
    items = {}
    for place, header in selection.accepted:
        if header.question_id in rounds:
            body = read_body(unit_path(folder / WORK / "units", header.question_id, place.revision))
            if selection.ledger is not None:
                body = placed(body, selection.ledger.given[header.question_id])
            wording = reviews.states[header.question_id].question
            items[header.question_id] = item_of(body, rounds[header.question_id], wording)
    return items
