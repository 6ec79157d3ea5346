from __future__ import annotations

import copy
import json
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_sample import SYSTEMS, make_document

from memgauge.errors import InputError
from memgauge.report import tables
from memgauge.report.charts import FAMILIES, draw
from memgauge.report.charts.export import export_charts
from memgauge.report.charts.grouping import groups, widest
from memgauge.report.charts.theme import MAX_ROWS, Labels, columns_for, finish, split_scale, thin
from memgauge.report.page import VEGA_LITE, Chart, Text

PARTS = (
    "cells",
    "curves",
    "capacity",
    "efficiency",
    "compression",
    "calibration",
    "confidence",
    "forgetting",
    "comparisons",
)


def charts_of(blocks: Any) -> list[Chart]:
    return [block for block in blocks if isinstance(block, Chart)]


def rows_of(chart: Chart) -> list[dict[str, Any]]:
    return chart.spec["datasets"]["rows"]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_document(arms=("none", "A", "B"))


@pytest.fixture(scope="module")
def drawn(document: dict[str, Any]) -> dict[str, Any]:
    return draw(document)


def test_every_family_draws_something(drawn: dict[str, Any]) -> None:
    assert set(drawn) == set(FAMILIES)
    assert {name: len(charts_of(blocks)) for name, blocks in drawn.items()} == {
        "capacity": 1, "state": 2, "flops": 4, "compression": 2, "payoff": 2, "confidence": 2, "forgetting": 2,
        "outcomes": 1, "abilities": 0, "arms": 0, "ages": 0, "risk": 0,
    }  # fmt: skip
    names = [chart.name for blocks in drawn.values() for chart in charts_of(blocks)]
    assert len(set(names)) == len(names)


def test_every_specification_compiles_and_stays_small(drawn: dict[str, Any]) -> None:
    import vl_convert

    for blocks in drawn.values():
        for chart in charts_of(blocks):
            assert 0 < len(rows_of(chart)) <= MAX_ROWS
            vl_convert.vegalite_to_vega(json.dumps(chart.spec, allow_nan=False), vl_version=VEGA_LITE)
            assert chart.caption.endswith(".")


def test_nothing_to_draw_is_said_in_a_sentence(document: dict[str, Any]) -> None:
    empty = {**document, **{part: [] for part in PARTS}}
    for blocks in draw(empty).values():
        assert [type(block) for block in blocks] == [Text]
        assert blocks[0].text.endswith(".")


def test_null_numbers_draw_what_is_left() -> None:
    document = make_document(SYSTEMS[:3], lengths=(64,), negatives=("uniform",))
    nothing = {"value": None, "low": None, "high": None, "note": "nothing"}
    for cell in document["cells"]:
        cell.update(state_bits=None, accuracy=nothing)
    for row in document["compression"]:
        row["comp"] = nothing
    for row in document["curves"]:
        row["points"] = []
    for row in document["forgetting"]:
        row["bins"] = [{**b, "value": None} for b in row["bins"]]
        row["half_life"] = None
    made = draw(document)
    assert {name for name, blocks in made.items() if charts_of(blocks)} == {"confidence", "outcomes"}


def test_curves_show_the_cells_they_name(document: dict[str, Any], drawn: dict[str, Any]) -> None:
    chart = next(c for c in charts_of(drawn["flops"]) if c.name.endswith("uniform-none-L1024"))
    assert "L = 1,024" in chart.title
    curve = next(
        c for c in document["curves"]
        if (c["system"], c["split"], c["length"], c["arm"], c["negatives"]) == ("coin", "max", 1024, "none", "uniform")
    )  # fmt: skip
    shown = [r for r in rows_of(chart) if r["panel"].startswith("coin\n") and r["split"] == "max entropy"]
    assert shown[0]["value"] == 0
    assert shown[0]["flops"] == curve["points"][0]["flops"]
    assert [r["value"] for r in shown[1:-1]] == pytest.approx([p["value"] for p in curve["points"]], abs=1e-4)
    assert shown[-1]["flops"] == max(r["flops"] for r in rows_of(chart))  # the level goes on to the right edge
    assert shown[-1]["value"] == shown[-2]["value"]
    assert len({r["panel"] for r in rows_of(chart)}) == len(SYSTEMS)


def test_bounds_are_those_of_theory_and_only_where_they_hold(drawn: dict[str, Any]) -> None:
    from memgauge.streams.theory import best_known_scheme, converse

    uniform, matched = charts_of(drawn["state"])
    lines = [row for row in rows_of(uniform) if row["kind"] != "system"]
    assert {row["panel"] for row in lines} == {f"L = {length:,}, max entropy" for length in (256, 1024, 4096)}
    assert not [row for row in rows_of(matched) if row["kind"] != "system"]
    for row in lines[::17]:
        length = next(n for n in (256, 1024, 4096) if row["panel"].startswith(f"L = {n:,},"))
        if row["kind"] == "converse bound":
            assert row["value"] == pytest.approx(converse(length, row["bits"]), abs=1e-4)
        else:
            name, accuracy = best_known_scheme(length, row["bits"])
            assert (row["scheme"], row["value"]) == (name, pytest.approx(accuracy, abs=1e-4))


def test_payoff_arms_are_left_to_their_own_charts(drawn: dict[str, Any]) -> None:
    for family in ("capacity", "state", "flops", "compression", "forgetting"):
        assert not [chart for chart in charts_of(drawn[family]) if "arm" in chart.title]
    coverage = next(c for c in charts_of(drawn["payoff"]) if "Coverage" in c.title)
    assert {row["arm"] for row in rows_of(coverage)} == {"arm A", "arm B"}


def test_a_task_asked_only_under_arms_is_drawn_all_the_same() -> None:
    made = draw(make_document(SYSTEMS[:2], arms=("A", "B"), negatives=("uniform",)))
    assert "arm A" in charts_of(made["state"])[0].title


def test_no_half_life_no_curve(document: dict[str, Any], drawn: dict[str, Any]) -> None:
    chart = charts_of(drawn["forgetting"])[0]
    titles = dict(zip(SYSTEMS, chart.spec["facet"]["sort"], strict=True))
    fitted = {row["panel"] for row in rows_of(chart) if row["kind"] == "fit"}
    supported = {row["system"] for row in document["forgetting"] if row["half_life"]["half_life"] is not None}
    assert fitted == {titles[name] for name in supported}
    assert len(fitted) < len(SYSTEMS)


def test_two_age_scales() -> None:
    near = make_document(SYSTEMS[:2], lengths=(64,), negatives=("uniform",))
    far = copy.deepcopy(near)
    for row in far["forgetting"]:
        row["bins"][0].update(age_low=0.0, age_mean=0.0)
        row["bins"][1].update(age_low=1.0, age_mean=1.0)
        row["bins"][-1].update(age_mean=50_000.0, age_high=60_000.0)
    scales = []
    for document in (near, far):
        chart = charts_of(FAMILIES["forgetting"](document, Labels(SYSTEMS)))[0]
        scales.append(chart.spec["spec"]["layer"][0]["encoding"]["x"]["scale"].get("type", "linear"))
        assert all(row["age"] > 0 for row in rows_of(chart)) or scales[-1] == "linear"
    assert scales == ["linear", "log"]


def test_what_is_not_drawn_is_named() -> None:
    document = make_document(SYSTEMS[:2], lengths=(8, 16, 32, 64, 128), negatives=("uniform", "matched"))
    blocks = FAMILIES["flops"](document, Labels(SYSTEMS))
    assert len(charts_of(blocks)) == 4
    said = next(block.text for block in blocks if isinstance(block, Text))
    for missing in ("uniform negatives, L = 16", "matched negatives, L = 64"):
        assert missing in said


def test_labels_of_names_that_look_alike() -> None:
    names = ["a" * 100 + str(i) + "b" * 100 for i in range(3)] + ["x\u202ey", "x\\u202ey"]
    labels = Labels(names)
    assert len({labels[name] for name in names}) == len(names)
    assert all(len(labels[name]) <= 40 for name in names)


def test_styles_tell_24_systems_apart_and_do_not_depend_on_the_chart() -> None:
    names = [f"system {i}" for i in range(24)]
    labels = Labels(names)
    shown, colours, dashes, shapes = labels.style(names)
    assert len(set(zip(colours, map(tuple, dashes), strict=True))) == 24
    assert len(set(zip(colours, shapes, strict=True))) == 24
    _, some, _, _ = labels.style(names[5:7])
    assert some == colours[5:7]
    assert shown == names


def test_bands_have_the_paper_s_colours() -> None:
    names, colours, dashes = split_scale(["max", "other", "low"])
    style = dict(zip(names, zip(colours, map(tuple, dashes), strict=True), strict=True))
    assert style["low entropy"] == ("#0072b2", (1, 0))
    assert style["max entropy"][0] == "#d55e00"
    assert style["max entropy"][1] != (1, 0)
    assert len(set(colours)) == 3


@given(st.integers(1, 3000), st.integers(1, 60))
def test_thinning_keeps_the_ends(count: int, limit: int) -> None:
    kept = thin(count, limit)
    assert len(kept) <= max(limit, 1)
    assert kept == sorted(set(kept))
    assert kept[-1] == count - 1
    if limit > 1:
        assert kept[0] == 0


@given(st.integers(1, 60))
def test_columns_leave_few_gaps(panels: int) -> None:
    columns = columns_for(panels)
    assert 1 <= columns <= 5
    assert -panels % columns <= min(-panels % c for c in (3, 4, 5) if c <= max(panels, 3))


def test_too_many_rows_are_refused() -> None:
    import altair as alt

    chart = alt.Chart(alt.NamedData(name="rows")).mark_point().encode(x="a:Q")
    with pytest.raises(ValueError, match="aggregate"):
        finish(chart, [{"a": 1}] * (MAX_ROWS + 1))


def test_the_paper_s_protocol_comes_first() -> None:
    rows = [
        {"task": "ecc-text", "negatives": negatives, "arm": arm, "subtype": None, "length": 8, "system": "s"}
        for arm in ("A", "none")
        for negatives in ("matched", "uniform")
    ]
    shown, beyond = groups(rows, limit=1)
    assert [(g.negatives, g.arm) for g in shown] == [("uniform", "none")]
    assert [(g.negatives, g.arm) for g in beyond] == [("matched", "none")]


def test_the_widest_pool_of_each_system() -> None:
    base = {"task": "t", "negatives": None, "subtype": None}
    rows = [{**base, "system": "a", "pooled": p} for p in ("none", "none", "all", "splits")]
    rows += [{**base, "system": "b", "pooled": "none"}] * 2
    assert [(row["system"], row["pooled"]) for row in widest(rows)] == [("a", "all"), ("b", "none"), ("b", "none")]


def test_exported_files_are_whole_pictures(tmp_path: Path) -> None:
    document = make_document(("exact", '</script><b>&amp; "quoted"'), lengths=(64, 128), negatives=("uniform",))
    blocks = [*charts_of(draw(document)["capacity"]), *charts_of(draw(document)["compression"])]
    blocks[0] = Chart("../" + blocks[0].name, blocks[0].spec, "", title=blocks[0].title)
    files = export_charts([*blocks, Text("no chart")], tmp_path / "charts", ("png", "svg", "pdf"))
    assert sorted(p.name for p in files) == sorted(p.name for p in (tmp_path / "charts").iterdir())
    assert len(files) == 6
    assert all(p.parent == tmp_path / "charts" for p in files)
    for path in files:
        data = path.read_bytes()
        if path.suffix == ".png":
            assert data[:8] == b"\x89PNG\r\n\x1a\n"
            width, height = struct.unpack(">II", data[16:24])
            assert width > 900
            assert height > 300
            pixels = _inflated(data)
            assert len(set(pixels[: 4 * width * height])) > 10  # something is drawn
        elif path.suffix == ".svg":
            root = ElementTree.fromstring(data.decode())
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            texts = " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))
            assert "exact" in texts
            assert '</script><b>&amp; "quoted"' in texts
        else:
            assert data.startswith(b"%PDF-")
            assert data.rstrip().endswith(b"%%EOF")
            assert b"/Page" in data


def _inflated(png: bytes) -> bytes:
    """The image data of a PNG, which has a checksum on every chunk."""
    at, packed = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", png[at + 8 + size : at + 12 + size])
        assert zlib.crc32(kind + body) == check
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    return zlib.decompress(packed)


def test_equal_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    spec = charts_of(draw(make_document(("exact",), lengths=(64, 128)))["outcomes"])[0].spec
    files = export_charts([Chart("a/b", spec, ""), Chart("a.b", spec, "")], tmp_path, ("svg",))
    assert [path.name for path in files] == ["a-b.svg", "a-b-2.svg"]


def test_an_unknown_format_names_the_near_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="svg"):
        export_charts([], tmp_path, ("svgz",))


def test_bounds_of_sixteen_symbols_are_not_drawn_for_video() -> None:
    for task, bounded in (("ecc-text", True), ("ecc-video", False), ("ecc-video-synth", False)):
        (chart,) = charts_of(draw(make_document(SYSTEMS[:2], negatives=("uniform",), task=task))["state"])
        assert any(row["kind"] != "system" for row in rows_of(chart)) == bounded
        assert ("converse" in chart.caption) == bounded


def test_the_axes_of_a_length_show_the_payoff_arms_of_that_length() -> None:
    document = make_document(SYSTEMS[:2], arms=("none", "A", "B"), lengths=(256, 1024), negatives=("uniform",))
    for row in document["calibration"]:
        row["responsiveness"] = {"value": 0.1 * len(row["lengths"]) + row["lengths"][0] / 10_000, "low": None,
                                 "high": None, "note": None}  # fmt: skip
    group = tables.main_groups(document)[0]
    table = tables.axes_table(document, group, tables.Lookup(document), [256, 1024])
    place = next(i for i, name in enumerate(table.columns) if str(name).startswith("responsive-ness"))
    shown = [line[place] for line in table.rows]
    assert [cell.sort for cell in shown if not isinstance(cell, str)] == pytest.approx([0.1256, 0.2024] * 2)
