"""Look at one question of a run: its rows, and what was observed before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError, unknown_name
from memgauge.responses import load_responses
from memgauge.run import read_record
from memgauge.tasks import TASKS, StoredStreams, get_task

if TYPE_CHECKING:
    from memgauge.streams import StreamItem
    from memgauge.streams.video import VideoItem


def find_question(run: Path, question: str, system: str | None = None) -> list[list[dict[str, Any]]]:
    """Return the rows of `EPISODE/QUERY`, or of the one row whose key begins with `question`, question by question.

    Where a run has several tasks or kinds of negatives, one name stands for several questions, each with its own list.
    """
    import polars as pl

    rows = load_responses(run)
    if system is not None:
        names = rows["system"].unique().to_list()
        if system not in names:
            raise unknown_name("system", system, names)
        rows = rows.filter(pl.col("system") == system)
    episode, slash, query = question.rpartition("/")
    if slash:
        found = rows.filter((pl.col("episode") == episode) & (pl.col("query") == query))
        if not found.height and rows.filter(pl.col("episode") == episode).height:
            raise unknown_name(
                f"query of {episode}", query, rows.filter(pl.col("episode") == episode)["query"].to_list()
            )
        if not found.height:
            raise InputError(f"{run} has no episode {episode!r}; for example {_examples(rows)}")
    else:
        found = rows.filter(pl.col("key").str.starts_with(question))
        if found.height > 1:
            raise InputError(f"{found.height} rows have a key that begins with {question!r}; give more of it")
        if not found.height:
            raise InputError(f"{run} has no question {question!r}; for example {_examples(rows)}")
    parts = ["task", "split", "length", "negatives"]
    found = found.sort(*parts, "system", "arm", nulls_last=True)
    return [group.to_dicts() for _, group in found.group_by(parts, maintain_order=True)]


def _examples(rows: Any) -> str:
    """Name a few questions that there are."""
    some = rows.head(2)
    return " or ".join(f"{e}/{q}" for e, q in zip(some["episode"], some["query"], strict=True)) or "(it is empty)"


def seen_by(run: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Return the stream, the candidate and where it occurs, as far as the run's data can be had again.

    Where they cannot (an imported run, a dataset folder that has moved), the reason is returned under `stream`.
    """
    from memgauge.streams import StreamItem

    try:
        data = read_record(run).get("data", {})
        if row["task"] in CONVERSATIONS:
            from memgauge.histories.described import describe_question

            return describe_question(data, row)
        item = _item(data, row)
        return _stream(item, row) if isinstance(item, StreamItem) and row["task"] in SYMBOL_TASKS else _video(item, row)
    except InputError as error:
        return {"stream": f"not shown: {error}"}


SYMBOL_TASKS = tuple(task.name for task in TASKS.values() if task.kind in ("symbols", "text"))
CONVERSATIONS = tuple(task.name for task in TASKS.values() if task.kind == "session")


def _stream(item: StreamItem, row: dict[str, Any]) -> dict[str, Any]:
    """Describe a stream of symbols and one candidate."""
    stream = item.symbols.tobytes()
    candidate = next((q.candidate.tobytes() for q in item.queries if q.query_id == row["query"]), None)
    if candidate is None:
        raise InputError(f"{row['episode']} has no query {row['query']} any more")
    return {
        "candidate": ", ".join(map(str, candidate)),
        "occurs": _occurrences(stream, candidate, "symbol"),
        "lz_rate": round(item.lz_rate, 4),
        "stream": ", ".join(map(str, stream)),
    }


def _video(item: StreamItem | VideoItem, row: dict[str, Any]) -> dict[str, Any]:
    """Describe a video and one candidate clip as letters with their belts."""
    from memgauge.streams import StreamItem
    from memgauge.streams.video import make_video, pairs_of
    from memgauge.streams.video_frames import spell

    law = get_task(row["task"]).lane_law or "fixed"
    video = make_video(item, lane_law=law) if isinstance(item, StreamItem) else item
    query = next((q for q in video.queries if q.query_id == row["query"]), None)
    if query is None:
        raise InputError(f"{row['episode']} has no query {row['query']} any more")
    shown, asked = pairs_of(video.symbols, video.lanes), pairs_of(query.candidate, query.lanes)
    return {
        "candidate": spell(query.candidate, query.lanes),
        "occurs": _occurrences(shown, asked, "frame"),
        "stream": spell(video.symbols, video.lanes),
    }


def _occurrences(stream: bytes, candidate: bytes, unit: str) -> str:
    """Say how often and where a candidate occurs."""
    ends = [i + len(candidate) for i in range(len(stream)) if stream.startswith(candidate, i)]
    return f"{len(ends)} times" + (f", the last one ends at {unit} {ends[-1]} of {len(stream)}" if ends else "")


def _item(data: dict[str, Any], row: dict[str, Any]) -> StreamItem | VideoItem:
    """Make or read the stream, or the video, of a row again."""
    from memgauge.streams import StreamItem, make_item

    if data.get("identity", {}).get("made") and {"seed", "queries"} <= data.keys():
        index = row["episode"].rpartition("-")[2]
        if not index.isdecimal():
            raise InputError(f"{row['episode']} does not end in the number of a stream")
        matched = row["negatives"] == "matched"
        item = make_item(
            row["split"],
            row["length"],
            int(index),
            seed=data["seed"],
            queries=data["queries"],
            negatives="matched" if matched else "uniform",
        )
        if item.stream_id != row["episode"]:
            raise InputError(f"stream {index} is called {item.stream_id} now")
        return item
    if "folder" not in data:
        raise InputError("the run does not say what was observed")
    source = StoredStreams(Path(data["folder"]), (row["length"],), (row["split"],))
    for found in source.items():
        if row["episode"] == (found.stream_id if isinstance(found, StreamItem) else found.video_id):
            return found
    raise InputError(f"{data['folder']} has no stream {row['episode']}")
