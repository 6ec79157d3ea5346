"""Measured videos as responses: one row a revisit pair, its age the gap and its score the fidelity.

So the forgetting curve of a model over all its videos is fitted like that of any other system, whole videos redrawn.
A fidelity is neither right nor wrong: `correct` is null.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memgauge.responses import conform, new_row, schema

if TYPE_CHECKING:
    import polars as pl


def revisit_rows(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the responses of the records of a batch (see `run_batch`), in their order.

    The model is the system and the case the episode; the task names the embedder, since scores of different embedders
    must not be put together. A pair without a fidelity is a `judge_error`: grading failed, not the memory.
    """
    import polars as pl

    rows = [_row(record, pair) for record in records for pair in record.get("pairs", ())]
    return conform(pl.DataFrame(rows, schema=schema()), "revisit pairs")


def _row(record: Mapping[str, Any], pair: Mapping[str, Any]) -> dict[str, Any]:
    query = f"{pair['first_frame']}-{pair['revisit_frame']}"
    fidelity = pair["fidelity"]
    return new_row(
        key=hashlib.blake2b(f"{record['key']}|{query}".encode(), digest_size=16).hexdigest(),
        run="rollouts",
        system=record["model"],
        task=f"revisits:{record['embedder']}",
        split="rollout",
        length=record["frame_count"],
        episode=record["case"],
        query=query,
        arm="none",
        outcome="answered" if fidelity is not None else "judge_error",
        score=fidelity,
        age=pair["gap_seconds"],
        age_unit="seconds",
        evidence=json.dumps([pair["first_frame"]]),
    )
