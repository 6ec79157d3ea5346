"""A built folder without the pictures of its evidence, or without any: what the pictures are needed for (MEMLENS, 3.4).

Questions, dates, sessions and gold stay as they are; markers of pictures that are gone are taken out of the texts as
`memgauge run memlens --text-only` takes them out. The sidecar still tells what the pictures showed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memgauge.errors import InputError
from memgauge.files import whole_folder, write_whole
from memgauge.histories.ablations import without_markers
from memgauge.histories.building.accounting import Accounting, TokenCounter, token_counter
from memgauge.histories.building.card import card
from memgauge.histories.building.checking.folder import Folder
from memgauge.histories.building.checking.photographs import Photographs
from memgauge.histories.building.config import FORMAT
from memgauge.histories.building.croissant import croissant
from memgauge.histories.building.export import describe_files, names_hash, write_parquet, write_records
from memgauge.histories.building.room import check_room, check_writable
from memgauge.histories.pictures_at import Pictures
from memgauge.progress import Progress

Drop = Literal["evidence", "all"]
_SAID = {
    "evidence": "the pictures of the evidence were taken out (refusals have none)",
    "all": "all pictures were taken out",
}


def ablate(folder: Path, out: Path, drop: Drop) -> dict[str, Any]:
    """Write a built folder without the pictures of its evidence, or without any, into `out`; returns its manifest.

    Raises `InputError` where the folder cannot be read or was changed since it was built, and where `out` is not free
    or the disk is too small.
    """
    folder, out = folder.expanduser(), out.expanduser().absolute()
    check_writable(out)
    if out.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{out}: lies in the folder that it is made from; choose another folder")
    source = Folder(folder)
    if source.dropped:
        raise InputError(f"{folder}: was made by `ablate` itself; name the folder that it was made from")
    for lines in (source.meta, *source.splits.values()):
        about = source.manifest["files"].get(lines.path.name)
        if not isinstance(about, Mapping) or about.get("sha256") != lines.sha256:
            raise InputError(f"{lines.path}: was changed since it was built; `memgauge histories check` says more")
    need = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    check_room(out, need, "make room, or choose a folder on another disk")
    with whole_folder(out, kind=FORMAT) as beside:
        return _write(source, beside, drop)


def _write(source: Folder, beside: Path, drop: Drop) -> dict[str, Any]:
    work = _Work(source, drop)
    array = bool(source.config.get("array"))
    with Progress("questions", len(source.meta.order)) as bar:
        figures = write_records(beside, work.items(), source.lengths, array=array, step=bar.advance)
    for length in source.lengths:
        if f"dataset_{length.name}.parquet" in source.manifest["files"]:
            write_parquet(beside / f"dataset_{length.name}.jsonl", beside / f"dataset_{length.name}.parquet")
    pictures, size = Pictures(source.images), 0
    photographs = source.manifest.get("photographs")
    inside = work.kept - Photographs(source).kept_out  # those that are kept by reference are not copied
    (beside / "images").mkdir()
    with Progress("pictures", len(inside)) as bar:
        for file in sorted(inside):
            path = pictures.resolve(file)
            bar.advance()
            if not path.is_file():
                raise InputError(f"{path}: is missing; `memgauge histories inspect` lists broken references")
            target = beside / "images" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            size += target.stat().st_size
    made = ("croissant.json", "DATASET_CARD.md", "meta.jsonl")
    for name in source.manifest["files"]:  # the subset, licences, the list of photographs
        path = source.path / name
        if path.name == name and name not in made and not name.startswith("dataset_") and path.is_file():
            shutil.copyfile(path, beside / name)
    manifest = {
        **source.manifest,
        "config": {**source.config, "ablation": f"drop-images:{drop}"},
        "ablation": {
            "drop_images": drop,
            "said": _SAID[drop],
            "questions": work.questions,
            "pictures_dropped": work.dropped,
            "of_manifest_sha256": hashlib.sha256((source.path / "manifest.json").read_bytes()).hexdigest(),
        },
        "lengths": {length.name: figures[length.name].to_dict(length) for length in source.lengths},
        "pictures": {"files": len(inside), "bytes": size, "names_sha256": names_hash(work.kept)},
    }
    files = describe_files(beside, sorted(path.name for path in beside.glob("dataset_*")))
    names = [length.name for length in source.lengths]
    description = croissant(str(manifest["version"]), files, names, photographs, writer=manifest["config"]["writer"])
    description["description"] += f" In this copy {_SAID[drop]}."
    if not work.kept:
        description["distribution"] = [d for d in description["distribution"] if d["@type"] != "cr:FileSet"]
    write_whole(beside / "croissant.json", json.dumps(description, indent=2, ensure_ascii=False) + "\n")
    write_whole(beside / "DATASET_CARD.md", card(manifest) + _card(manifest["ablation"]))
    others = sorted(path.name for path in beside.iterdir() if path.is_file() and path.name not in files)
    manifest["files"] = files | describe_files(beside, others)
    write_whole(beside / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return manifest


def _card(about: Mapping[str, Any]) -> str:
    return f"""
## Ablation

In this copy {about["said"]}: {about["pictures_dropped"]:,} places of pictures in the longest histories of
{about["questions"]:,} questions. Questions, answers, dates and sessions are those of the folder it was made from, whose
manifest has the sha256 `{about["of_manifest_sha256"]}`. A question whose pictures are gone keeps its answer, so that
accuracy on it tells what can be guessed. `meta.jsonl` tells what all pictures showed.
"""


@dataclass(slots=True)
class _Gone:
    """What was taken out of one record."""

    sizes: Mapping[str, tuple[int, int]]
    files: list[str] = field(default_factory=list)
    text: int = 0
    """Text tokens."""


class _Work:
    """Takes the pictures out, question by question."""

    def __init__(self, source: Folder, drop: Drop) -> None:
        self.source, self.drop = source, drop
        self.kept: set[str] = set()
        """Files that are still shown."""
        self.dropped = self.questions = 0
        try:
            self._counter: TokenCounter | None = token_counter(source.accounting.counter)
        except InputError:  # a tokenizer that is not at hand: the texts count as they did with their markers
            self._counter = None

    def items(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Yield sidecar and records of each question."""
        for name in self.source.meta.order:
            meta = json.loads(self.source.meta.read(name))
            records = {}
            for length in self.source.lengths:
                records[length.name], gone = self._without(json.loads(self.source.splits[length.name].read(name)), meta)
                _subtract(meta["lengths"][length.name], gone, self.source.accounting)
            self.dropped += len(gone.files)
            self.questions += bool(gone.files)
            yield meta, records

    def _without(self, record: dict[str, Any], meta: Mapping[str, Any]) -> tuple[dict[str, Any], _Gone]:
        sizes = {
            p["file"]: (p["width"], p["height"]) for s in meta["sessions"] for f in s["facts"] for p in f["pictures"]
        }
        gone = _Gone(sizes)
        for turns in record["haystack_sessions"]:
            for turn in turns:
                if not turn["images"] or (self.drop == "evidence" and not turn["has_answer"]):
                    self.kept.update(image["file"] for image in turn["images"])
                    continue
                gone.files += [image["file"] for image in turn["images"]]
                said, turn["images"] = turn["content"], []
                turn["content"] = without_markers(said)
                if self._counter is not None:
                    gone.text += self._counter(said.replace("<image>", " ")) - self._counter(turn["content"])
        return record, gone


def _subtract(figures: dict[str, int], gone: _Gone, accounting: Accounting) -> None:
    left = figures["pictures"] - len(gone.files)
    if accounting.picture == "rest":
        figures["picture_tokens"] = figures["picture_tokens"] * left // max(figures["pictures"], 1)
    else:
        figures["picture_tokens"] -= sum(accounting.price(*gone.sizes.get(file, (0, 0))) for file in gone.files)
    figures["pictures"] = left
    figures["text_tokens"] -= gone.text
    figures["tokens"] = figures["text_tokens"] + figures["picture_tokens"]
