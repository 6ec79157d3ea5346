"""Builds with tiny pictures, and ways to break what they exported without breaking the hashes."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import PIL.Image

from memgauge.histories.building import question
from memgauge.histories.building.config import build_config
from memgauge.histories.building.pictures.drawing import Picture
from memgauge.histories.building.pictures.kinds import KINDS
from memgauge.histories.building.pipeline import build


def tiny(spec) -> Picture:
    """A picture of the right format that takes no time: 32 x 32 grey pixels that follow from the spec."""
    seen = json.dumps([spec.kind, spec.truth, spec.seed], sort_keys=True, default=list).encode()
    image = PIL.Image.frombytes("L", (32, 32), hashlib.shake_256(seen).digest(1024))
    extension, out = KINDS[spec.kind].extension, io.BytesIO()
    image.save(out, {"png": "PNG", "jpg": "JPEG"}[extension])
    return Picture(out.getvalue(), extension, 32, 32)


def make(out: Path, patch, *, questions: int, lengths=("32k",), seed=1, profile="full", **changes) -> Path:
    """Build a folder with tiny pictures; `changes` replace names of `building.question`, whose builder is in here."""
    with patch.context() as m:
        m.setattr(question, "draw", tiny)
        for name, value in changes.items():
            m.setattr(question, name, value)
        question.recipe_of.cache_clear()
        outcome = build(out, build_config(profile, seed=seed, questions=questions, lengths=lengths), jobs=1)
    question.recipe_of.cache_clear()
    assert outcome.status == "built"
    return out


def read(path: Path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, lines) -> None:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")


class Broken:
    """A copy of a folder to be changed; the manifest and the description get the new hashes at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keep = ""
        self.meta = read(folder / "meta.jsonl")
        self.manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        self.croissant = json.loads((folder / "croissant.json").read_text("utf-8"))
        self.splits = {name: read(folder / f"dataset_{name}.jsonl") for name in self.manifest["config"]["lengths"]}

    @property
    def longest(self) -> str:
        return list(self.splits)[-1]

    def records(self, number: int):
        """The records of a question at all lengths."""
        return [split[number] for split in self.splits.values()]

    def number(self, **wanted) -> int:
        """The first question whose sidecar has these values, by default no refusal."""
        wanted = {"refusal": False, **wanted}
        return next(i for i, m in enumerate(self.meta) if all(m[k] == v for k, v in wanted.items()))

    def facts(self, number: int, role: str):
        return [f for s in self.meta[number]["sessions"] for f in s["facts"] if f["role"] == role]

    def turns(self, number: int, session: str):
        """The turns of a session, at every length that holds it."""
        for record in self.records(number):
            if session in record["haystack_session_ids"]:
                yield record["haystack_sessions"][record["haystack_session_ids"].index(session)]

    def save(self) -> Path:
        write(self.folder / "meta.jsonl", self.meta)
        for name, lines in self.splits.items():
            write(self.folder / f"dataset_{name}.jsonl", lines)
        for name, about in self.manifest["files"].items():
            path = self.folder / name
            if path.is_file() and name not in ("croissant.json", self.keep):
                about["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
                about["bytes"] = path.stat().st_size
        for entry in self.croissant["distribution"]:
            if entry["@id"] in self.manifest["files"]:
                entry["sha256"] = self.manifest["files"][entry["@id"]]["sha256"]
        text = json.dumps(self.croissant)
        (self.folder / "croissant.json").write_text(text)
        about = self.manifest["files"]["croissant.json"]
        about["sha256"], about["bytes"] = hashlib.sha256(text.encode()).hexdigest(), len(text.encode())
        (self.folder / "manifest.json").write_text(json.dumps(self.manifest))
        return self.folder
