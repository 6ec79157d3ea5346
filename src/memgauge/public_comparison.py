"""Results of MEMLENS's public evaluator, regraded, and where its verdicts and ours differ."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError
from memgauge.files import file_sha256
from memgauge.grading.answers import Graded
from memgauge.grading.conversation import grade_conversation
from memgauge.grading.judge.asking import Judged
from memgauge.grading.outcomes import Outcome
from memgauge.grading.typed.prepare import Mode
from memgauge.histories.reading import Faults, open_histories
from memgauge.histories.records import Record, RecordError
from memgauge.importers.folder import write_folder
from memgauge.importers.public import PublicAnswer, PublicResults, PublicVerdict, PublicVerdicts, read_public
from memgauge.metrics.agreement import rank_correlation
from memgauge.public_differences import REASONS, Difference, Pair, agreement_of, reason_of
from memgauge.responses import check_rows, new_row, schema
from memgauge.system import Answer
from memgauge.verdict_rows import with_verdict

if TYPE_CHECKING:
    import polars as pl

TASK = "memlens"


@dataclass(slots=True)
class Comparison:
    """Regraded results; `rows` are responses."""

    rows: pl.DataFrame
    files: list[dict[str, Any]]
    differences: list[Difference]
    notes: list[str]
    sources: list[Path]
    data: Path | None = None
    _pairs: list[Pair] = field(default_factory=list, repr=False)
    without: Counter[str] = field(default_factory=Counter, repr=False)

    def document(self) -> dict[str, Any]:
        """Return everything but the rows as a JSON document."""
        counts = Counter(difference.reason for difference in self.differences)
        systems = sorted({pair.system for pair in self._pairs})
        means = [
            [sum(getattr(p, side) for p in own) / len(own) for side in ("theirs", "ours")]
            for own in ([p for p in self._pairs if p.system == name and p.decided] for name in systems)
            if own
        ]
        return {
            "files": self.files,
            "decided": agreement_of([pair for pair in self._pairs if pair.decided]),
            "first_reading": agreement_of([pair for pair in self._pairs if not pair.decided]),
            "systems_spearman": rank_correlation([a for a, _ in means], [b for _, b in means]),
            "without_verdict": {name: self.without[name] for name in ("theirs", "ours", "no_record")},
            "reasons": [
                {"reason": name, "n": counts[name], "means": REASONS[name]} for name in REASONS if counts[name]
            ],
            "differences": [asdict(difference) for difference in self.differences],
            "notes": self.notes,
        }


def compare(
    files: Sequence[Path],
    *,
    data: Path | None = None,
    mode: Mode = "strict",
    length: str | None = None,
    strict: bool = False,
) -> Comparison:
    """Regrade result files of the public evaluator and compare with its verdicts.

    A judge file belongs to the only result file, else to the one whose name its own name begins with (the longest),
    else to the one before it in the list.

    Parameters
    ----------
    files : result files and judge files.
    data : the histories; a record whose id, question or reference is not theirs is left out and counted.
    mode : how answers are graded.
    length : of all result files, such as `32k`.
    strict : raise for the first record that cannot be used.

    Answers that rules cannot decide get the public judge's verdict where there is one, else they wait for a judge.
    Raises `InputError` that names the file, and the record.
    """
    import polars as pl

    faults = Faults(strict)
    results: list[PublicResults] = []
    judges: list[tuple[PublicVerdicts, int]] = []
    for path in files:
        found = read_public(path, faults, length)
        if isinstance(found, PublicResults):
            results.append(found)
        else:
            judges.append((found, len(results) - 1))
    if not results:
        raise InputError("no result file is among the files: answers can only be regraded where they are")
    results = _told_apart(results)
    verdicts = _paired(results, judges)
    comparison = Comparison(pl.DataFrame(schema=schema()), [], [], [], list(files), data)
    rows: list[dict[str, Any]] = []
    digest = hashlib.blake2b("".join(file_sha256(path) for path in files).encode(), digest_size=6).hexdigest()
    for result, judged in zip(results, verdicts, strict=True):
        known = None if data is None else _records(data, result, faults)
        rows += _Regrading(result, judged, known, mode, digest, comparison, faults).rows()
    comparison.rows = check_rows(pl.DataFrame(rows, schema=schema()), "the regraded results")
    comparison.notes = [*faults.lines(), *comparison.notes]
    return comparison


def _told_apart(results: Sequence[PublicResults]) -> list[PublicResults]:
    """Add the file's name to systems of one name at one length."""
    places = Counter((result.system, result.length) for result in results)
    named = [replace(r, system=f"{r.system} ({r.path.stem})") if places[r.system, r.length] > 1 else r for r in results]
    twice = Counter((result.system, result.length) for result in named)
    for result in named:
        if twice[result.system, result.length] > 1:
            raise InputError(f"{result.path}: another file gives {result.system} at length {result.length:,} too")
    return named


def _paired(
    results: Sequence[PublicResults], judges: Sequence[tuple[PublicVerdicts, int]]
) -> list[PublicVerdicts | None]:
    found: list[PublicVerdicts | None] = [None] * len(results)
    for judge, before in judges:
        stems = [(len(r.path.stem), at) for at, r in enumerate(results) if judge.path.stem.startswith(r.path.stem)]
        at = 0 if len(results) == 1 else max(stems)[1] if stems else before
        if at < 0:
            raise InputError(f"{judge.path}: belongs to no result file by its name; name it after its result file")
        other = found[at]
        if other is not None:
            raise InputError(f"{judge.path}: {results[at].path.name} has the verdicts of {other.path.name} already")
        if not judge.verdicts.keys() & {answer.id for answer in results[at].answers}:
            raise InputError(f"{judge.path}: judges no question of {results[at].path.name}: it is of other results")
        found[at] = judge
    return found


def _records(data: Path, result: PublicResults, faults: Faults) -> dict[str, Record]:
    """Return the records of the answers' questions, without their sessions."""
    histories = open_histories(data)
    split = next((s for s in histories.splits if s.length == result.length), histories.splits[0])
    wanted = {answer.id for answer in result.answers}
    found = {r.question_id: replace(r, sessions=()) for r in histories.records(split, Faults(), keep=wanted)}
    if not found:
        raise InputError(f"{result.path}: none of its questions is in {data}: it is of another dataset")
    return found


class _Regrading:
    """Grades the answers of one result file."""

    def __init__(
        self,
        result: PublicResults,
        judged: PublicVerdicts | None,
        known: Mapping[str, Record] | None,
        mode: Mode,
        run: str,
        comparison: Comparison,
        faults: Faults,
    ) -> None:
        self.result, self.judged, self.known = result, judged, known
        self.mode, self.run, self.comparison, self.faults = mode, run, comparison, faults
        self.verdicts = judged.verdicts if judged is not None else {}

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, and tell the comparison about them."""
        result, made = self.result, []
        ours: list[bool] = []
        for answer in result.answers:
            record = None
            if self.known is not None:
                record = self.known.get(answer.id)
                problem = _mismatch(answer, record)
                if problem is not None:
                    where = f"{result.path.name} ({answer.id})"
                    self.faults.add(RecordError("not_in_data", where, problem))
                    continue
            row, decided = self._row(answer, record)
            if decided is not None:
                ours.append(decided)
            made.append(row)
        if not made:
            raise InputError(f"{result.path}: no record can be used: {'; '.join(self.faults.lines())}")
        names = {answer.id for answer in result.answers}
        orphans = sorted(self.verdicts.keys() - names)
        if orphans:
            self.comparison.notes.append(
                f"{len(orphans)} verdicts are of questions that {result.path.name} does not hold, such as {orphans[0]}"
            )
        theirs = [v.score for v in self.verdicts.values() if v.score is not None and v.id in names]
        self.comparison.files.append(
            {
                "results": result.path.name,
                "judge": None if self.judged is None else self.judged.path.name,
                "system": result.system,
                "length": result.length,
                "length_from": result.length_from,
                "args": dict(result.args),
                "records": len(made),
                "judged": len(theirs),
                "decided_by_rule": len(ours),
                "accuracy_ours": sum(ours) / len(ours) if ours else None,
                "accuracy_theirs": sum(theirs) / len(theirs) if theirs else None,
            }
        )
        return made

    def _row(self, answer: PublicAnswer, record: Record | None) -> tuple[dict[str, Any], bool | None]:
        """Return a row, and what the rules decide."""
        old = None if record is None else record.old_answer
        graded = self._graded(answer, old, self.mode)
        row = new_row(
            run=self.run,
            system=self.result.system,
            task=TASK,
            split=answer.subtype.partition("_")[0],
            subtype=answer.subtype,
            length=self.result.length,
            episode=answer.id,
            query="q",
            arm="none",
            gold=answer.reference,
            answer=graded.answer,
            outcome=graded.outcome,
            abstain_kind=graded.abstain_kind,
            refused_kind=graded.refused_kind,
            correct=graded.correct,
            score=graded.score,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            raw_output=answer.raw,
            error=graded.error,
            question=answer.question,
            old_answer=old,
            kind=None if record is None else record.kind,
            visual_need=None if record is None else record.visual_need,
            rule=graded.rule,
            rule_correct=graded.rule_correct,
            span=None if graded.span is None else json.dumps(list(graded.span)),
            grading=graded.grading,
        )
        text = json.dumps([self.run, self.result.path.name, row["system"], row["length"], answer.id, self.mode])
        row["key"] = hashlib.blake2b(f"public|{text}".encode(), digest_size=16).hexdigest()
        verdict = self.verdicts.get(answer.id)
        self._compare(answer, graded, verdict, old)
        if graded.outcome == Outcome.PENDING and verdict is not None and verdict.score is not None:
            assert self.judged is not None
            said = json.dumps(asdict(verdict))
            heard = Judged(row["key"], Outcome.ANSWERED, verdict.score, said, "public evaluator", 0)
            row = with_verdict(row, heard, f"public evaluator ({self.judged.path.name})")
        return row, graded.correct

    def _graded(self, answer: PublicAnswer, old: str | None, mode: Mode) -> Graded:
        if answer.raw is None:
            return Graded("model_error", error=f"{self.result.path.name} holds no output for this question")
        return grade_conversation(
            Answer(raw=answer.raw, tokens_in=answer.tokens_in, tokens_out=answer.tokens_out),
            subtype=answer.subtype,
            question=answer.question,
            reference=answer.reference,
            old_answer=old,
            mode=mode,
        )

    def _compare(self, answer: PublicAnswer, graded: Graded, verdict: PublicVerdict | None, old: str | None) -> None:
        """Take both verdicts into the comparison."""
        comparison = self.comparison
        if verdict is None or verdict.score is None:
            comparison.without["no_record" if verdict is None else "theirs"] += self.judged is not None
            return
        # In official mode everything waits for the judge; what the rules say of it is compared all the same.
        typed = graded if self.mode == "strict" else self._graded(answer, old, "strict")
        ours = typed.rule_correct
        if ours is None:
            comparison.without["ours"] += 1
            return
        decided, ability = typed.correct is not None, answer.subtype.partition("_")[0]
        pair = Pair(self.result.system, ability, answer.subtype, verdict.score, int(ours), decided)
        comparison._pairs.append(pair)
        if verdict.score == pair.ours:
            return
        comparison.differences.append(
            Difference(
                question_id=answer.id,
                system=pair.system,
                length=self.result.length,
                ability=ability,
                subtype=answer.subtype,
                theirs=verdict.score,
                ours=pair.ours,
                decided=decided,
                reason=reason_of(answer, typed, verdict),
                rule=typed.rule,
                committed=None if typed.span is None or answer.raw is None else answer.raw[slice(*typed.span)],
                span=None if typed.span is None else list(typed.span),
                outcome=typed.outcome if decided else "pending",
                reference=answer.reference,
                task_key=verdict.task_key,
                auto_zero=verdict.auto_zero,
                was_truncated=verdict.was_truncated,
                is_degenerate=verdict.is_degenerate,
                parsed_words=verdict.parsed_words,
            )
        )


def _mismatch(answer: PublicAnswer, record: Record | None) -> str | None:
    if record is None:
        return "the dataset has no such question"
    for name, ours, theirs in (
        ("question", record.question, answer.question),
        ("reference_answer", record.answer, answer.reference),
    ):
        if " ".join(ours.split()) != " ".join(theirs.split()):
            return f"its {name} is {theirs!r:.60}, the dataset has {ours!r:.60}"
    return None


def write_comparison(comparison: Comparison, out: Path) -> None:
    """Write the regraded results as a finished run folder. Raises `InputError` when the folder holds something."""
    files = [{"file": path.name, "sha256": file_sha256(path)} for path in comparison.sources]
    digest = ",".join(sorted(one["sha256"] for one in files))
    data: dict[str, Any] = {"identity": {"made": False, "imported": True}}
    if comparison.data is not None:
        data["folder"] = str(comparison.data.expanduser().absolute())
    write_folder(
        comparison.rows,
        out,
        imported=files,
        systems=[
            {
                "name": name,
                "spec": "imported",
                "fingerprint": f"imported sha256={hashlib.sha256(digest.encode()).hexdigest()}",
            }
            for name in sorted(comparison.rows["system"].unique())
        ],
        data=data,
        notes=comparison.notes,
    )
