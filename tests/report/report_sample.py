"""A report document made from formulas, with every part filled in: what the metrics would give for such systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

SYSTEMS = (
    "exact",
    "window:bits=256",
    "window:bits=1024",
    "bloom:bits=4096,design_length=1024",
    "trigram-bloom:bits=4096",
    "ngram-set:n=2",
    "lz78:bits=1024",
    "codec:name=zlib,bits=1024",
    "always-yes",
    "coin",
    "oracle:p=0.9",
    "always-abstain",
)


def estimate(value: float | None, half: float = 0.04, note: str | None = None, floor: float = 0.0) -> dict[str, Any]:
    if value is None:
        return {"value": None, "low": None, "high": None, "note": note or "nothing to average"}
    return {"value": value, "low": max(floor, value - half), "high": min(1.0, value + half), "note": note}


NOTHING = estimate(None)


def accuracy_of(index: int, count: int, length: int, split: str, negatives: str) -> float:
    """Better systems first; longer streams, random streams and matched negatives are harder."""
    skill = 1 - index / max(count, 2)
    strain = math.log2(length) / 16 * (1 if split == "max" else 0.45) * (1.2 if negatives == "matched" else 1)
    return round(0.5 + 0.5 * skill * max(0.0, 1 - strain * (1 - skill)), 4)


def make_cell(key: dict[str, Any], accuracy: float, n: int, index: int, *, confident: bool) -> dict[str, Any]:
    errors = 3 if index == 3 else 0
    abstained = n // 8 if key["arm"] == "B" else n // 40
    write = 1000 * key["length"] * (index + 1)
    return {
        **key,
        "n": n,
        "scored": n - errors,
        "episodes": n // 16,
        "variants": [],
        "outcomes": {
            "answered": n - errors - abstained,
            "abstained": abstained,
            "unparsed": errors // 3,
            "judge_error": 0,
            "model_error": errors - errors // 3,
            "refused_by_server": 0,
        },
        "abstain_kinds": {"explicit": abstained},
        "refused_kinds": {},
        "accuracy": estimate(accuracy),
        "accuracy_worst": accuracy * (n - errors) / n,
        "accuracy_best": (accuracy * (n - errors) + errors) / n,
        "balanced_accuracy": estimate(accuracy),
        "accuracy_yes": estimate(min(1.0, accuracy + 0.05)),
        "accuracy_no": estimate(accuracy - 0.05),
        "coverage": estimate((n - errors - abstained) / (n - errors), 0.02),
        "accuracy_answered": estimate(min(1.0, accuracy * n / (n - abstained))),
        "score": NOTHING,
        "flops_write": float(write),
        "flops_read": float(40 * key["length"] + 7),
        "flops_total": float(write + 40 * key["length"] + 7),
        "flops_write_shared": write / 16,
        "flops_total_shared": write / 16 + 40 * key["length"] + 7,
        "tokens_in": None,
        "tokens_out": None,
        "images_in": None,
        "t_ans": None,
        "seconds_write": 0.0021,
        "seconds_read": 0.00004,
        "state_bits": None if index == 5 else 0 if index >= 8 else 2.0 ** (6 + index),
        "state_bytes": None,
        "brier": estimate(0.2) if confident else NOTHING,
        "ece": estimate(0.05) if confident else NOTHING,
        "aurc": estimate(0.2) if confident else NOTHING,
        "notes": [],
    }


def make_document(
    systems: Sequence[str] = SYSTEMS,
    *,
    lengths: Sequence[int] = (256, 1024, 4096),
    splits: Sequence[str] = ("low", "max"),
    negatives: Sequence[str] = ("uniform", "matched"),
    arms: Sequence[str] = ("none",),
    task: str = "ecc-tokens",
    n: int = 320,
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": 1,
        "redraws": 4000,
        "seed": 0,
        "level": 0.95,
        "target": 0.6,
        "episodes": len(lengths) * len(splits) * (n // 16),
        "cells": [],
        "curves": [],
        "capacity": [],
        "efficiency": [],
        "compression": [],
        "calibration": [],
        "perception": [],
        "markers": [],
        "retrieval": [],
        "confidence": [],
        "forgetting": [],
        "comparisons": [],
        "notes": [],
        "systems": {},
        "runs": [
            {
                "schema_version": 1,
                "run": "run-1",
                "folder": "runs/sample",
                "created": "2025-11-29T10:00:00+00:00",
                "command": ["memgauge", "run", task, "--count", "20"],
                "versions": {"memgauge": "0.1.0", "python": "3.11.2", "numpy": "2.3.1"},
                "systems": [
                    {"name": s, "spec": s, "fingerprint": f"{i:016x}", "description": "A sample.", "known_answer": None}
                    for i, s in enumerate(systems)
                ],
                "task": task,
                "data": {"made": "on the fly"},
                "seed": 0,
                "lengths": list(lengths),
                "bands": list(splits),
                "count": 20,
                "queries": 16,
                "negatives": list(negatives),
                "arms": list(arms),
                "finished": True,
                "machine": {"cores": 2, "platform": "Linux", "python": "3.11.2"},
                "notes": [],
            }
        ],
        "warnings": [],
    }
    for index, system in enumerate(systems):
        for arm in arms:
            for length in lengths:
                for kind in negatives:
                    for split in splits:
                        key = {
                            "system": system, "task": task, "split": split, "subtype": None, "length": length,
                            "arm": arm, "negatives": kind,
                        }  # fmt: skip
                        accuracy = accuracy_of(index, len(systems), length, split, kind)
                        _add(document, key, accuracy, n, index)
                    if {"low", "max"} <= set(splits):
                        _add_compression(document, system, task, length, arm, kind, index, len(systems))
        if {"A", "B"} <= set(arms):
            for length in lengths:
                _add_calibration(document, system, task, list(splits), [length], index, n)
            if len(lengths) > 1:
                _add_calibration(document, system, task, list(splits), list(lengths), index, n)
    for a in range(len(systems)):
        for b in range(a + 1, len(systems)):
            _add_comparison(document, systems[a], systems[b], a, b, task, lengths[-1], splits[-1], negatives[0])
    if task.startswith("ecc-"):
        _add_model_parts(document, systems, task, lengths[-1], splits[-1], negatives[0])
    return document


def _add_model_parts(
    document: dict[str, Any], systems: Sequence[str], task: str, length: int, split: str, negatives: str
) -> None:
    """Parts that only models behind an endpoint have: the perception check, markers, retrieval."""
    for index, system in enumerate(systems[:3]):
        key = {"system": system, "task": task, "split": split, "subtype": None, "length": length, "arm": "none",
               "negatives": negatives}  # fmt: skip
        run = index != 2
        document["perception"].append(
            {
                **key, "short_length": 8, "accuracy": estimate(0.7), "short": estimate(0.9) if run else NOTHING,
                "short_n": 160 * run, "short_arm": "none" if run else None,
                "drop": estimate(0.2, floor=-1.0) if run else NOTHING,
                "variants": [{"variant": system, "short": 0.9, "accuracy": 0.7}],
                "note": None if run else "L = 8 was not run",
            }
        )  # fmt: skip
        document["markers"].append(
            {
                "system": system, "task": task, "subtype": None, "negatives": negatives, "arm": "none", "length": 8,
                "n": 160, "episodes": 10, "accuracy_answered": 0.2, "balanced_answered": estimate(0.2), "p": 1e-9,
                "swapped": index == 1, "note": "answers are worse than chance" if index == 1 else None,
            }
        )  # fmt: skip
        document["retrieval"].append(
            {
                **key, "direct": systems[-1], "n": 160, "episodes": 10, "errors": 0,
                **{f"accuracy{part}": estimate(0.6) for part in ("", "_yes", "_no", "_direct")},
                "hit_rate": estimate(0.33), "flops_answer": 18.74e12, "flops_index": 430.4e12,
                "flops_one_query": 449.2e12, "flops_direct": 87.4e12, "saving": 4.67, "break_even": 6.27,
            }
        )  # fmt: skip
        document["systems"][system] = {"model": system, "retrieval": {"embedder": system, "score_shown": run}}


def _add(document: dict[str, Any], key: dict[str, Any], accuracy: float, n: int, index: int) -> None:
    confident = index % 3 != 2
    cell = make_cell(key, accuracy, n, index, confident=confident)
    document["cells"].append(cell)
    steps = 40
    base = cell["flops_total"]
    points = [
        {
            "flops": int(base * (0.5 + i / steps)),
            "value": accuracy * i / steps,
            "low": max(0.0, accuracy * i / steps - 0.03),
            "high": min(1.0, accuracy * i / steps + 0.03),
        }
        for i in range(1, steps + 1)
    ]
    document["curves"].append({**key, "scored": n, "unpriced": 0, "points": points, "note": None})
    document["efficiency"].append(
        {**key, "target": 0.6, "flops": int(base) if accuracy >= 0.6 else None, "low": int(base * 0.9), "high": None,
         "never": accuracy < 0.6, "note": None}
    )  # fmt: skip
    if key["split"] == "max":
        budgets = [
            {"flops": int(base / 2), "value": accuracy * 0.4, "low": accuracy * 0.4 - 0.03, "high": accuracy * 0.4},
            {"flops": None, **{k: cell["accuracy"][k] for k in ("value", "low", "high")}},
        ]
        document["capacity"].append({**key, "budgets": budgets, "note": None})
    if confident:
        curve = [
            {"threshold": 0.5 + i / 40, "coverage": 1 - i / 20, "accuracy": accuracy + (1 - accuracy) * i / 25,
             "low": accuracy - 0.05, "high": min(1.0, accuracy + 0.1)}
            for i in range(20)
        ]  # fmt: skip
        thresholds = [
            {"wrong_cost": w, "tau": w / (1 + w), "coverage": estimate(1 - w / 8), "accuracy": estimate(accuracy),
             "points": estimate(accuracy - w * (1 - accuracy), floor=-9.0)}
            for w in (1 / 3, 1.0, 4.0)
        ]  # fmt: skip
        bins = [
            {"low": i / 10, "high": (i + 1) / 10, "n": n // 10, "confidence": i / 10 + 0.05, "accuracy": i / 10 + 0.02}
            for i in range(5, 10)
        ]
        document["confidence"].append(
            {**key, "n": n, "missing": 0, "abstained": 0, "curves": [{"flops": None, "points": curve}],
             "thresholds": thresholds, "aurc": cell["aurc"], "brier": cell["brier"], "ece": cell["ece"], "bins": bins,
             "note": None}
        )  # fmt: skip
    fit = index % 4 == 1
    half_life = key["length"] / 3
    bins = []
    for i in range(8):
        age = key["length"] * (i + 0.5) / 8
        value = 0.4 + 0.6 * 0.5 ** (age / half_life) if fit else accuracy
        bins.append(
            {"age_low": key["length"] * i / 8, "age_high": key["length"] * (i + 1) / 8, "age_mean": age, "n": n // 16,
             "value": value, "low": max(0.0, value - 0.1), "high": min(1.0, value + 0.1)}
        )  # fmt: skip
    found = {"a": 0.6, "b": 0.4, "tau": half_life / math.log(2), "half_life": half_life, "r2": 0.8,
             "p_permutation": 0.01, "interval_half_life": [half_life * 0.7, half_life * 1.5]}  # fmt: skip
    document["forgetting"].append(
        {**key, "unit": "symbols", "binning": "quantile", "positives": n // 2, "bins": bins,
         "recall": estimate(accuracy), "false_alarm": estimate(0.1),
         "half_life": {
             "status": "ok" if fit else "insufficient_evidence", "reason": None if fit else "no_decay",
             "detail": None if fit else "Recall does not fall with age.", "unit": "symbols",
             "half_life": half_life if fit else None, "tau": found["tau"] if fit else None,
             "interval_half_life": found["interval_half_life"] if fit else None, "a": 0.6 if fit else None,
             "b": 0.4 if fit else None, "r2": 0.8 if fit else None, "p_permutation": 0.01 if fit else None,
             "fit": found if fit else None, "warnings": [], "pair_count": n // 2, "half_life_lower_bound": None,
             "half_life_upper_bound": None, "beyond_largest_gap": False, "below_smallest_gap": False},
         "note": None}
    )  # fmt: skip


def _add_compression(
    document: dict[str, Any], system: str, task: str, length: int, arm: str, kind: str, index: int, count: int
) -> None:
    gain = accuracy_of(index, count, length, "low", kind) - accuracy_of(index, count, length, "max", kind)
    matched = kind == "uniform"
    document["compression"].append(
        {
            "system": system, "task": task, "split": "low", "subtype": None, "length": length, "arm": arm,
            "negatives": kind, "against": "max", "comp": estimate(gain, floor=-1.0),
            "comp_balanced": estimate(gain, floor=-1.0), "curve": [],
            "flops_saved": {"target": 0.6, "flops": 900_000, "flops_against": 1_200_000, "saved": 300_000,
                            "ratio": 4 / 3, "note": None},
            "window": {"symbols": 128.0 if matched else None, "comp": gain * 0.8 if matched else None,
                       "excess": estimate(gain * 0.2, 0.05, floor=-1.0) if matched else NOTHING,
                       "note": None if matched else "no stream was kept"},
            "note": None,
        }
    )  # fmt: skip


def _add_calibration(
    document: dict[str, Any], system: str, task: str, splits: list[str], lengths: list[int], index: int, n: int
) -> None:
    total = n * len(splits) * len(lengths)
    high, low = 1 - index * 0.03, 1 - index * 0.05
    few = index < 2
    payoffs = [
        {"responses": r, "scoring": s, "points": estimate(0.5 - 0.15 * index + (0.1 if r == s else 0), floor=-9.0)}
        for r in "AB"
        for s in "AB"
    ]
    document["calibration"].append(
        {
            "system": system, "task": task, "subtype": None, "negatives": "uniform",
            "pooled": "all" if len(lengths) > 1 else "splits", "splits": splits,
            "lengths": lengths, "arm_a": "A", "arm_b": "B", "n": total, "episodes": total // 16, "unpaired": 0,
            "coverage_a": estimate(high, 0.02), "coverage_b": estimate(low, 0.02),
            "abstained_a": {"explicit": 3, "format": 2, "overflow": 1},
            "abstained_b": {"explicit": 9, "format": 2, "overflow": 1},
            "accuracy_answered_a": estimate(0.8), "accuracy_answered_b": estimate(0.83),
            "responsiveness": estimate(high - low, 0.02, floor=-1.0), "kept": {"right": 200, "wrong": 30},
            "declined": {"right": 3 if few else 20, "wrong": 1 if few else 25}, "taken_up": 2,
            "gap": NOTHING if few else estimate(0.2, 0.1, floor=-1.0), "fisher_p": None if few else 0.0004,
            "stream_p": None if few else 0.01, "payoffs": payoffs, "payoff_gain": estimate(0.1, 0.05, floor=-1.0),
            "note": "fewer than five declined" if few else None,
        }
    )  # fmt: skip


def _add_comparison(
    document: dict[str, Any], a: str, b: str, i: int, j: int, task: str, length: int, split: str, kind: str
) -> None:
    document["comparisons"].append(
        {
            "system_a": a, "system_b": b, "task": task, "split": split, "subtype": None, "length": length,
            "arm": document["cells"][0]["arm"], "negatives": kind, "n": 320, "episodes": 20, "unpaired": 0,
            "accuracy_a": 0.9 - i * 0.03, "accuracy_b": 0.9 - j * 0.03,
            "difference": estimate((j - i) * 0.03, 0.04, floor=-1.0),
            "mcnemar": {"a_only": 30 + j, "b_only": 20 + i, "p": 0.04, "p_mid": 0.03}, "p_holm": 0.2,
            "p_stream": 0.05, "p_stream_holm": 0.25, "m": 66, "family": "cell", "pairs": "all pairs", "note": None,
        }
    )  # fmt: skip
