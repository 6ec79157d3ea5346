"""The metrics beside the half-life: return gate, revisit fidelity, geometric closure, rendering recovery, scene F1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from memgauge.rollouts.closure import LEAST_MATCHES, Keypoints, closure
from memgauge.rollouts.fidelity import FrameObserver
from memgauge.rollouts.measure import Rollout
from memgauge.rollouts.rendering import NOT_COMPUTED, PARTS, MeanColours
from memgauge.rollouts.scene import SceneScore, depth_folder, scene_f1


class SiblingObservers:
    """What the sibling metrics take from the decoding pass."""

    def __init__(self) -> None:
        self.keypoints, self.colours = Keypoints(), MeanColours()

    @property
    def all(self) -> tuple[FrameObserver, ...]:
        """Return the observers, for `measure`."""
        return (self.keypoints, self.colours)


def sibling_scores(rollout: Rollout, seen: SiblingObservers) -> dict[str, dict[str, Any]]:
    """Return each sibling metric with `status`, `reason`, `score` and its parts.

    A metric that does not apply has the score None and a reason by name, the same names as the half-life where it is
    the same cause.
    """
    revisits = rollout.revisits
    if revisits is None:
        reason = rollout.result.reason or "no_poses"
        return {name: _refused(reason) for name in NAMES}
    scores: dict[str, dict[str, Any]] = {
        "return_gate": {
            "status": "ok",
            "reason": None,
            "score": int(revisits.departed and revisits.returned),
            "departed": revisits.departed,
            "returned": revisits.returned,
        }
    }
    fidelity = rollout.fidelity
    if fidelity is None:
        reason = rollout.result.reason or "no_decoded_pair"
        scores.update({name: _refused(reason) for name in NAMES[1:4]})
    else:
        usable = sum(scored.looks.usable for scored in rollout.pairs)
        floor = rollout.chance_floor
        scores["revisit_fidelity"] = {
            **_scored(fidelity),
            "pairs": usable,
            "embedder": rollout.embedder,
            "floor": floor,
        }
        scores["geometric_closure"] = _closure(rollout, seen.keypoints)
        parts = [seen.colours.score(s.pair.first_frame, s.pair.revisit_frame) for s in rollout.pairs]
        means = {name: float(np.mean([part[name] for part in parts])) for name in ("score", *PARTS)}
        scores["rendering_recovery"] = {
            **_scored(means["score"]),
            **means,
            "texture": None,
            "parts": list(PARTS),
            "note": NOT_COMPUTED,
            "pairs": len(parts),
        }
    scores["scene_f1"] = _scene(rollout)
    return scores


NAMES = ("return_gate", "revisit_fidelity", "geometric_closure", "rendering_recovery", "scene_f1")


def _closure(rollout: Rollout, keypoints: Keypoints) -> dict[str, Any]:
    track, revisits = rollout.track, rollout.revisits
    assert track is not None
    assert revisits is not None
    if track.intrinsics is None:
        return _refused("no_intrinsics")
    found = [
        closure(
            s.pair,
            track,
            keypoints.matches(s.pair.first_frame, s.pair.revisit_frame),
            still=revisits.scale_is_degenerate,
        )
        for s in rollout.pairs
    ]
    kept = [one for one in found if one is not None]
    if not kept:
        return {**_refused("too_few_matches"), "least_matches": LEAST_MATCHES, "pairs_skipped": len(found)}
    return {
        **_scored(float(np.mean([one.score for one in kept]))),
        "pairs": len(kept),
        "pairs_skipped": len(found) - len(kept),
        "each": [asdict(one) for one in kept],
    }


def _scene(rollout: Rollout) -> dict[str, Any]:
    track, revisits = rollout.track, rollout.revisits
    assert track is not None
    assert revisits is not None
    folder = depth_folder(track)
    if folder is None:
        return _refused("no_depth")
    found = scene_f1(track, revisits.turnaround_index, folder)
    return {**_scored(found.score), **asdict(found)} if isinstance(found, SceneScore) else _refused(found)


def _scored(score: float) -> dict[str, Any]:
    return {"status": "ok", "reason": None, "score": score}


def _refused(reason: str) -> dict[str, Any]:
    return {"status": "not_applicable", "reason": reason, "score": None}
