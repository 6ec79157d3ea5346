"""The page in a headless Chromium: hostile names run nothing and fetch nothing, and every chart is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_sample import SYSTEMS, make_document
from test_page import HOSTILE
from visiting import Visit

from memgauge.report.content import report_page
from memgauge.report.page import Cell, Section, Table, render_page

pytestmark = pytest.mark.browser

TOO_WIDE = """Array.from(document.querySelectorAll('.sheet')).filter(s => s.scrollWidth > s.clientWidth + 1)
  .map(s => s.parentElement.querySelector('h3').textContent)"""


def write(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "report.html"
    path.write_text(report_page(document), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = make_document(lengths=(256, 1024), negatives=("uniform",), arms=("none", "A", "B"))
    document["warnings"] = ["A run is not finished."]
    return write(tmp_path_factory.mktemp("ordinary"), document)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every string that a run could bring along is an attack."""
    first = HOSTILE[0]
    document = make_document(HOSTILE, lengths=(64, 128), negatives=(HOSTILE[1],), task=f"ecc-{first}")
    document["warnings"] = list(HOSTILE)
    document["notes"] = list(HOSTILE)
    for number, cell in enumerate(document["cells"]):
        cell["notes"] = [HOSTILE[number % len(HOSTILE)]]
    for row in document["forgetting"]:
        row["unit"], row["note"] = first, HOSTILE[1]
    for curve in document["curves"]:
        curve["note"] = first
    run = document["runs"][0]
    run.update({text: text for text in HOSTILE})
    run.update(run=first, folder=first, created=first, versions={text: text for text in HOSTILE}, command=HOSTILE)
    run["systems"] = [{"name": t, "spec": t, "description": t, "fingerprint": t} for t in HOSTILE]
    return write(tmp_path_factory.mktemp("hostile"), document)


def assert_quiet(visited: Visit, path: Path) -> None:
    """Nothing was fetched but the page, and nothing was said."""
    assert [url for url in visited.requests if not url.startswith(("data:", "blob:"))] == [path.resolve().as_uri()]
    assert visited.messages == []


def assert_drawn(page: Any) -> None:
    plots = page.locator(".plot").count()
    assert plots > 0
    assert page.locator(".plot svg.marks").count() == plots
    assert page.locator(".failed").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_drawn_whole_and_offline(ordinary: Path, visit: Callable[..., Visit], width: int) -> None:
    visited = visit(ordinary, width)
    assert_quiet(visited, ordinary)
    assert_drawn(visited.page)
    assert visited.page.evaluate("document.documentElement.scrollWidth") <= width
    # Charts fit their sheets: nobody has to scroll to see the last panel.
    assert visited.page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_names_do_nothing(hostile: Path, visit: Callable[..., Visit], width: int) -> None:
    visited = visit(hostile, width)
    page = visited.page
    assert_quiet(visited, hostile)
    assert_drawn(page)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TOO_WIDE) == []
    for fold in page.locator("main summary").all():
        fold.click()
    for summary in page.locator("thead button").all()[:12]:
        summary.click()
    page.mouse.move(width / 2, 400)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2 + page.locator(".plot").count()
    assert (
        page.evaluate("document.querySelectorAll('svg script, svg image, svg foreignObject, iframe, object').length")
        == 0
    )
    handlers = (
        "Array.from(document.querySelectorAll('*')).flatMap(e => e.getAttributeNames()).filter(n => /^on/.test(n))"
    )
    assert page.evaluate(handlers) == []
    assert_quiet(visited, hostile)


def test_hostile_names_are_shown_as_they_are(hostile: Path, visit: Callable[..., Visit]) -> None:
    page = visit(hostile).page
    names = page.evaluate("Array.from(document.querySelectorAll('tbody th:first-child bdi')).map(e => e.textContent)")
    assert HOSTILE[0] in names
    assert HOSTILE[1] in names
    drawn = page.evaluate("Array.from(document.querySelectorAll('svg text')).map(e => e.textContent)")
    assert any("window.hacked=" in text for text in drawn)


def test_the_policy_stops_scripts_that_are_not_the_page_s(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    """Even if a string did break out of its place: an unknown script is refused by the browser itself."""
    page = report_page(make_document(("exact",), lengths=(64,), negatives=("uniform",)))
    path = tmp_path / "broken.html"
    path.write_text(
        page.replace("<main>", "<main><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>")
    )
    visited = visit(path)
    assert visited.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in message for message in visited.messages)


def test_tables_sort_by_value_with_gaps_last(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    rows = [
        ["b", Cell("2.00 kF", sort=2000)],
        ["gap", Cell("–")],
        ["a", Cell("900 F", sort=900)],
        ["c10", "1"],
        ["c9", "1"],
        ["less", Cell("−1,200.5", sort=-1200.5)],
        ["more", Cell("+5.0", detail="[1.0, 9.0]", sort=5.0)],
    ]
    path = tmp_path / "table.html"
    path.write_text(render_page("t", [Section("s", [Table(["name", "FLOPs"], rows)])]))
    page = visit(path).page

    def order() -> list[str]:
        found: list[str] = page.evaluate("Array.from(document.querySelectorAll('tbody th')).map(e => e.textContent)")
        return found

    page.click("text=FLOPs")
    assert order() == ["less", "c10", "c9", "more", "a", "b", "gap"]
    page.click("text=FLOPs")
    assert order() == ["b", "a", "more", "c10", "c9", "less", "gap"]
    assert page.get_attribute("thead th:nth-child(2)", "aria-sort") == "descending"
    page.click("text=name")
    assert order() == ["a", "b", "c9", "c10", "gap", "less", "more"]
    assert page.locator("[aria-sort]").count() == 1


@pytest.mark.parametrize(("label", "start"), [("Save as SVG", b"<svg"), ("Save as PNG", b"\x89PNG\r\n\x1a\n")])
def test_each_chart_can_be_saved(ordinary: Path, visit: Callable[..., Visit], label: str, start: bytes) -> None:
    page = visit(ordinary).page
    plot = page.locator(".plot").first
    plot.locator("details").evaluate("menu => { menu.open = true; }")
    with page.expect_download() as caught:
        plot.locator(f"text={label}").click()
    saved = Path(caught.value.path()).read_bytes()
    assert saved.startswith(start)
    assert caught.value.suggested_filename.startswith("capacity-length.")
    assert len(saved) > 5_000


def test_dark_and_light_are_readable(ordinary: Path, visit: Callable[..., Visit]) -> None:
    """Text against its ground has a contrast of at least 4.5 (WCAG AA) in both schemes."""
    script = """selectors => {
      const light = c => c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const lum = c => { const [r, g, b] = light(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const rgb = s => s.match(/[\\d.]+/g).map(Number);
      const ground = e => {
        for (; e; e = e.parentElement) {
          const c = rgb(getComputedStyle(e).backgroundColor);
          if (c.length < 4 || c[3] > 0) return c.slice(0, 3);
        }
        return [255, 255, 255];
      };
      return selectors.map(s => document.querySelector(s)).map(e => {
        const a = lum(rgb(getComputedStyle(e).color)), b = lum(ground(e));
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      });
    }"""
    selectors = ["h1", ".lead", "nav a", ".note", "main p", "td", "td small", "tbody th", "thead button", "figcaption",
                 "main summary", "dd", "caption"]  # fmt: skip
    page = visit(ordinary).page
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert min(page.evaluate(script, selectors)) >= 4.5


def test_twelve_systems_and_every_name_is_in_the_page(ordinary: Path, visit: Callable[..., Visit]) -> None:
    page = visit(ordinary).page
    text = page.evaluate("document.body.textContent")
    for name in SYSTEMS:
        assert name in text
    assert page.locator("nav a").count() == page.locator("main section").count()


def test_folds_open_in_print(ordinary: Path, visit: Callable[..., Visit]) -> None:
    page = visit(ordinary).page
    closed = "main > section > details:not([open])"
    assert page.locator(closed).count() > 5
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(closed).count() == 0
    assert len(page.pdf()) > 100_000
