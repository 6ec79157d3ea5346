"""Look at one question of a run: its rows, and what was observed before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memgauge.errors import InputError, unknown_name
from memgauge.responses import load_responses
from memgauge.run import read_record


def find_question(run: Path, question: str, system: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of `EPISODE/QUERY`, or of the one row whose key begins with `question`."""
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
    return found.sort("negatives", "system", "arm", nulls_last=True).to_dicts()


def _examples(rows: Any) -> str:
    """Name a few questions that there are."""
    some = rows.head(2)
    return " or ".join(f"{e}/{q}" for e, q in zip(some["episode"], some["query"], strict=True)) or "(it is empty)"


def seen_by(run: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Return the stream, the candidate and where it occurs, as far as the run's data can be had again.

    Where they cannot (an imported run, a dataset folder that has moved), the reason is returned under `stream`.
    """
    try:
        data = read_record(run).get("data", {})
        item = _item(data, row)
    except InputError as error:
        return {"stream": f"not shown: {error}"}
    stream = item.symbols.tobytes()
    candidate = next((q.candidate.tobytes() for q in item.queries if q.query_id == row["query"]), None)
    if candidate is None:
        return {"stream": f"not shown: {row['episode']} has no query {row['query']} any more"}
    ends = [i + len(candidate) for i in range(len(stream)) if stream.startswith(candidate, i)]
    return {
        "candidate": ", ".join(map(str, candidate)),
        "occurs": f"{len(ends)} times" + (f", the last one ends at symbol {ends[-1]} of {len(stream)}" if ends else ""),
        "lz_rate": round(item.lz_rate, 4),
        "stream": ", ".join(map(str, stream)),
    }


def _item(data: dict[str, Any], row: dict[str, Any]) -> Any:
    """Make or read the stream of a row again."""
    from memgauge.streams import make_item, read_dataset

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
    for item in read_dataset(Path(data["folder"]), lengths=(row["length"],), bands=(row["split"],)):
        if item.stream_id == row["episode"]:
            return item
    raise InputError(f"{data['folder']} has no stream {row['episode']}")
