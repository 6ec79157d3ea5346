"""Structural gates on the folder as a whole: hashes, pictures on the disk, counts, subset, other forms."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memgauge.errors import InputError
from memgauge.files import file_sha256
from memgauge.histories.building.checking.folder import Folder, Item, sessions_of
from memgauge.histories.building.checking.gates import Structural
from memgauge.histories.building.checking.photographs import PhotographGates, Photographs
from memgauge.histories.building.config import config_from
from memgauge.histories.building.export import names_hash, subset
from memgauge.histories.building.pictures.kinds import KINDS
from memgauge.histories.building.profiles import PAPER_COUNTS
from memgauge.histories.building.question import recipe_of
from memgauge.histories.pictures_at import MAX_BYTES
from memgauge.histories.reading import Faults, raw_records
from memgauge.progress import Progress

_FILE = re.compile(r"([0-9a-f]{2})/([0-9a-f]{64})\.(png|jpg)")
_CHUNKS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
_MARKERS = {*range(0xC0, 0xD0), 0xDA, 0xDB, 0xDD, 0xE0}
"""JPEG segments that hold the picture itself, and the JFIF header; no comment, EXIF or other metadata."""
_SUBSET_OF_789 = {
    "information_extraction": 61,
    "multi_session_reasoning": 35,
    "temporal_reasoning": 48,
    "knowledge_update": 29,
    "answer_refusal": 22,
}
_COLUMNS = ["question_id", "question_type", "question", "answer", "question_date", "answer_session_ids"]


class FileGates:
    """Takes one question after the other, and looks at the folder at the end."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.same = Structural(
            "same_questions",
            "meta.jsonl and every split hold the same questions in the same order, each once",
            "files",
            "a split is cut off or belongs to another build: build the folder again",
        )
        self.pictures = Structural(
            "pictures",
            "every picture is there, is named by the hash of its bytes, has the format of its kind and the size that "
            "meta.jsonl says, holds no metadata, and is used",
            "files",
            "remove or restore the picture; `memgauge histories inspect` lists broken references",
        )
        self.repeated = Structural(
            "duplicate_pictures",
            "no history shows a picture twice, and the evidence of a question stands in no other history",
            "pictures",
            "the selection must reject one of the two questions",
        )
        self.hashes = Structural(
            "hashes",
            "every file of the manifest has its hash and size, and nothing else lies in the folder",
            "files",
            "a file was changed after the build: restore it, or build the folder again",
        )
        self.counts = Structural(
            "counts",
            "questions by type, subtype and line of the quota are those of the manifest and of its profile",
            "questions",
            "questions are missing: build again, or with --allow-short say so in the manifest",
        )
        self.mix = Structural(
            "decoy_mix",
            "the mix of decoy blueprints is the one that gives every kind of fact its share of the evidence",
            "builders",
            "solve for the mix (`haystack.decoy_mix`) instead of setting it",
        )
        self.subset = Structural(
            "subset",
            "the subset for agents is the stratified one that follows from the seed",
            "questions",
            "write the subset anew: build the folder again",
        )
        self.croissant = Structural(
            "croissant",
            "croissant.json names every split with its hash",
            "files",
            "the description belongs to other files: build the folder again",
        )
        self.forms = Structural(
            "other_forms",
            "the Parquet files and JSON lists hold the questions of the JSONL files",
            "files",
            "build the folder again",
        )
        self.outside = Photographs(folder)
        self.photographs = PhotographGates(folder, self.outside)
        self.kinds: list[tuple[str, str, str]] = []
        self._lines: Counter[str] = Counter()
        self._shown: dict[str, tuple[str, int, int, str]] = {}
        self._evidence: dict[str, str] = {}
        self._first: dict[str, str] = {}

    @property
    def gates(self) -> tuple[Structural, ...]:
        """All gates, in the order in which they are printed."""
        return (
            *(self.same, self.counts, self.mix, self.subset, self.pictures, self.repeated),
            *(self.hashes, self.croissant, self.forms),
            *self.photographs.gates,
        )

    def add(self, item: Item) -> None:
        """Note what a question shows and of which kind it is."""
        self.photographs.add(item)
        self.kinds.append((item.id, item.longest.question_type, item.meta.subtype))
        self._lines[item.meta.seed_path.line] += 1
        described = {
            p.file: (p.kind, p.width, p.height) for s in item.meta.sessions for f in s.facts for p in f.pictures
        }
        needed = {p.file for f in item.own_facts if f.role == "evidence" for p in f.pictures}
        here: set[str] = set()
        for _, turns in sessions_of(item.longest):
            for image in (image for turn in turns for image in turn.images):
                self.repeated.look()
                if image.file in here:
                    self.repeated.add(f"{item.id}: {image.file} stands there twice")
                here.add(image.file)
                kind, width, height = described.get(image.file, ("", 0, 0))
                self._shown.setdefault(image.file, (kind, width, height, item.id))
        for file in here:
            owner = self._evidence.get(file)
            if owner is None and file in needed:
                owner = self._first.get(file)
            if owner is not None:
                self.repeated.add(f"{item.id}: {file} is also shown in {owner}, of which one needs it as evidence")
            self._first.setdefault(file, item.id)
            if file in needed:
                self._evidence.setdefault(file, item.id)

    def finish(self) -> None:
        """Look at everything that is not a line of a table."""
        self._same()
        self._counts()
        self._subset()
        self._pictures()
        self._hashes()
        self._croissant()
        self._forms()
        self.photographs.finish()

    def _same(self) -> None:
        order = self.folder.meta.order
        for lines in (self.folder.meta, *self.folder.splits.values()):
            self.same.look()
            for fault in lines.faults:
                self.same.add(fault)
            for name, count in Counter(lines.order).items():
                if count > 1:
                    self.same.add(f"{lines.path.name}: {name} stands there {count} times")
            if lines.order != order:
                odd = set(lines.order) ^ set(order)
                what = f"{', '.join(sorted(odd)[:3])} only in one of the two" if odd else "another order"
                self.same.add(f"{lines.path.name} against meta.jsonl: {what}")

    def _counts(self) -> None:
        counts = self.folder.manifest["counts"]
        found = {
            "types": dict(Counter(kind for _, kind, _ in self.kinds)),
            "subtypes": dict(Counter(name for _, _, name in self.kinds)),
            "lines": dict(self._lines),
        }
        self.counts.look(len(self.kinds))
        for name, count in (("questions", len(self.kinds)), *found.items()):
            said = counts.get(name)
            said = {key: value for key, value in said.items() if value} if isinstance(said, dict) else said
            if said != count:
                self.counts.add(f"manifest.json, counts.{name}: {said}, found {count}")
        try:
            config = config_from(self.folder.config)
            quota = {line.name: line.quota for line in config.quota()}
        except InputError as error:
            self.counts.add(f"manifest.json, config: {error}")
            return
        said_mix = self.folder.manifest.get("decoy_mix")
        solved = {name: round(share, 6) for name, share in recipe_of(config).mix.items()}
        self.mix.look(len(solved))
        if said_mix != solved:
            odd = {name for name in solved if not isinstance(said_mix, dict) or said_mix.get(name) != solved[name]}
            self.mix.add(f"manifest.json, decoy_mix: another share than solved for of {', '.join(sorted(odd)[:5])}")
        short = self.folder.manifest.get("short") or {}
        for name, wanted in quota.items():
            missing = short.get(name, 0)
            if self._lines[name] != wanted - missing:
                self.counts.add(f"{name}: {self._lines[name]} questions, the profile asks for {wanted}")
        for name in self._lines.keys() - quota.keys():
            self.counts.add(f"{name}: {self._lines[name]} questions, the profile asks for none")

    def _subset(self) -> None:
        about = self.folder.manifest["subset"]
        file = str(about.get("file"))
        full = len(self.kinds) == sum(PAPER_COUNTS.values())
        if file != ("agent_subset_195.json" if full else "agent_subset.json"):
            self.subset.add(f"manifest.json, subset.file: {file!r:.80}")
            return
        try:
            found = json.loads((self.folder.path / file).read_text("utf-8"))
            ids, number = list(found["question_ids"]), found["n_questions"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            self.subset.add(f"{file}: cannot be read ({error})")
            return
        self.subset.look(len(ids))
        if number != len(ids) or about.get("questions") != number:
            self.subset.add(f"{file}: n_questions is {number}, the list holds {len(ids)}")
        wanted = subset(self.folder.config["seed"], self.kinds)
        if ids != wanted:
            odd = sorted(set(map(str, ids)) ^ set(wanted))
            self.subset.add(f"{file}: not the questions that follow from the seed ({', '.join(odd[:3]) or 'order'})")
        types = Counter(kind for name, kind, _ in self.kinds if name in set(map(str, ids)))
        paper = self._lines == Counter(PAPER_COUNTS)
        if paper and types != Counter(_SUBSET_OF_789):
            self.subset.add(f"{file}: {dict(types)} instead of {_SUBSET_OF_789}")

    def _pictures(self) -> None:
        with Progress("pictures", len(self._shown)) as bar:
            for file, (kind, width, height, owner) in sorted(self._shown.items()):
                if file in self.outside.absent:
                    continue
                self.pictures.look()
                for problem in _picture_problems(self.folder.images, file, kind, (width, height)):
                    self.pictures.add(f"images/{file} ({owner}): {problem}")
                bar.advance()
        there = {str(p.relative_to(self.folder.images)) for p in self.folder.images.rglob("*") if not p.is_dir()}
        for file in sorted(there - self._shown.keys()):
            self.pictures.add(f"images/{file}: no question shows it")

    def _hashes(self) -> None:
        files = self.folder.manifest["files"]
        known = {lines.path.name: lines.sha256 for lines in (self.folder.meta, *self.folder.splits.values())}
        for name, about in files.items():
            self.hashes.look()
            path = self.folder.path / name
            if "/" in name or "\\" in name or not path.is_file() or path.is_symlink():
                self.hashes.add(f"{name}: is not there")
                continue
            size, sha256 = path.stat().st_size, known.get(name) or file_sha256(path)
            if not isinstance(about, dict) or (about.get("bytes"), about.get("sha256")) != (size, sha256):
                self.hashes.add(f"{name}: not the bytes of the build ({size:,} bytes, sha256 {sha256[:12]}...)")
        for name in self.folder.tables:
            if name not in files:
                self.hashes.add(f"manifest.json, files: lacks {name}")
        for path in sorted(self.folder.path.iterdir()):
            if path.name not in (*files, "manifest.json", "images"):
                self.hashes.add(f"{path.name}: does not belong to the build")
        pictures = self.folder.manifest["pictures"]
        inside = self._shown.keys() - self.outside.kept_out
        size = sum((self.folder.images / f).stat().st_size for f in inside if (self.folder.images / f).is_file())
        found = {"files": len(inside), "bytes": size, "names_sha256": names_hash(self._shown)}
        if pictures != found:
            self.hashes.add(f"manifest.json, pictures: {pictures}, found {found}")

    def _croissant(self) -> None:
        try:
            described = json.loads((self.folder.path / "croissant.json").read_text("utf-8"))
            objects = {entry["@id"]: entry for entry in described["distribution"] if entry["@type"] == "cr:FileObject"}
        except (OSError, ValueError, LookupError, TypeError) as error:
            self.croissant.add(f"croissant.json: cannot be read ({type(error).__name__}: {error})")
            return
        files = self.folder.manifest["files"]
        splits = {name for name in files if name.startswith("dataset_")}
        for name in sorted(splits | objects.keys()):
            self.croissant.look()
            entry, about = objects.get(name), files.get(name)
            if entry is None or not isinstance(about, dict) or entry.get("sha256") != about.get("sha256"):
                self.croissant.add(f"croissant.json: {name} is missing or has another hash")

    def _forms(self) -> None:
        for name in sorted(self.folder.manifest["files"]):
            stem, _, form = name.partition(".")
            length = stem.removeprefix("dataset_")
            if form not in ("parquet", "json") or length not in self.folder.splits or stem == length:
                continue
            self.forms.look()
            try:
                problem = self._differs(self.folder.path / name, length)
            except InputError as error:
                problem = str(error)
            if problem:
                self.forms.add(f"{name}: {problem}")

    def _differs(self, path: Path, length: str) -> str:
        """Return in what another form of a split differs from the JSONL file."""
        lines = self.folder.splits[length]
        order: list[str] = []
        for raw in raw_records(path, Faults(strict=True), _COLUMNS):
            name = raw.get("question_id") if isinstance(raw, dict) else None
            if not isinstance(name, str) or name not in lines.offsets:
                return f"question {name!r:.40} is not in {lines.path.name}"
            order.append(name)
            try:
                there = json.loads(lines.read(name))
            except ValueError:
                return f"{name}: {lines.path.name} holds no whole record of it"
            for column in _COLUMNS:
                if raw.get(column) != there.get(column):
                    return f"{name}: another {column} than in {lines.path.name}"
        return "" if tuple(order) == lines.order else f"other questions than {lines.path.name}"


def _picture_problems(images: Path, file: str, kind: str, size: tuple[int, int]) -> Iterator[str]:
    found = _FILE.fullmatch(file)
    if found is None or not found[2].startswith(found[1]):
        yield "its name is not the hash of its bytes, such as ab/ab12....png"
        return
    path = images / file
    if path.is_symlink() or not path.is_file():
        yield "is missing"
        return
    if path.stat().st_size > MAX_BYTES:
        yield "is too large"
        return
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != found[2]:
        yield "its bytes are not those of its name"
    if kind in KINDS and KINDS[kind].extension != found[3]:
        yield f"a picture of the kind {kind} is stored as {KINDS[kind].extension}"
    shown, problem = (_png if found[3] == "png" else _jpeg)(data)
    if problem:
        yield problem
    elif shown != size:
        yield f"is {shown[0]} x {shown[1]}, meta.jsonl says {size[0]} x {size[1]}"


def _png(data: bytes) -> tuple[tuple[int, int], str]:
    """Return the size of a PNG picture and what is wrong with its chunks."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 33:
        return (0, 0), "is no PNG file"
    size = struct.unpack(">II", data[16:24])
    place = 8
    while place + 12 <= len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        chunk = data[place + 4 : place + 8]
        if chunk not in _CHUNKS:
            return (0, 0), f"has a chunk {chunk!r}; only the picture's own are allowed"
        place += 12 + length
        if chunk == b"IEND":
            break
    return (size[0], size[1]), "" if place == len(data) and chunk == b"IEND" else "is cut off or has bytes behind it"


def _jpeg(data: bytes) -> tuple[tuple[int, int], str]:
    """Return the size of a JPEG picture and what is wrong with its segments."""
    size = (0, 0)
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        return size, "is no whole JPEG file"
    place = 2
    while place + 4 <= len(data):
        mark, kind = data[place], data[place + 1]
        if mark != 0xFF:
            return size, "is broken"
        if kind not in _MARKERS:
            return size, f"has a segment 0xFF{kind:02X}; only the picture's own are allowed"
        (length,) = struct.unpack(">H", data[place + 2 : place + 4])
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            size = (width, height)
        if kind == 0xDA:
            return _scanned(data, place + 2 + length, size)
        place += 2 + length
    return size, "is cut off"


def _scanned(data: bytes, place: int, size: tuple[int, int]) -> tuple[tuple[int, int], str]:
    """Look for anything but restart and table segments between the scans and the end of a JPEG picture."""
    while True:
        place = data.find(b"\xff", place)
        if place < 0 or place + 1 >= len(data):
            return size, "is cut off"
        kind = data[place + 1]
        if kind == 0xD9:
            return size, "" if place + 2 == len(data) else "has bytes behind its end"
        if kind == 0 or 0xD0 <= kind <= 0xD7 or kind == 0xFF:
            place += 1 if kind == 0xFF else 2
            continue
        if kind not in _MARKERS:
            return size, f"has a segment 0xFF{kind:02X}; only the picture's own are allowed"
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
