"""The page's shell, read as text: what is escaped, what may run, what is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.report.page import (
    Bullets,
    Cell,
    Chart,
    Fold,
    Note,
    Section,
    Table,
    Terms,
    Text,
    file_name,
    render_page,
)

HOSTILE = [
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=2">',
    "'; window.hacked=3; '",
    "<!--<script>",
    "javascript:window.hacked=4",
    "]]></style><style>@import url(http://example.org)</style>",
    "${window.hacked=5} {{constructor.constructor('window.hacked=6')()}}",
    "\u202eevil\u2028\u0000",
    "مرحبا <b>",
    "🙂" * 200,
    "x" * 2000,
]
SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a", "type": "quantitative"}}}


@pytest.fixture(autouse=True)
def _small_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short script in the place of the chart library's 900 kB, which would only be read again and again."""
    monkeypatch.setattr("memgauge.report.page._bundle", lambda: "window.vegaEmbed = 1 < 2;")


class Reader(HTMLParser):
    """Collects tags, attributes and scripts as a browser would."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: list[tuple[str, str]] = []
        self._script: list[str] | None = None
        self._kind = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "script":
            self._kind, self._script = dict(attrs).get("type") or "", []

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._script is not None:
            self.scripts.append((self._kind, "".join(self._script)))
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)


def page_with(text: str) -> str:
    spec = {**SPEC, "title": text, "data": {"values": [{"a": 1, text: text}]}}
    blocks = [
        Text(text),
        Note(text),
        Bullets([text]),
        Terms([(text, text)]),
        Table([text, "n"], [[text, Cell(text, detail=text, sort=1.0, title=text)]], caption=text),
        Chart(text, spec, text, title=text),
        Fold(text, [Text(text)]),
    ]
    return render_page(text, [Section(text, blocks), Section(text, [])], lead=text, subtitle=text)


@pytest.mark.parametrize("text", HOSTILE)
def test_only_the_page_s_own_elements_come_out(text: str) -> None:
    ordinary, attacked = Reader(page_with("ordinary")), Reader(page_with(text))
    assert attacked.tags == ordinary.tags
    assert [(tag, name) for tag, name, _ in attacked.attributes] == [(t, n) for t, n, _ in ordinary.attributes]
    assert not [a for a in attacked.attributes if a[1].startswith("on")]


def one_table(text: str) -> str:
    return render_page("title", [Section("s", [Text(text), Table([text], [[text]], caption=text)])])


@given(st.text(min_size=1, max_size=40).filter(lambda text: "`" not in text))
def test_no_text_makes_an_element(text: str) -> None:
    assert Reader(one_table(text)).tags == Reader(one_table("ordinary")).tags


@pytest.mark.parametrize("text", HOSTILE)
def test_specifications_survive_and_are_inert(text: str) -> None:
    scripts = Reader(page_with(text)).scripts
    data = [content for kind, content in scripts if kind == "application/json"]
    assert len(data) == 1
    assert "<" not in data[0]
    found = json.loads(data[0])
    assert found["title"] == text
    assert found["data"]["values"][0][text] == text


def test_the_policy_names_every_script_and_allows_nothing_else() -> None:
    page = page_with("x")
    reader = Reader(page)
    policy = next(
        value
        for tag, name, value in reader.attributes
        if tag == "meta" and name == "content" and "default-src" in value
    )
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    own = [content for kind, content in reader.scripts if kind == ""]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in own]
    assert directives["script-src"].split() == hashes
    assert len(own) == 2
    assert "unsafe" not in directives["script-src"]
    assert set(directives) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}


def test_nothing_is_linked_from_elsewhere() -> None:
    reader = Reader(page_with("x"))
    assert not {"link", "iframe", "img", "object", "embed", "base", "form"} & set(reader.tags)
    assert not [a for a in reader.attributes if a[1] in ("src", "action", "srcset")]
    assert all(value.startswith("#") for _, name, value in reader.attributes if name == "href")


def test_a_page_without_charts_carries_no_chart_library() -> None:
    page = render_page("t", [Section("s", [Text("words")])])
    assert len(page) < 30_000
    assert "vegaEmbed = 1" not in page
    assert "vegaEmbed = 1" in render_page("t", [Section("s", [Chart("c", SPEC, "")])])


def test_anchors_are_unique_and_linked() -> None:
    page = render_page(
        "t", [Section("Costs", []), Section("Costs!", []), Section("日本", []), Section("x", [], id="Costs")]
    )
    ids = re.findall(r'<h2 id="([^"]+)"', page)
    assert len(set(ids)) == 4
    assert re.findall(r'href="#([^"]+)"', page) == ids


def test_code_marks() -> None:
    page = render_page("t", [Section("s", [Text("run `memgauge <x>` and ` alone"), Text("no mark")])])
    assert "<p>run <code>memgauge &lt;x&gt;</code> and ` alone</p>" in page


def test_cells_are_data_and_sort_by_value() -> None:
    table = Table(
        ["name", "n"], [["a `b`", Cell("1.00 MF", sort=1e6)], ["c", Cell("–")], ["d", Cell("1,024", sort=1024)]]
    )
    page = render_page("t", [Section("s", [table])])
    assert "a `b`" in page
    assert '<td data-sort="1e+06">1.00 MF</td>' in page
    assert "<td>1,024</td>" in page  # says itself where it belongs
    assert '<td class="none">–</td>' in page


@pytest.mark.parametrize("name", [*HOSTILE, "../../etc/passwd", "", "...", "con.txt"])
def test_file_names_stay_in_their_folder(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9-]{1,100}", file_name(name))
