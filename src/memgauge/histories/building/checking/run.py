"""The whole check of a folder: structural gates question by question, then the statistical ones on a sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.accounting import MARKER
from memgauge.histories.building.checking.backends import backend_gates
from memgauge.histories.building.checking.classifiers import balanced, carrier_gate, shape_gates, text_gates
from memgauge.histories.building.checking.files import FileGates
from memgauge.histories.building.checking.folder import Folder, sessions_of
from memgauge.histories.building.checking.gates import ENOUGH, Gate, Structural, shown
from memgauge.histories.building.checking.gold import GoldGates
from memgauge.histories.building.checking.guessing import guess_gates
from memgauge.histories.building.checking.public import PublicGates
from memgauge.histories.building.checking.sample import Sample, plain_text
from memgauge.histories.building.checking.shares import Shares
from memgauge.histories.building.checking.variety import MEANING, Variety
from memgauge.histories.building.checking.whole import Detector, Retrieval, place_gates
from memgauge.histories.building.ontology import built_in
from memgauge.progress import Progress

LONGEST = 131072
"""Statistical gates look at lengths up to 128K; if there is none, at the shortest."""
QUESTIONS = 300
"""Questions of each length whose whole histories are read again."""
TOPICS = 60
"""Questions of each length whose histories are looked at for the variety of their text, and for their topics."""
_BUILD = ("config", "ablation", "counts", "short", "lengths", "funnel", "attempts", "review", "pictures")


@dataclass(frozen=True, slots=True)
class Report:
    """Every gate of a folder."""

    path: Path
    gates: tuple[Gate, ...]
    evidence_sessions: int
    questions: int
    build: Mapping[str, Any] = field(default_factory=dict)
    """What the manifest says of the build: options, counts, lengths, funnel, attempts."""
    text: Mapping[str, Any] = field(default_factory=dict)
    """How varied the text is at each length (`Variety`)."""

    def failed(self, *, strict: bool = False) -> list[Gate]:
        """Return the gates that fail; with `strict` also those that warn, had too few sessions or were not checked."""
        bad = ("fails", "warns", "too few", "not checked") if strict else ("fails",)
        return [gate for gate in self.gates if gate.verdict in bad]

    def to_dict(self, *, strict: bool = False) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "folder": self.path.name,
            "questions": self.questions,
            "evidence_sessions": self.evidence_sessions,
            "strict": strict,
            "holds": not self.failed(strict=strict),
            "build": dict(self.build),
            "text": {"meaning": MEANING, "lengths": dict(self.text)},
            "gates": {gate.name: gate.to_dict() for gate in self.gates},
        }


def check_folder(path: Path, *, sample: int = QUESTIONS) -> Report:
    """Check a built folder; only exported files are read, one question at a time.

    Parameters
    ----------
    path : a folder that `memgauge histories build` has finished.
    sample : questions of each length whose histories the detector, retrieval and topics look at.

    Raises `InputError` when the folder cannot be read at all.
    """
    if sample < 10:
        raise InputError(f"--sample takes at least 10 questions, not {sample}")
    folder = Folder(path.expanduser())
    gates, collected = structural_gates(folder)
    varieties = {name: Variety() for name in collected.windows}
    gates += [_without_leaks()] if folder.dropped else leak_gates(folder, collected, sample, varieties)
    gates += backend_gates(folder.manifest)
    build = {name: folder.manifest[name] for name in _BUILD if name in folder.manifest}
    text = {name: variety.to_dict() for name, variety in varieties.items() if variety.shares}
    return Report(folder.path, tuple(gates), sum(collected.evidence), len(folder.meta.offsets), build, text)


def _without_leaks() -> Gate:
    skipped = "pictures were dropped from this copy; leaks are measured on the folder that it was made from"
    return Structural(
        "leak_gates", "how far texts, pictures and places give away", "questions", "", skipped=skipped
    ).gate()


def structural_gates(folder: Folder) -> tuple[list[Gate], Sample]:
    """Read every question once; returns the structural gates and what the statistical ones need to know."""
    lengths = [length.name for length in folder.lengths if length.budget <= LONGEST] or [folder.lengths[0].name]
    collected = Sample(folder.config["seed"], {name: 3 if name == "32k" else 5 for name in lengths})
    schema = Structural(
        "schema",
        "every line of the splits and of meta.jsonl has exactly its fields, of the right types",
        "questions",
        "the export is broken or the files are not this version's: build the folder again",
    )
    public, gold, files = PublicGates(folder), GoldGates(folder), FileGates(folder)
    with Progress("questions", len(folder.meta.offsets)) as bar:
        for name in folder.meta.offsets:
            schema.look()
            item, problems = folder.item(name)
            for problem in problems:
                schema.add(problem)
            if item is not None:
                for room in (public, gold, files):
                    room.add(item)
                collected.add(item)
            bar.advance()
    public.finish()
    files.finish()
    return [gate.gate() for gate in (schema, *public.gates, *gold.gates, *files.gates)], collected


def leak_gates(
    folder: Folder, sample: Sample, count: int = QUESTIONS, varieties: Mapping[str, Variety] | None = None
) -> list[Gate]:
    """Return the statistical gates; the histories of `count` questions of each length are read again.

    `varieties` takes in the texts of each length.
    """
    enough, lengths = sum(sample.evidence) >= ENOUGH, list(sample.windows)
    gates: list[Gate] = []
    shares = Shares(own_ontology=folder.config.get("ontology") != built_in().fingerprint())
    varieties = {name: Variety() for name in lengths} if varieties is None else varieties
    for length in lengths:
        about = shares if length == lengths[-1] else None
        gates += _at_length(folder, sample, length, count, about, varieties[length], enough=enough)
    gates += place_gates(sample, enough=enough)
    gates += guess_gates(sample.riddles, enough=enough)
    gates += shares.gates(enough=enough)
    gates.append(_variety_gate(varieties))
    return gates


def _variety_gate(varieties: Mapping[str, Variety]) -> Gate:
    """Show the figure of the longest length; those of all lengths stand in the details."""
    longest = list(varieties.values())[-1]
    what = (
        "share of different word pairs in the sampled histories of the longest length; it falls with the amount of text"
    )
    details = {name: variety.to_dict() for name, variety in varieties.items()}
    return shown("distinct_2", what, longest.whole.share, longest.whole.total, "pairs", details)


def _at_length(
    folder: Folder,
    sample: Sample,
    length: str,
    count: int,
    shares: Shares | None,
    variety: Variety,
    *,
    enough: bool,
) -> list[Gate]:
    """Read the histories of a sample of questions once, for all gates that need text."""
    rows = balanced(sample, length)
    wanted = {sample.sessions[i].id: place for place, i in enumerate(rows.tolist())}
    texts, carriers = [""] * len(wanted), [""] * len(wanted)
    owners = {sample.sessions[i].question for i in rows.tolist()}
    chosen, about = set(sample.chosen(length, count)), set(sample.chosen("topics", TOPICS))
    detector, sharper, retrieval = Detector(), Detector(), Retrieval()
    reading = sorted(owners | chosen | about)
    with Progress(f"statistics at {length}", len(reading)) as bar:
        for number in reading:
            record = folder.record(sample.ids[number], length)
            evidence = set(record.answer_session_ids)
            pictured = []
            for name, turns in sessions_of(record):
                shown_turns = [turn for turn in turns if turn.images]
                if name in wanted:
                    texts[wanted[name]], carriers[wanted[name]] = plain_text(turns), plain_text(shown_turns)
                if shown_turns:
                    pictured.append((plain_text(turns, "user"), plain_text(shown_turns), name in evidence))
                if shares is not None and number in about:
                    shares.add(turn.content.replace(MARKER, " ") for turn in turns)
            if number in about:
                said = (turn for _, turns in sessions_of(record) for turn in turns)
                variety.add((turn.role, turn.content.replace(MARKER, " ")) for turn in said)
            if number in chosen:
                marks = [mark for _, _, mark in pictured]
                detector.add(number, [text for text, _, _ in pictured], marks)
                sharper.add(number, [text for _, text, _ in pictured], marks)
                ids = record.haystack_session_ids
                sessions = [plain_text(turns) for turns in record.haystack_sessions]
                retrieval.add(number, record.question, sessions, [name in evidence for name in ids])
            bar.advance()
    return [
        *text_gates(sample, length, rows, texts, enough=enough, ablate=length == list(sample.windows)[-1]),
        *carrier_gate(sample, length, rows, carriers, enough=enough),
        *shape_gates(sample, length, rows, enough=enough),
        *detector.gates(length, enough=enough),
        *sharper.figure(length),
        *retrieval.gates(length, enough=enough),
    ]
