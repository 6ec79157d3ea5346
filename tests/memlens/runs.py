"""Run folders of conversations, written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from memgauge.grading.conversation import grade_conversation
from memgauge.importers.folder import write_folder
from memgauge.responses import check_rows, new_row, schema
from memgauge.system import Answer


def answered(name, said, *, gold="green tea", subtype="IE", length=32768, system="s", mode="strict", **more):
    """One graded answer."""
    question = more.pop("question", "What do I drink?")
    graded = grade_conversation(
        Answer(raw=said),
        subtype=subtype,
        question=question,
        reference=gold,
        mode=mode,
        old_answer=more.get("old_answer"),
    )
    return new_row(
        key=f"{system}|{length}|{name}",
        run="r",
        system=system,
        task="memlens",
        split=subtype.partition("_")[0],
        subtype=subtype,
        length=length,
        episode=name,
        query="q",
        arm="none",
        gold=gold,
        answer=graded.answer,
        outcome=graded.outcome,
        abstain_kind=graded.abstain_kind,
        correct=graded.correct,
        score=graded.score,
        raw_output=said,
        question=question,
        rule=graded.rule,
        rule_correct=graded.rule_correct,
        span=None if graded.span is None else json.dumps(list(graded.span)),
        grading=mode,
        **more,
    )


def write_run(folder: Path, rows, data=None) -> Path:
    frame = check_rows(pl.DataFrame(rows, schema=schema()), "test rows")
    systems = [{"name": name, "spec": "test", "fingerprint": "1"} for name in sorted(frame["system"].unique())]
    about = {"identity": {"made": False}} | ({} if data is None else {"folder": str(data)})
    write_folder(frame, folder, imported=[], systems=systems, data=about)
    return folder
