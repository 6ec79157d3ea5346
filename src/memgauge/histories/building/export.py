"""Export: the splits, the gold sidecar, the subset and what describes them, streamed question by question.

No file says when, where or how fast it was made, so that the same options give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memgauge.files import file_sha256
from memgauge.histories.building.accounting import Length
from memgauge.histories.building.profiles import largest_remainder
from memgauge.histories.building.seeds import digest
from memgauge.histories.building.units import Body, record

if TYPE_CHECKING:
    import polars as pl

SUBSET_SHARE = 0.247
"""195 of 789."""
ROW_GROUP = 16
"""Questions of a Parquet row group: some 10 MB at 256K, so that readers need not hold a file."""


def dump(document: Any) -> str:
    """Return one line of JSON."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


@dataclass(slots=True)
class LengthFigures:
    """Sums over the questions of one length."""

    questions: int = 0
    sessions: int = 0
    fillers: int = 0
    pictures: Counter[int] = field(default_factory=Counter)
    text: int = 0
    picture_tokens: int = 0
    least_fill: float = 1.0
    most_fill: float = 0.0
    record_bytes: int = 0

    def add(self, figures: Mapping[str, Any], length: Length, size: int) -> None:
        """Add one question: its `meta["lengths"]` entry and the bytes of its record."""
        self.questions += 1
        self.sessions += figures["sessions"]
        self.fillers += figures["fillers"]
        self.pictures[figures["pictures"]] += 1
        self.text += figures["text_tokens"]
        self.picture_tokens += figures["picture_tokens"]
        fill = figures["tokens"] / length.budget
        self.least_fill, self.most_fill = min(self.least_fill, fill), max(self.most_fill, fill)
        self.record_bytes += size

    def to_dict(self, length: Length) -> dict[str, Any]:
        """Return means and extremes as JSON values."""
        pictures = sum(count * n for count, n in self.pictures.items())
        return {
            "budget": length.budget,
            "questions": self.questions,
            "sessions": round(self.sessions / self.questions, 3),
            "fillers": round(self.fillers / self.questions, 3),
            "pictures": {"mean": round(pictures / self.questions, 3), "each": sorted(self.pictures)},
            "text_per_picture": round(self.text / pictures, 2) if pictures else None,
            "tokens_per_picture": round(self.picture_tokens / pictures, 2) if pictures else None,
            "fill": {
                "least": round(self.least_fill, 5),
                "mean": round((self.text + self.picture_tokens) / (self.questions * length.budget), 5),
                "most": round(self.most_fill, 5),
            },
            "record_bytes": round(self.record_bytes / self.questions),
        }


def write_tables(
    folder: Path,
    bodies: Iterable[Body],
    lengths: Sequence[Length],
    *,
    array: bool,
    step: Callable[[], None],
) -> dict[str, LengthFigures]:
    """Write the tables of candidates (`write_records`)."""
    items = ((body["meta"], {length.name: record(body, length.name) for length in lengths}) for body in bodies)
    return write_records(folder, items, lengths, array=array, step=step)


def write_records(
    folder: Path,
    items: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
    lengths: Sequence[Length],
    *,
    array: bool,
    step: Callable[[], None],
) -> dict[str, LengthFigures]:
    """Write dataset_<length>.jsonl (and .json), and meta.jsonl, holding one question at a time.

    `items` yields the sidecar of a question and its record at each length. `step` is called after each question.
    Returns the figures of each length.
    """
    figures = {length.name: LengthFigures() for length in lengths}
    lines = {length.name: _open(folder / f"dataset_{length.name}.jsonl") for length in lengths}
    arrays = {length.name: _open(folder / f"dataset_{length.name}.json") for length in lengths if array}
    meta = _open(folder / "meta.jsonl")
    first = True
    try:
        for about, records in items:
            for length in lengths:
                text = dump(records[length.name])
                size = lines[length.name].write(text + "\n")
                figures[length.name].add(about["lengths"][length.name], length, size)
                if array:
                    arrays[length.name].write(("[\n" if first else ",\n") + text)
            meta.write(dump(about) + "\n")
            first = False
            step()
        for file in arrays.values():
            file.write("[]\n" if first else "\n]\n")
    finally:
        for file in (*lines.values(), *arrays.values(), meta):
            file.close()
    return figures


def _open(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def parquet_schema() -> pl.Schema:
    """Return the columns of the released Parquet files."""
    import polars as pl

    image = pl.Struct({"file": pl.String, "image_url": pl.String, "blip_caption": pl.String})
    turn = pl.Struct(
        {"role": pl.String, "content": pl.String, "images": pl.List(image), "has_answer": pl.Boolean},
    )
    texts = ("question_id", "question_type", "question", "answer", "question_date")
    columns: dict[str, pl.DataType] = dict.fromkeys(texts, pl.String())
    return pl.Schema(
        {
            **columns,
            "haystack_dates": pl.List(pl.String),
            "haystack_session_ids": pl.List(pl.String),
            "haystack_sessions": pl.List(pl.List(turn)),
            "answer_session_ids": pl.List(pl.String),
        }
    )


def write_parquet(lines: Path, out: Path) -> None:
    """Turn a JSONL split into the same records as Parquet, a row group at a time."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = parquet_schema()

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        # Only the sink below reads this source: it asks for all columns and all rows.
        with lines.open("rb") as file:
            while block := b"".join(line for _, line in zip(range(ROW_GROUP), file, strict=False)):
                yield pl.read_ndjson(io.BytesIO(block), schema=schema)

    frame = register_io_source(batches, schema=schema)
    frame.sink_parquet(out, compression="zstd", row_group_size=ROW_GROUP, maintain_order=True)


def subset(seed: int, questions: Sequence[tuple[str, str, str]], size: int | None = None) -> list[str]:
    """Choose the questions of the subset for agents: (id, type, subtype) of each question; returns ids, sorted.

    Largest remainder over the types, within them over the subtypes, and then the lowest hashes. A subtype is left out
    only where its type has fewer places than subtypes.

    >>> len(subset(0, [(f"q_{i}", "ie", "entity") for i in range(8)]))
    2
    """
    places = round(SUBSET_SHARE * len(questions)) if size is None else size
    if questions:
        places = min(max(places, 1), len(questions))
    types = Counter(kind for _, kind, _ in questions)
    chosen: list[str] = []
    for kind, count in largest_remainder(places, dict(sorted(types.items()))).items():
        subtypes = Counter(name for _, k, name in questions if k == kind)
        least = dict.fromkeys(subtypes, 1)
        for name, some in largest_remainder(count, dict(sorted(subtypes.items())), least).items():
            ids = [q for q, k, s in questions if (k, s) == (kind, name)]
            chosen += sorted(ids, key=lambda q: digest(seed, "subset", q))[:some]
    return sorted(chosen)


def prune_pictures(images: Path, wanted: set[str]) -> tuple[int, int]:
    """Remove the pictures that no exported question shows; returns number and bytes of the others."""
    count = size = 0
    for folder in sorted(images.iterdir()) if images.is_dir() else []:
        for path in folder.iterdir():
            if f"{folder.name}/{path.name}" in wanted:
                count += 1
                size += path.stat().st_size
            else:
                path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    return count, size


def names_hash(files: Iterable[str]) -> str:
    """Return the hash of the names of all pictures, each of which is the hash of its bytes."""
    return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()


def describe_files(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return hash and size of each file."""
    return {name: {"sha256": file_sha256(folder / name), "bytes": (folder / name).stat().st_size} for name in names}
