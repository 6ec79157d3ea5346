"""Pages of the memory half-life in a real browser: everything is drawn, nothing is fetched, nothing runs that should
not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollout_scenes import pose
from test_batch import OPTIONS, make_video
from test_fidelity import clip

from memgauge.metrics.half_life import fit_half_life
from memgauge.report.half_life import write_batch_report, write_pairs_report, write_video_report
from memgauge.report.half_life_charts import pairs_chart
from memgauge.report.half_life_pictures import Thumbnails
from memgauge.rollouts.batch import plan, run_batch
from memgauge.rollouts.leaderboard import leaderboard
from memgauge.rollouts.measure import PoseOptions, measure

GAPS = np.arange(1.0, 60, 5)
DECAY = 0.6 * np.exp(-GAPS / 20) + 0.3


def healthy(visited: Any, path: Path) -> None:
    assert visited.messages == []
    assert [request for request in visited.requests if not request.startswith("data:")] == [path.resolve().as_uri()]
    pictures = visited.page.eval_on_selector_all("img", "all => all.map(one => one.complete && one.naturalWidth > 0)")
    assert all(pictures)


@pytest.mark.browser
def test_a_real_video(tmp_path: Path, visit: Callable[..., Any]) -> None:
    # The camera of the clip does something else; the page has to show what was measured, whatever it is.
    xs = np.abs(np.arange(132) % 40 - 20) / 20
    np.save(tmp_path / "p.npy", np.stack([pose(x) for x in xs]))
    seen = Thumbnails()
    rollout = measure(clip("bigbuckbunny.mp4"), poses=PoseOptions(tmp_path / "p.npy"), observers=(seen,))
    write_video_report(tmp_path / "r.html", rollout, seen)
    visited = visit(tmp_path / "r.html")
    healthy(visited, tmp_path / "r.html")
    page = visited.page
    assert page.locator("svg.marks").count() == 1
    assert page.locator(".pictures img").count() == len(rollout.pairs)
    assert "exploratory exponential fit" in page.inner_text("header")
    assert "grid-1" in page.inner_text("main")


@pytest.mark.browser
def test_a_batch(tmp_path: Path, visit: Callable[..., Any]) -> None:
    root = tmp_path / "v"
    for number, fading in enumerate((0.5, 4.0)):
        for case in range(2):
            make_video(root / f"model{number}" / f"case{case}.mp4", case, fading)
    (root / "model0" / "<script>alert(1)<").mkdir()
    (root / "model0" / "<script>alert(1)<" / "x.mp4").write_text("no video")
    records = run_batch(plan([root]), OPTIONS, tmp_path / "out", workers=1)
    write_batch_report(tmp_path / "out" / "report.html", records, leaderboard(records))
    visited = visit(tmp_path / "out" / "report.html")
    healthy(visited, tmp_path / "out" / "report.html")
    page = visited.page
    assert "Best and worst, side by side" in page.inner_text("main")
    kinds = page.eval_on_selector_all(".pictures img", "all => all.map(one => one.src.slice(0, 15))")
    assert kinds.count("data:image/webp") == 2
    assert kinds.count("data:image/jpeg") == 12
    assert page.locator("svg.marks").count() >= 3
    assert "<script>alert(1)<" in page.inner_text("main")


def test_the_page_of_a_batch_whose_videos_are_gone(tmp_path: Path) -> None:
    root = tmp_path / "v"
    for model in ("a", "b"):
        make_video(root / model / "case.mp4", 1, 1.0)
    records = run_batch(plan([root]), OPTIONS, tmp_path / "out", workers=1)
    (root / "a" / "case.mp4").unlink()
    write_batch_report(tmp_path / "r.html", records, leaderboard(records))
    assert "no longer where it was measured" in (tmp_path / "r.html").read_text()


def test_batches_with_nothing_to_show(tmp_path: Path) -> None:
    records = [{"model": "m", "case": "c", "video": "v.mp4", "status": "error", "reason": "unreadable", "detail": "x"}]
    write_batch_report(tmp_path / "r.html", records, leaderboard(records))
    text = (tmp_path / "r.html").read_text()
    assert "unreadable" in text
    assert "Best and worst" not in text


def test_charts_hold_pairs_curve_and_interval() -> None:
    rng = np.random.default_rng(0)
    scores = DECAY + rng.normal(0, 0.02, len(GAPS))
    result = fit_half_life(GAPS, scores)
    spec = pairs_chart(result, GAPS, scores, floor=0.25).spec
    rows = spec["datasets"]["rows"]
    kinds = [row["kind"] for row in rows]
    assert kinds.count("pair") == len(GAPS)
    assert kinds.count("curve") == kinds.count("band") == 80
    assert kinds.count("floor") == kinds.count("half") == 1
    assert result.fit is not None
    curve = np.array([(row["gap"], row["value"]) for row in rows if row["kind"] == "curve"])
    assert curve[:, 1] == pytest.approx(result.fit.value(curve[:, 0]), rel=1e-4)
    for row in rows:
        if row["kind"] == "band":
            at = result.fit.value(row["gap"]).item()
            assert row["low"] - 1e-4 <= at <= row["high"] + 1e-4
            assert 0 < row["high"] - row["low"] < 0.2


@pytest.mark.parametrize("scores", [DECAY[::-1], np.tile([0.5, 0.6], 6), DECAY * 0.01 + 0.5])
def test_refused_fits_are_drawn_too(tmp_path: Path, scores: np.ndarray) -> None:
    result = fit_half_life(GAPS, scores)
    assert result.reason is not None
    write_pairs_report(tmp_path / "r.html", "pairs", result, GAPS, scores)
    assert re.search(result.reason, (tmp_path / "r.html").read_text())
