"""The report document: what is pooled, what is kept apart, and what the reader is warned of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_rows import frame, make_rows, make_run

from memgauge.errors import InputError
from memgauge.metrics.summary import summarise
from memgauge.report.build import build_report, read_record
from memgauge.report.content import measured, report_page
from memgauge.report.terminal import print_report

FEW = 100  # redraws: the numbers are compared with each other, not with the truth


def report(*folders: Path) -> Any:
    return build_report(folders, redraws=FEW, show_progress=False)


def broken(row: dict[str, Any], number: int) -> dict[str, Any]:
    """Every fourth question ends in an error."""
    if number % 4:
        return row
    nothing = dict.fromkeys(("answer", "correct", "score", "confidence"))
    return {**row, **nothing, "outcome": "model_error", "error": "ValueError: no memory \x1b[31mleft\nTraceback ..."}


def test_one_run_is_its_own_summary(tmp_path: Path) -> None:
    rows = make_rows("exact", accuracy=1.0) + make_rows("coin", accuracy=0.5)
    document = report(make_run(tmp_path / "a", rows))
    alone = json.loads(json.dumps(summarise(frame(rows), redraws=FEW)))
    assert {name: document[name] for name in alone} == alone
    assert set(document) == {*alone, "systems", "runs", "warnings", "wrong_answers"}
    assert document["runs"][0]["run"] == "a"
    assert document["runs"][0]["folder"] == str(tmp_path / "a")
    json.dumps(document, allow_nan=False)


def test_runs_are_pooled_and_a_question_counts_once(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", make_rows("exact", lengths=(64,)))
    second = make_run(tmp_path / "b", make_rows("exact", lengths=(64, 128)))
    document = report(first, second)
    assert {(cell["system"], cell["length"], cell["n"]) for cell in document["cells"]} == {
        ("exact", 64, 16), ("exact", 128, 16),
    }  # fmt: skip
    assert "32 questions stand in more than one run" in " ".join(document["warnings"])
    assert document["cells"] == report(second)["cells"]


def test_other_versions_of_a_system_are_other_systems(tmp_path: Path) -> None:
    old = make_run(tmp_path / "old", make_rows("mine"), make_rows("exact"))
    new = make_run(
        tmp_path / "new",
        make_rows("mine", accuracy=1.0, version="2"),
        systems=[{"name": "mine", "fingerprint": "mine v2"}],
    )
    document = report(old, new)
    assert {cell["system"] for cell in document["cells"]} == {"exact", "mine @ old", "mine @ new"}
    assert any("'mine'" in warning and "version" in warning for warning in document["warnings"])
    pair = next(c for c in document["comparisons"] if {c["system_a"], c["system_b"]} == {"mine @ old", "mine @ new"})
    assert pair["n"] == 16


@pytest.mark.parametrize("part", ["judge", "embedder"])
def test_other_judges_are_never_mixed(tmp_path: Path, part: str) -> None:
    folders = [make_run(tmp_path / name, make_rows("s", version=name), **{part: {"model": name}}) for name in "ab"]
    document = report(*folders)
    assert {cell["system"] for cell in document["cells"]} == {"s @ a", "s @ b"}


def test_two_answers_to_one_question_are_never_mixed(tmp_path: Path) -> None:
    folders = [make_run(tmp_path / name, make_rows("s", version=name)) for name in "ab"]
    document = report(*folders)
    assert {cell["system"] for cell in document["cells"]} == {"s @ a", "s @ b"}
    assert any("different answers to the same questions" in warning for warning in document["warnings"])


def test_equal_episode_names_of_other_data_are_other_episodes(tmp_path: Path) -> None:
    folders = [
        make_run(tmp_path / name, make_rows("s", version=name), data={"identity": {"made": True, "seed": seed}})
        for seed, name in enumerate("ab")
    ]
    document = report(*folders)
    assert {(cell["system"], cell["episodes"], cell["n"]) for cell in document["cells"]} == {("s", 8, 32)}
    other = make_run(tmp_path / "c", make_rows("t"), data={"identity": {"made": True, "seed": 9}})
    document = report(folders[0], other)
    assert {pair["n"] for pair in document["comparisons"]} <= {0}
    assert "no two systems answered the same questions" in report_page(document)


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [make_run(tmp_path / place / "run", make_rows("s", version=place)) for place in "ab"]
    names = {cell["system"] for cell in report(*folders)["cells"]}
    assert names == {f"s @ {folder}" for folder in folders}


def test_errors_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    document = report(make_run(tmp_path / "a", make_rows("mine", change=broken), make_rows("exact")))
    warning = next(w for w in document["warnings"] if w.startswith("mine"))
    assert "16 of 64 questions ended in an error (model error 16)" in warning
    assert "episode low-64-0" in warning
    assert "ValueError: no memory \\x1b[31mleft" in warning
    assert "Traceback" not in warning
    cell = next(cell for cell in document["cells"] if cell["system"] == "mine")
    assert cell["accuracy_worst"] < cell["accuracy"]["value"] < cell["accuracy_best"]


def test_answers_that_wait_for_a_judge_are_no_errors(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("correct", "score", "confidence"))
    waiting = make_rows("mine", change=lambda row, _: {**row, **nothing, "outcome": "pending"})
    said = report(make_run(tmp_path / "a", waiting))["warnings"]
    assert any("mine: 64 of 64 answers wait for a judge (`memgauge judge run`)" in warning for warning in said)
    assert not any("ended in an error" in warning for warning in said)


def test_unfinished_runs_small_cells_notes_and_versions_are_said(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", make_rows("exact"), finished=False, notes=["exact: reads were not checked"])
    b = make_run(tmp_path / "b", make_rows("coin", episodes=20), versions={"memgauge": "0.2.0", "numpy": "2"})
    said = " ".join(report(a, b)["warnings"])
    assert f"{a} is not finished" in said
    assert "exact: reads were not checked" in said
    assert "4 of 8 cells have fewer than 20 episodes" in said
    assert "memgauge 0.1.0 and 0.2.0" in said
    assert "numpy" not in said


def test_a_good_run_has_no_warning(tmp_path: Path) -> None:
    assert report(make_run(tmp_path / "a", make_rows("exact", episodes=20)))["warnings"] == []


def test_a_run_without_a_record_and_single_files(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", make_rows("exact"))
    (folder / "run.json").unlink()
    assert "has no run.json" in " ".join(report(folder)["warnings"])
    document = report(folder / "responses.parquet")
    assert document["runs"] == [{"folder": str(folder / "responses.parquet")}]
    report_page(document)


@pytest.mark.parametrize("content", ["{", "[1]", "\xff", "null", '{"a": ' * 3000])
def test_a_broken_record_names_the_file(tmp_path: Path, content: str) -> None:
    folder = make_run(tmp_path / "a", make_rows("exact"))
    (folder / "run.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=r"run\.json"):
        report(folder)


def test_a_huge_record_is_not_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", make_rows("exact"))
    with (folder / "run.json").open("wb") as file:
        file.truncate(17 * 1024**2)
    with pytest.raises(InputError, match="larger than 16 MiB"):
        read_record(folder)


@pytest.mark.parametrize(
    "record",
    [
        {"systems": "none", "versions": [1], "data": 3, "commands": 5, "notes": "x", "machine": None},
        {"systems": [None, {"name": None, "expected": {"x": 1, "64": {"value": "high"}}}], "versions": {"numpy": None}},
        {"systems": [{"expected": {"64": {"value": True}}}], "created": 5, "command": "memgauge", "commands": None},
        {"data": {"identity": None}, "finished": "perhaps", "machine": {"cores": [1, {"a": float("nan")}]}},
        {"data": "\ud800", "extra": {"\ud800": "\ud800"}},
    ],
)
def test_odd_records_are_shown_and_do_no_harm(tmp_path: Path, record: dict[str, Any]) -> None:
    document = report(make_run(tmp_path / "a", make_rows("exact"), **record))
    report_page(document).encode()
    json.dumps(document, allow_nan=False, ensure_ascii=False).encode()


def test_unreadable_runs(tmp_path: Path) -> None:
    for source in (tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match=str(source)):
            report(source)
    (tmp_path / "responses.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        report(tmp_path)
    with pytest.raises(InputError, match="give one or more"):
        report()


def empty(folder: Path) -> Path:
    return make_run(folder)


def only_errors(folder: Path) -> Path:
    nothing = dict.fromkeys(("answer", "correct", "score", "confidence", "flops_read", "flops_write", "state_bits"))
    return make_run(folder, make_rows("bad", change=lambda row, _: {**row, **nothing, "outcome": "judge_error"}))


def one_question(folder: Path) -> Path:
    return make_run(folder, make_rows("exact", lengths=(64,), splits=("max",), episodes=1, queries=1))


def all_abstained(folder: Path) -> Path:
    silent = {"answer": None, "correct": False, "score": 0.0, "outcome": "abstained", "abstain_kind": "explicit"}
    return make_run(folder, make_rows("shy", arms=("A", "B"), change=lambda row, _: {**row, **silent}))


def words(folder: Path) -> Path:
    """A task of abilities, without bands, ages, costs or yes and no."""

    def change(row: dict[str, Any], number: int) -> dict[str, Any]:
        gone = dict.fromkeys(("negatives", "age", "age_unit", "confidence", "flops_write", "flops_read", "state_bits"))
        return {**row, **gone, "gold": f"answer {number}", "score": 0.5, "tokens_in": 32_000, "seconds_write": 1.5}

    return make_run(folder, make_rows("agent", task="memlens", splits=("recall", "update"), change=change))


@pytest.mark.parametrize("make", [empty, only_errors, one_question, all_abstained, words])
def test_unusual_runs_give_a_document_a_page_and_a_table(tmp_path: Path, make: Any, capsys: Any) -> None:
    document = report(make(tmp_path / "run"))
    json.dumps(document, allow_nan=False)
    page = report_page(document)
    assert page.count("<section") >= 12
    assert "nan" not in page.split("<script")[0].lower().replace("banana", "")
    print_report(document)
    assert capsys.readouterr().out
    if make is only_errors:
        assert "64 of 64 questions ended in an error (judge error 64)" in page
    if make is empty:
        assert "nothing was measured" in page


def test_the_page_shows_the_numbers_of_the_document(tmp_path: Path) -> None:
    document = report(make_run(tmp_path / "a", make_rows("exact", accuracy=1.0), make_rows("coin", accuracy=0.5)))
    page = report_page(document)
    assert "2 memory systems answered 128 questions about 16 episodes of task ecc-tokens" in page
    for cell in document["cells"]:
        if cell["length"] == 128 and cell["split"] == "max":
            value, low, high = (100 * cell["accuracy"][name] for name in ("value", "low", "high"))
            assert f"{value:.1f}<small>[{low:.1f}, {high:.1f}]</small>" in page
    assert "run 2025-11-29, memgauge 0.1.0" in page
    assert "<code>memgauge run ecc-tokens</code>" in page


def test_known_answers_stand_beside_what_was_measured(tmp_path: Path) -> None:
    systems = [
        {"name": "exact", "fingerprint": "f", "expected": {"64": {"value": 0.5, "exact": False, "note": "rough"}}}
    ]
    page = report_page(report(make_run(tmp_path / "a", make_rows("exact", accuracy=1.0), systems=systems)))
    row = page[page.index("approximate: rough") - 400 : page.index("approximate: rough")]
    assert ">100.0<small>" in row
    assert ">50.0<" in row


def test_what_was_saved_and_the_budgets_are_in_the_page(tmp_path: Path) -> None:
    document = report(make_run(tmp_path / "a", make_rows("exact", accuracy=1.0), make_rows("coin", accuracy=0.5)))
    page = report_page(document)
    assert "near the ceiling on incompressible input" in page
    assert "Accuracy at FLOPs budgets" in page
    assert "FLOPs ratio" in page


def test_polars_is_not_changed_by_the_report(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", make_rows("exact"))
    before = pl.read_parquet(folder / "responses.parquet")
    report(folder)
    assert pl.read_parquet(folder / "responses.parquet").equals(before)


def test_a_question_asked_twice_in_one_run_counts_once_and_is_said(tmp_path: Path) -> None:
    rows = make_rows("exact", lengths=(64,))
    again = [broken({**row, "key": f"0{row['key']}"}, 0) for row in rows[:5]]
    document = report(make_run(tmp_path / "a", again, rows))
    assert {cell["n"] for cell in document["cells"]} == {16}
    assert {cell["scored"] for cell in document["cells"]} == {16}
    assert any(warning.startswith("5 rows ask a system the same question again") for warning in document["warnings"])


def test_an_answer_in_one_run_beats_the_error_of_another(tmp_path: Path) -> None:
    rows = make_rows("exact", lengths=(64,))
    folders = [
        make_run(tmp_path / "a", [broken(row, number) for number, row in enumerate(rows)]),
        make_run(tmp_path / "b", rows),
    ]
    first, second = report(*folders), report(*reversed(folders))
    assert {cell["scored"] for cell in first["cells"]} == {16}
    assert first["cells"] == second["cells"]


def test_episodes_are_counted_once_over_kinds_of_negatives(tmp_path: Path) -> None:
    tables = [make_rows("exact", lengths=(64,), negatives=kind) for kind in ("uniform", "matched")]
    assert "about 8 episodes" in measured(report(make_run(tmp_path / "a", *tables)))
