"""The report of runs about conversations: document, page, charts, terminal and command."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_rows import make_rows, make_run
from visiting import Visit

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.report.build import build_report
from memgauge.report.charts import draw
from memgauge.report.content import report_page
from memgauge.report.memlens.inputs import question_ids, read_sizes
from memgauge.report.page import VEGA_LITE, Chart
from memgauge.report.terminal import WIDTH, print_report

sys.path.insert(0, str(Path(__file__).parents[1] / "metrics"))

from memlens_rows import answer, questions, system_rows

LENGTHS = {32768: 0.6, 65536: 0.5, 131072: 0.4}
SECTIONS = (
    "Abilities", "Declining to answer", "Longer histories", "Pictures and oracles", "Across systems",
    "Age of the evidence", "Risk and coverage", "Outputs and costs",
)  # fmt: skip
HOSTILE = "<img src=x onerror=window.hacked=1>\x1b[31m"


def two_systems(folder: Path, *more: Any, **record: Any) -> Path:
    return make_run(
        folder,
        system_rows("good", LENGTHS, confident=True),
        system_rows("poor", {length: share / 2 for length, share in LENGTHS.items()}),
        system_rows("good", LENGTHS, arm="text-only", seed=3),
        system_rows("good", {32768: 0.95}, arm="oracle-sessions", only=("IE", "MSR", "TR", "KU")),
        *more,
        tasks=["memlens"],
        **record,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_systems(tmp_path_factory.mktemp("memlens") / "run")


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    subset = {name for number, (name, *_) in enumerate(questions()) if number % 4 == 0}
    found = build_report([folder], redraws=100, sizes={"good": 8.0}, subset=subset, show_progress=False)
    json.dumps(found, allow_nan=False)
    return dict(found)


@pytest.fixture(scope="module")
def page(document: dict[str, Any]) -> str:
    return report_page(document)


def headings(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>(.*?)</h2>", page)


def test_the_page_has_every_section_and_none_about_streams(page: str) -> None:
    assert [title for title in headings(page) if title in SECTIONS] == list(SECTIONS)
    assert not {"The four axes", "Capacity", "Compression", "Efficiency", "Calibration"} & set(headings(page))
    assert "Comparisons" in headings(page)
    assert "payoff arm" not in page.split("<main")[0]


def test_the_page_shows_the_numbers_of_the_document(page: str, document: dict[str, Any]) -> None:
    memlens = document["memlens"]
    for row in memlens["overall"]:
        value, low, high = (100 * row["micro"][name] for name in ("value", "low", "high"))
        assert f"{value:.1f}<small>[{low:.1f}, {high:.1f}]</small>" in page
    family = memlens["degradation"]
    assert f"m = {family['by_ability']['m']}" in page
    assert f"Nominal increases with length: m = {family['increases']['m']}" in page
    assert f"p × {family['by_ability']['m']}" in page
    assert "32K → 64K" in page
    assert "none → oracle-sessions" in page
    assert "fewer than 4 systems (2): no rank correlation" in page
    for text in ("flip back", "Retention", "by chance", "over-refusal", "Recall of every age bin", "AURC"):
        assert text in page


def test_what_is_undefined_is_said_and_never_nan(tmp_path: Path, capsys: Any) -> None:
    made = [
        ("one", [answer("s", 32000, questions()[0], True)]),
        ("errors", [answer("s", 32000, q, True, outcome="model_error") for q in questions()]),
        ("shy", [answer("s", n, q, None, raw_output=None) for n in (32, 64) for q in questions()]),
        ("score", [answer("s", 32, questions()[0], True, correct=None, score=0.5)]),
    ]
    for name, rows in made:
        document = build_report([make_run(tmp_path / name, rows)], redraws=100, show_progress=False)
        json.dumps(document, allow_nan=False)
        page = report_page(document)
        assert [title for title in headings(page) if title in SECTIONS] == list(SECTIONS)
        assert not re.search(r"\bnan\b", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL), re.IGNORECASE)
        print_report(document)
        assert not re.search(r"\bnan\b", capsys.readouterr().out, re.IGNORECASE)


def test_the_terminal_shows_a_table_of_each_kind(document: dict[str, Any]) -> None:
    file = io.StringIO()
    print_report(document, file)
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= WIDTH
    for title in ("accuracy (%)", "declining (%)", "longer histories (m = ", "verdicts that change back",
                  "arms on the same questions (m = ", "outputs, and costs a question", "half-life"):  # fmt: skip
        assert f"conversations: {title}" in text
    row = next(
        r for r in document["memlens"]["overall"] if (r["system"], r["arm"], r["length"]) == ("poor", "none", 65536)
    )
    value, low, high = (100 * row["micro"][name] for name in ("value", "low", "high"))
    assert f"{value:.1f} [{low:.0f},{high:.0f}]" in text
    assert "Comp" not in text


def test_every_chart_compiles(document: dict[str, Any]) -> None:
    import vl_convert

    drawn = draw(document)
    charts = [block for family in ("abilities", "arms", "ages", "risk") for block in drawn[family]]
    assert [chart.name for chart in charts if isinstance(chart, Chart)] == [
        "memlens-abilities", "memlens-arms", "memlens-age-sessions", "memlens-age-days", "memlens-risk",
    ]  # fmt: skip
    for chart in charts:
        vl_convert.vegalite_to_vega(json.dumps(chart.spec, allow_nan=False), vl_version=VEGA_LITE)
        assert chart.caption.endswith(".")
    values = charts[0].spec["datasets"]["rows"]
    assert {value["panel"] for value in values} == {
        "all questions", "IE: information extraction", "MSR: multi-session reasoning", "TR: temporal reasoning",
        "KU: knowledge update", "AR: answer refusal",
    }  # fmt: skip


def test_streams_and_conversations_in_one_report(tmp_path: Path) -> None:
    both = make_run(tmp_path / "both", make_rows("exact"), system_rows("good", LENGTHS))
    alone = make_run(tmp_path / "alone", make_rows("exact"))
    mixed, plain = (build_report([path], redraws=100, show_progress=False) for path in (both, alone))
    page = report_page(mixed)
    assert {"The four axes", "Capacity", "Abilities"} <= set(headings(page))
    assert plain["memlens"] is None
    assert not set(SECTIONS) & set(headings(report_page(plain)))
    for family in ("capacity", "state", "flops", "compression"):
        specs = [[block.spec for block in draw(d)[family] if isinstance(block, Chart)] for d in (mixed, plain)]
        assert specs[0] == specs[1]


def test_many_lines_are_cut_and_counted(tmp_path: Path) -> None:
    rows = [system_rows(f"system-{n:02d}", LENGTHS, seed=n) for n in range(41)]
    document = build_report([make_run(tmp_path / "many", *rows)], redraws=100, show_progress=False)
    page = report_page(document)
    family = document["memlens"]["degradation"]["by_ability"]  # type: ignore[index]
    assert family["m"] == 41 * 5 * 2
    assert "10 more lines are in" in page
    assert "Drawn are the first 40 of 41 systems" in page
    assert len(document["memlens"]["correlations"]) == 3 * (10 + 28)  # type: ignore[index]
    assert "ρ over systems, 32K tokens" in page


def test_the_command_takes_sizes_and_a_subset(folder: Path, tmp_path: Path, capsys: Any) -> None:
    sizes, subset = tmp_path / "sizes.json", tmp_path / "ids.json"
    sizes.write_text(json.dumps({"good": 8, "poor": 2.5}))
    subset.write_text(json.dumps({"n_questions": 2, "question_ids": [name for name, *_ in questions()[:2]]}))
    command = ["report", str(folder), "--json", "--redraws", "100", "--sizes", str(sizes), "--subset", str(subset)]
    assert run(command) == 0
    memlens = json.loads(capsys.readouterr().out)["memlens"]
    assert {row["size"] for row in memlens["retention"]} == {8.0, 2.5}
    assert {row["subset"] for row in memlens["rankings"]} == {2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "give a JSON object"),
        ("{}", "give a JSON object"),
        ("{", "not JSON"),
        ('{"good": -1}', "the size of 'good' is -1; it must be a number above 0"),
        ('{"good": true}', "the size of 'good' is True"),
        ('{"good": NaN}', "the size of 'good' is nan"),
        ('{"good": "8B"}', "the size of 'good' is '8B'"),
    ],
)
def test_sizes_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "sizes.json"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        read_sizes(path)


def test_inputs_that_cannot_be_used(folder: Path, tmp_path: Path, capsys: Any) -> None:
    sizes = tmp_path / "sizes.json"
    sizes.write_text('{"goood": 8}')
    assert run(["report", str(folder), "--sizes", str(sizes), "--redraws", "100"]) == 2
    assert "unknown system 'goood'" in capsys.readouterr().err
    assert run(["report", str(folder), "--sizes", str(tmp_path / "absent.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert run(["report", str(folder), "--subset", "agent"]) == 2
    assert "no run says where its data are" in capsys.readouterr().err


def test_the_agents_subset_is_found_beside_the_data(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "agent_subset_195.json").write_text(json.dumps({"n_questions": 1, "question_ids": ["q_1"]}))
    run_folder = two_systems(tmp_path / "run", data={"identity": {}, "folder": str(data)})
    assert question_ids("agent", [run_folder]) == {"q_1"}


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_in_a_browser(page: str, tmp_path: Path, visit: Callable[..., Visit], width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    visited = visit(path, width)
    assert visited.messages == []
    assert [url for url in visited.requests if not url.startswith(("data:", "blob:"))] == [path.resolve().as_uri()]
    plots = visited.page.locator(".plot").count()
    assert plots >= 5
    assert visited.page.locator(".plot svg.marks").count() == plots
    assert visited.page.locator(".failed").count() == 0
    assert visited.page.evaluate("document.documentElement.scrollWidth") <= width
    too_wide = "Array.from(document.querySelectorAll('.sheet')).filter(s => s.scrollWidth > s.clientWidth + 1).length"
    assert visited.page.evaluate(too_wide) == 0
    for fold in visited.page.locator("main > section > details > summary").all():
        fold.click()
    assert visited.messages == []
    links = visited.page.evaluate("Array.from(document.querySelectorAll('nav a')).map(e => e.textContent)")
    assert [title for title in links if title in SECTIONS] == list(SECTIONS)


@pytest.mark.browser
def test_hostile_names_do_nothing(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    rows = [
        answer(f"{HOSTILE}{n}", length, (name, f"{HOSTILE}", f"{HOSTILE}-{subtype}", HOSTILE), number % 3 > n,
               arm=arm, kind=HOSTILE, age=float(number), age_unit="sessions", confidence=0.5)
        for n in (0, 1) for arm in ("none", HOSTILE) for length in (32, 64)
        for number, (name, _, subtype, _) in enumerate(questions())
    ]  # fmt: skip
    document = build_report([make_run(tmp_path / "run", rows)], redraws=100, show_progress=False)
    path = tmp_path / "report.html"
    path.write_text(report_page(document), encoding="utf-8")
    visited = visit(path)
    assert visited.messages == []
    assert visited.page.evaluate("window.hacked") is None
    assert visited.page.locator(".failed").count() == 0
    file = io.StringIO()
    print_report(document, file)
    assert "\x1b" not in file.getvalue()
    assert max(map(len, file.getvalue().splitlines())) <= WIDTH
