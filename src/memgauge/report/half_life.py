"""Pages of the memory half-life: one video, ready-made pairs, a run's forgetting curves, and a batch of videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memgauge.errors import InputError
from memgauge.files import write_whole
from memgauge.metrics.half_life import HalfLifeResult, Verdict, fit_half_life
from memgauge.metrics.half_life_document import WARNINGS, lines
from memgauge.metrics.half_life_responses import GroupFit
from memgauge.report.half_life_charts import bins_chart, models_chart, pairs_chart
from memgauge.report.half_life_pictures import Thumbnails, contact_sheet, preview, thumbnails_of
from memgauge.report.page import Block, Cell, Fold, Note, Pictures, Section, Table, Text, render_page
from memgauge.report.text import NONE, plain
from memgauge.rollouts.measure import Rollout

CAVEAT = (
    "This is an exploratory exponential fit of fidelity against time gap, not a validated measurement of how long a "
    "model remembers: a larger value is no proof of a longer memory, and neighbouring pairs are not independent."
)
SHAPE = (
    "One exponential is fitted to scores by the age of the evidence, whatever the true shape of the decline: look at "
    "the age bins before the number."
)
MOST_VIDEOS = 2000
SHOWN_PAIRS = 6


def write_pairs_report(path: Path, title: str, result: HalfLifeResult, gaps: ArrayLike, fidelities: ArrayLike) -> None:
    """Write the page of ready-made pairs."""
    blocks: list[Block] = [_verdict(result)]
    if result.fit is not None:
        blocks.insert(0, pairs_chart(result, gaps, fidelities))
    _write(path, f"Memory half-life of {title}", [Section("Fit", blocks)])


def write_responses_report(path: Path, title: str, groups: Sequence[GroupFit]) -> None:
    """Write the page of a run's forgetting curves, one section a group."""
    sections = []
    for number, group in enumerate(groups):
        blocks: list[Block] = [_verdict(group.result)]
        if group.result.extra.get("bins"):
            blocks.insert(0, bins_chart(group.result, f"forgetting-{number}"))
        sections.append(Section(" / ".join(str(value) for value in group.key.values()), blocks))
    _write(path, f"Forgetting curves of {title}", sections, lead=SHAPE)


def write_video_report(path: Path, rollout: Rollout, thumbnails: Thumbnails) -> None:
    """Write the page of one video: verdict, chart of the pairs, and their contact sheet."""
    document = rollout.to_dict()
    usable = [pair for pair in document["pairs"] if pair["fidelity"] is not None]
    blocks: list[Block] = [Note(WARNINGS.get(warning, warning)) for warning in document["warnings"]]
    if rollout.result.fit is not None:
        gaps, scores = [pair["gap_seconds"] for pair in usable], [pair["fidelity"] for pair in usable]
        blocks.append(pairs_chart(rollout.result, gaps, scores, floor=rollout.chance_floor))
    blocks.append(_verdict(rollout.result))
    sections = [Section("Fit", blocks), Section("What was measured", [_facts(document)])]
    if document["pairs"]:
        sheet = contact_sheet(document["pairs"], thumbnails.found)
        text = Text("Left the first sight of a view, right the revisit, by gap.")
        sections.append(
            Section("Revisit pairs", [text, sheet, Fold("All numbers of the pairs", [_pairs_table(document)])])
        )
    _write(path, f"Memory half-life of {rollout.video.name}", sections)


def write_batch_report(path: Path, records: Sequence[Mapping[str, Any]], board: Mapping[str, Any]) -> None:
    """Write the page of a batch: leaderboard, comparisons, one case across models, and every video."""
    sections = [Section("Leaderboard", _leaderboard(board))]
    if board["comparisons"]:
        sections.append(Section("Paired comparisons", [_comparisons(board)]))
    duel = _duel(records)
    if duel:
        sections.append(Section("Best and worst, side by side", duel))
    sections.append(Section("Videos", [_videos(records)]))
    embedders = ", ".join(board["embedders"]) or "none"
    _write(path, "Memory half-life of a batch of videos", sections, f"{len(records)} videos; embedder {embedders}")


def _write(path: Path, title: str, sections: Sequence[Section], subtitle: str = "", lead: str = CAVEAT) -> None:
    try:
        write_whole(path, render_page(plain(title), sections, lead=lead, subtitle=subtitle))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _verdict(result: HalfLifeResult) -> Table:
    return Table(["memory half-life", ""], lines(result))


def _facts(document: Mapping[str, Any]) -> Table:
    names = (
        "embedder", "memory_revisit_fidelity", "chance_floor", "fidelity_pose_correlation", "frame_count", "fps",
        "gap_source",
        "pose_source", "pose_format", "pose_convention", "pose_count", "revisit_pair_count", "revisit_event_count",
        "translation_extent", "rotation_extent_degrees", "scale_is_degenerate", "departure_distance",
        "turnaround_index",
    )  # fmt: skip
    return Table(["", "value"], [[name.replace("_", " "), _cell(document.get(name))] for name in names])


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _pairs_table(document: Mapping[str, Any]) -> Table:
    names = (
        "gap_seconds",
        "first_frame",
        "revisit_frame",
        "fidelity",
        "similarity",
        "ssim",
        "pose_distance",
        "excursion",
        "event",
    )
    rows = [[_sorted_cell(pair[name]) for name in names] for pair in document["pairs"]]
    return Table([name.replace("_", " ") for name in names], rows)


def _sorted_cell(value: Any) -> Cell:
    return Cell(_cell(value), sort=float(value) if isinstance(value, int | float) else None)


def _estimate(estimate: Mapping[str, Any]) -> Cell:
    if estimate["value"] is None:
        return Cell(NONE, title=estimate.get("note"))
    ends = "" if estimate["low"] is None else f"{estimate['low']:.3f} to {estimate['high']:.3f}"
    return Cell(f"{estimate['value']:.3f}", detail=ends, sort=estimate["value"], title=f"n = {estimate['n']}")


def _leaderboard(board: Mapping[str, Any]) -> list[Block]:
    rows = []
    for model in board["models"]:
        refused = "; ".join(f"{count} {reason}" for reason, count in model["refused"].items()) or "none"
        half = model["half_life_seconds_median"]
        rows.append(
            [
                model["model"],
                _sorted_cell(model["videos"]),
                _sorted_cell(model["ok"]),
                _estimate(model["raw"]),
                Cell(NONE if half is None else f"{half:.3g} s", sort=half),
                _estimate(model["memory_revisit_fidelity"]),
                _sorted_cell(model["errors"]),
                refused,
            ]
        )
    columns = ["model", "videos", "ok", "raw", "median half-life", "revisit fidelity", "errors", "refused, by reason"]
    caption = (
        "`raw` and the half-life are over the videos that the gate lets pass; revisit fidelity is over every video "
        "with a revisit pair. Intervals are 95 % over videos."
    )
    blocks: list[Block] = [Table(columns, rows, caption, wordy=1)]
    for metric, title in (("raw", "raw score"), ("memory_revisit_fidelity", "revisit fidelity")):
        chart = models_chart(board["models"], metric, title)
        if chart:
            blocks.append(chart)
    return blocks


def _comparisons(board: Mapping[str, Any]) -> Table:
    rows = [
        [
            f"{pair['model_a']} - {pair['model_b']}",
            pair["metric"].replace("_", " "),
            *(_sorted_cell(pair[name]) for name in ("cases", "difference", "p", "p_holm")),
        ]
        for pair in board["comparisons"]
    ]
    caption = "Mean difference over the cases that both models have; sign-flip test, corrected by Holm within a metric."
    return Table(["models", "metric", "cases", "difference", "p", "p (Holm)"], rows, caption, headings=2)


def _standing(record: Mapping[str, Any]) -> tuple[int, float]:
    """Rank a record: videos with a score by it, before those with a fidelity only, by that."""
    if record["status"] == "ok" and record["raw"] is not None:
        return 1, float(record["raw"])
    return 0, float(record["memory_revisit_fidelity"])


def _duel(records: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Return the case whose models lie farthest apart, its best and worst video side by side.

    With one model only, its best and its worst case.
    """
    measured = [record for record in records if record.get("memory_revisit_fidelity") is not None]
    cases: dict[str, list[Mapping[str, Any]]] = {}
    for record in measured:
        cases.setdefault(record["case"], []).append(record)
    shared = [group for group in cases.values() if len(group) > 1]

    def spread(group: Sequence[Mapping[str, Any]]) -> tuple[bool, float]:
        ranks = [_standing(record) for record in group]
        alike = min(ranks)[0] == max(ranks)[0]
        fidelities = [record["memory_revisit_fidelity"] for record in group]
        return alike, max(ranks)[1] - min(ranks)[1] if alike else max(fidelities) - min(fidelities)

    if shared:
        group = max(shared, key=lambda group: (*spread(group), group[0]["case"]))
        text = f"The case `{group[0]['case']}`, where the models lie farthest apart."
    elif len(measured) > 1:
        group = measured
        text = "The best and the worst video of the batch (no case was shown by two models)."
    else:
        return []
    ordered = sorted(group, key=_standing, reverse=True)
    best, worst = ordered[0], ordered[-1]
    previews = [_preview(record, word) for record, word in ((best, "higher"), (worst, "lower"))]
    blocks: list[Block] = [Text(text)]
    if shared:
        blocks.append(_videos(ordered))
    blocks.append(Pictures([picture for picture in previews if picture is not None], width=420))
    for record, word in ((best, "Higher"), (worst, "Lower")):
        blocks += _evidence(record, f"{word}: {record['model']}, {record['case']}")
    return blocks


def _score(record: Mapping[str, Any]) -> str:
    if record["status"] == "ok" and record["raw"] is not None:
        return f"raw {record['raw']:.4f}, half-life {record['half_life_seconds']:.3g} s"
    return f"no half-life ({record['reason']}), revisit fidelity {record['memory_revisit_fidelity']:.3f}"


def _preview(record: Mapping[str, Any], word: str) -> Any:
    caption = f"The {word} score, {record['model']}: {_score(record)}"
    try:
        return preview(Path(record["video"]), f"Moving preview of {record['video']}", caption)
    except InputError:
        return None  # measured in an earlier run and no longer there: the numbers stand without it


def _evidence(record: Mapping[str, Any], title: str) -> list[Block]:
    pairs = [pair for pair in record["pairs"] if pair["fidelity"] is not None]
    blocks: list[Block] = []
    gaps, scores = [pair["gap_seconds"] for pair in pairs], [pair["fidelity"] for pair in pairs]
    result = fit_half_life(
        gaps, scores, bounds=record["bounds"], gate=record["gate"], permutations=0, t_ref=record["t_ref"]
    )
    # The verdicts are those of the measurement, its permutation test among them.
    gates = {name: Verdict(verdict["reason"]) for name, verdict in record["gates"].items()}
    result = replace(result, gates=gates)
    if result.fit is not None:
        chart = pairs_chart(result, gaps, scores, floor=record.get("chance_floor"), name=f"pairs-{title}")
        blocks.append(chart)
    few = sorted(pairs, key=lambda pair: float(pair["gap_seconds"]))
    few = [few[i] for i in np.unique(np.linspace(0, len(few) - 1, min(SHOWN_PAIRS, len(few))).round().astype(int))]
    try:
        frames = [frame for pair in few for frame in (pair["first_frame"], pair["revisit_frame"])]
        blocks.append(contact_sheet(few, thumbnails_of(Path(record["video"]), frames)))
    except InputError:
        blocks.append(Text("The video is no longer where it was measured."))
    return [Text(title), *blocks]


def _videos(records: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for record in records[:MOST_VIDEOS]:
        ends = record.get("interval_half_life_seconds") or (None, None)
        half = record.get("half_life_seconds")
        low, high = (NONE if end is None else f"{end:.3g}" for end in ends)
        rows.append(
            [
                record["model"],
                record["case"],
                Cell(
                    NONE if half is None else f"{half:.3g} s",
                    detail=f"{low} to {high}" if half is not None else "",
                    sort=half,
                ),
                _sorted_cell(record.get("raw")),
                _sorted_cell(record.get("memory_revisit_fidelity")),
                _sorted_cell(record.get("pair_count")),
                record["reason"] or "ok",
            ]
        )
    left = f" {len(records) - MOST_VIDEOS} more are in results.csv." if len(records) > MOST_VIDEOS else ""
    columns = ["model", "case", "half-life", "raw", "revisit fidelity", "pairs", "verdict"]
    return Table(columns, rows, f"A refused half-life says why.{left}", headings=2, wordy=1)
