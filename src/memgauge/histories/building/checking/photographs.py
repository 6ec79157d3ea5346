"""Gates on the photographs of a folder: their list, how often they are shown, which filter channels ran."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.checking.folder import Folder, Item, sessions_of
from memgauge.histories.building.checking.gates import Structural
from memgauge.histories.building.photographs import LIST
from memgauge.histories.building.pictures.filter import CHANNELS, LICENCES
from memgauge.histories.building.pictures.references import Listed, read_list


class Photographs:
    """What the manifest and the list of photographs say; empty for a folder whose pictures are all drawn."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        about = folder.manifest.get("photographs")
        self.about: dict[str, Any] = about if isinstance(about, dict) else {}
        self.problem = ""
        """Why the list cannot be read."""

    @cached_property
    def listed(self) -> dict[str, Listed]:
        """File: its line."""
        if not self.about:
            return {}
        try:
            return {row.file: row for row in read_list(self.folder.path)}
        except InputError as error:
            self.problem = str(error)
            return {}

    @cached_property
    def kept_out(self) -> frozenset[str]:
        """Files that are kept by reference, whose bytes are no part of the build."""
        return frozenset(file for file, row in self.listed.items() if row.by_reference)

    @cached_property
    def absent(self) -> frozenset[str]:
        """Those of them that are not in `images/` either."""
        return frozenset(file for file in self.kept_out if not (self.folder.images / file).is_file())


class PhotographGates:
    """Takes one question after the other; without photographs there are no gates."""

    def __init__(self, folder: Folder, photographs: Photographs) -> None:
        self.folder, self.photographs = folder, photographs
        self.list = Structural(
            "photographs",
            f"every photograph stands in {LIST}, under a licence that lets it be passed on, or with its address and "
            "by reference only; nothing else does",
            "photographs",
            "the list belongs to another build: build the folder again",
        )
        self.shown = Structural(
            "photographs_shown",
            "a photograph of evidence or contrast stands in one history, one of decoys in no more than were allowed",
            "photographs",
            "photographs must be given out by the ledger of the selection",
        )
        self.relevance = Structural(
            "photograph_filter",
            "every photograph passed the three channels of the relevance filter",
            "photographs",
            "photographs below the thresholds must not be exported: build the folder again",
        )
        self.bytes = Structural(
            "photographs_by_reference",
            "photographs that are kept by reference are there, under the hash of their bytes",
            "photographs",
            "`memgauge histories fetch` gets them again",
        )
        self._histories: dict[str, set[str]] = defaultdict(set)
        self._own: set[str] = set()
        self._pictured: set[str] = set()

    @property
    def gates(self) -> tuple[Structural, ...]:
        """All gates, in the order in which they are printed."""
        if not self.photographs.about:
            return ()
        return (self.list, self.shown, self.relevance, *((self.bytes,) if self.photographs.kept_out else ()))

    def add(self, item: Item) -> None:
        """Note which photographs a question shows, and as what."""
        if not self.photographs.about:
            return
        kinds = self.photographs.about.get("kinds") or ()
        here = {image.file for _, turns in sessions_of(item.longest) for turn in turns for image in turn.images}
        for fact in (fact for session in item.meta.sessions for fact in session.facts):
            for picture in fact.pictures:
                if picture.kind in kinds and picture.file in here:
                    self._pictured.add(picture.file)
                    self._histories[picture.file].add(item.id)
                    if fact.role != "decoy":
                        self._own.add(picture.file)

    def finish(self) -> None:
        """Hold what was shown against the list."""
        if not self.photographs.about:
            return
        self._list()
        reuse = self.photographs.about.get("reuse")
        for file, questions in sorted(self._histories.items()):
            self.shown.look()
            most = 1 if file in self._own else reuse if isinstance(reuse, int) else 0
            if len(questions) > most:
                self.shown.add(f"images/{file}: stands in {len(questions)} histories, at most {most} are allowed")
        self._relevance()
        self.bytes.look(len(self.photographs.kept_out))
        absent = len(self.photographs.absent)
        if absent:
            self.bytes.skipped = f"not run: {absent} photographs are kept by reference and are not in images/"

    def _list(self) -> None:
        listed = self.photographs.listed
        if self.photographs.problem:
            self.list.add(self.photographs.problem)
            return
        for file in sorted(self._pictured | listed.keys()):
            self.list.look()
            row = listed.get(file)
            if row is None:
                self.list.add(f"images/{file}: is shown as a photograph and is not in {LIST}")
            elif file not in self._pictured and not self.folder.dropped:
                self.list.add(f"{LIST}: {file}: no question shows it")
            elif row.by_reference and not row.url:
                self.list.add(f"{LIST}: {file}: is kept by reference and has no address")
            elif not row.by_reference and row.license not in LICENCES:
                self.list.add(f"{LIST}: {file}: its licence {row.license!r:.40} does not let it be passed on")
            if row is not None and row.sha256 not in file:
                self.list.add(f"{LIST}: {file}: its sha256 is another one")

    def _relevance(self) -> None:
        about = self.photographs.about
        run, least = about.get("channels"), about.get("thresholds")
        if not isinstance(run, dict) or not isinstance(least, dict):
            self.relevance.add("manifest.json, photographs: channels and thresholds are missing")
            return
        missing = [name for name in CHANNELS if run.get(name) != "run"]
        if missing:
            self.relevance.skipped = f"not run: {', '.join(missing)}; the photographs were taken on trust"
        for file, row in sorted(self.photographs.listed.items()):
            self.relevance.look()
            low = {name: _below(row.scores.get(name), least.get(name)) for name in CHANNELS if name not in missing}
            if low.get("clip") or (low.get("siglip", False) and low.get("text", False)):
                self.relevance.add(f"{LIST}: {file}: its scores are below the thresholds")


def _below(score: float | None, least: Any) -> bool:
    return score is None or not isinstance(least, int | float) or score < round(least, 4)
