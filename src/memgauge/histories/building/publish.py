"""The last stage: from the selected candidates to a finished folder, the manifest last."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from memgauge.files import write_whole
from memgauge.histories.building.card import card, licences
from memgauge.histories.building.config import FORMAT, FORMAT_VERSION, BuildConfig
from memgauge.histories.building.croissant import croissant
from memgauge.histories.building.export import (
    LengthFigures,
    describe_files,
    dump,
    names_hash,
    prune_pictures,
    subset,
    write_parquet,
    write_tables,
)
from memgauge.histories.building.model import TYPES
from memgauge.histories.building.photographs import LIST, listing, placed, summary, used
from memgauge.histories.building.pictures.album import Album
from memgauge.histories.building.profiles import PAPER_COUNTS
from memgauge.histories.building.question import recipe_of
from memgauge.histories.building.review import ROUNDS, Reviews
from memgauge.histories.building.selection import Selection
from memgauge.histories.building.units import Body, read_body, unit_path
from memgauge.histories.building.writers import writer_checks
from memgauge.progress import Progress


def publish(
    out: Path,
    work: Path,
    config: BuildConfig,
    selection: Selection,
    reviews: Reviews,
    *,
    array: bool,
    album: Album | None = None,
) -> dict[str, Any]:
    """Write every file of the finished folder into `out`; returns the manifest.

    `album` are the photographs that were gathered, where the build uses any.

    Files are written under `work` and moved when they are whole; a killed export is done again from the start.
    """
    beside = work / "export"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    kinds: list[tuple[str, str, str]] = []
    lengths = config.sizes
    steps = len(selection.accepted) + len(lengths)
    with Progress("export", steps) as bar:
        bodies = _bodies(work / "units", selection, reviews, kinds)
        figures = write_tables(beside, bodies, lengths, array=array, step=bar.advance)
        for length in lengths:
            write_parquet(beside / f"dataset_{length.name}.jsonl", beside / f"dataset_{length.name}.parquet")
            bar.advance()
    chosen = subset(config.seed, kinds)
    subset_file = "agent_subset_195.json" if len(kinds) == sum(PAPER_COUNTS.values()) else "agent_subset.json"
    write_whole(beside / subset_file, dump({"n_questions": len(chosen), "question_ids": chosen}) + "\n")
    wanted = {file for _, header in selection.accepted for file in (*header.evidence_files, *header.other_files)}
    given = [selection.ledger.given[h.question_id] for _, h in selection.accepted] if selection.ledger else []
    shown = used(given)
    kept_out = {photograph.file for photograph in shown if photograph.by_reference}
    wanted |= {photograph.file for photograph in shown}
    count, size = prune_pictures(out / "images", wanted - kept_out)
    manifest = _manifest(config, selection, reviews, kinds, figures)
    manifest["config"]["array"] = array
    manifest["subset"] = {"file": subset_file, "questions": len(chosen)}
    manifest["pictures"] = {"files": count, "bytes": size, "names_sha256": names_hash(wanted)}
    if album is not None:
        write_whole(beside / LIST, listing(shown))
        manifest["photographs"] = summary(album, manifest["config"]["images"], shown, given)
    about = manifest.get("photographs")
    splits = sorted(path.name for path in beside.glob("dataset_*"))
    files = describe_files(beside, splits)
    writer = manifest["config"]["writer"]
    documents = {
        "LICENSES.md": licences(manifest["config"]["fillers"], about, writer=writer),
        "DATASET_CARD.md": card(manifest),
        "croissant.json": _pretty(croissant(manifest["version"], files, config.lengths, about, writer=writer)),
    }
    for name, text in documents.items():
        write_whole(beside / name, text)
    others = sorted(path.name for path in beside.iterdir() if path.name not in files)
    manifest["files"] = files | describe_files(beside, others)
    for name in manifest["files"]:
        (beside / name).replace(out / name)
    write_whole(out / "manifest.json", _pretty(manifest))
    return manifest


def _bodies(units: Path, selection: Selection, reviews: Reviews, kinds: list[tuple[str, str, str]]) -> Iterator[Body]:
    """Yield the candidates by question id, one in memory at a time, and note (id, type, subtype) of each."""
    for place, header in selection.accepted:
        body = dict(read_body(unit_path(units, header.question_id, place.revision)))
        if selection.ledger is not None:
            body = placed(body, selection.ledger.given[header.question_id])
        state = reviews.states.get(header.question_id)
        if state is not None and state.question:
            body["question"] = state.question
        history = reviews.history(header.question_id)
        body["meta"] = {**body["meta"], "review": history or "none"}
        kinds.append((header.question_id, body["question_type"], body["meta"]["subtype"]))
        yield body


def _manifest(
    config: BuildConfig,
    selection: Selection,
    reviews: Reviews,
    kinds: list[tuple[str, str, str]],
    figures: Mapping[str, LengthFigures],
) -> dict[str, Any]:
    types, subtypes = Counter(kind for _, kind, _ in kinds), Counter(name for _, _, name in kinds)
    lines = Counter(place.line.name for place, _ in selection.accepted)
    writer: dict[str, dict[str, int]] = {}
    for (what, name), count in sorted(selection.attempts.items()):
        writer.setdefault(what, {})[name] = count
    recipe = recipe_of(config)
    checks = writer_checks(config.to_dict()["writer"])
    kappa, pairs = reviews.kappa()
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": _version(),
        "config": config.to_dict(),
        "accounting": config.accounting.to_dict(),
        "counts": {
            "questions": len(kinds),
            "types": {name: types[name] for name in TYPES.values() if types[name]},
            "subtypes": dict(sorted(subtypes.items())),
            "lines": {line.name: lines[line.name] for line in config.quota()},
        },
        "short": selection.short,
        "lengths": {length.name: figures[length.name].to_dict(length) for length in config.sizes},
        "decoy_mix": {name: round(share, 6) for name, share in recipe.mix.items()},
        "funnel": {"stages": selection.funnel(), "reasons": dict(sorted(selection.rejected.items()))},
        "attempts": writer,
        **({"text_checks": checks} if checks is not None else {}),
        "review": {"rounds": len(ROUNDS) if config.review else 0, "kappa": kappa, "pairs": pairs},
        "package_data_sha256": package_data_hash(),
    }


def _version() -> str:
    from memgauge import __version__

    return __version__


def _pretty(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def package_data_hash() -> str:
    """Return one hash of all banks, ontologies, glyphs and fonts that the build draws from."""
    total = hashlib.sha256()
    for name, file in sorted(_data_files(resources.files("memgauge.histories.building"), "")):
        total.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _data_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _data_files(entry, name + "/")
        elif "data/" in name:
            yield name, entry
