"""One self-contained page: text, tables and charts in a single HTML file that asks nobody for anything.

Whatever reaches the page was made by systems and data sets that nobody vouches for. So every string is escaped; chart
specifications lie in inert `application/json` blocks with `<` written as an escape; and the content security policy
lets the browser run exactly the two scripts whose hashes it names, and fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any, Literal

from memgauge.report.text import NONE, plain, storable

VEGA_LITE = "6.4"
"""The Vega-Lite release that is bundled; it is the one that altair writes for."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph. `code` between backticks is set in a fixed-width font; nothing else is markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph that must not be overlooked."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of paragraphs."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Terms:
    """A list of terms and what they mean."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell that says more than its text."""

    text: str
    detail: str = ""
    """A second, smaller line: say, the interval."""
    sort: float | None = None
    """What the column is sorted by; the text itself when there is none."""
    title: str | None = None
    """Shown when the pointer rests on the cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted by any column. The first `headings` columns are names, the others numbers.

    `wordy` counts columns at the end that hold sentences: they wrap and are aligned left.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    caption: str = ""
    headings: int = 1
    wordy: int = 0


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification with its data inside.

    `usermeta.panel` of the specification is the width in pixels of one panel with its axis: on a narrow screen the page
    draws as many panels side by side as fit.
    """

    name: str
    """Letters, digits and dashes: names the exported files."""
    spec: Mapping[str, Any]
    caption: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that lies in the page itself."""

    image: bytes
    kind: Literal["jpeg", "png", "webp"]
    description: str
    """What there is to see, for those who cannot see it."""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Images in a grid, each at least `width` pixels wide."""

    items: Sequence[Picture]
    width: int = 260


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, with the images that came along. Nothing in it is markup."""

    speaker: str
    text: str
    pictures: Sequence[Picture] = ()
    mark: str = ""
    """A word that makes it stand out."""


@dataclass(frozen=True, slots=True)
class Messages:
    """A conversation; each message is laid out in the direction of its own script."""

    items: Sequence[Message]
    when: str = ""
    width: int = 200
    """Pixels of an image at least."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown on demand, and always in print."""

    summary: str
    blocks: Sequence[Block]


Block = Text | Note | Bullets | Terms | Table | Chart | Pictures | Messages | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with an entry in the table of contents, and what stands under it."""

    title: str
    blocks: Sequence[Block]
    id: str = ""
    """For links; made from the title when empty."""


@dataclass(slots=True)
class _Writer:
    """Collects the page; charts are numbered as they come."""

    parts: list[str] = field(default_factory=list)
    charts: int = 0

    def block(self, block: Block) -> None:
        match block:
            case Text(text):
                self.parts.append(f"<p>{_inline(text)}</p>")
            case Note(text):
                self.parts.append(f'<p class="note" role="note">{_inline(text)}</p>')
            case Bullets(items):
                self.parts.append("<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>")
            case Terms(items):
                entries = "".join(f"<dt>{_inline(term)}</dt><dd>{_inline(what)}</dd>" for term, what in items)
                self.parts.append(f"<dl>{entries}</dl>")
            case Table():
                self.parts.append(_table(block))
            case Chart():
                self.chart(block)
            case Pictures():
                self.parts.append(_pictures(block))
            case Messages(items, when, width):
                date = f'<p class="when"><bdi>{escape(plain(when))}</bdi></p>' if when else ""
                self.parts.append(date + "".join(_message(item, width) for item in items))
            case Fold(summary, blocks):
                self.parts.append(f"<details><summary>{_inline(summary)}</summary>")
                for inner in blocks:
                    self.block(inner)
                self.parts.append("</details>")

    def chart(self, chart: Chart) -> None:
        number = self.charts
        self.charts += 1
        title = f"<h3>{_inline(chart.title)}</h3>" if chart.title else ""
        name = file_name(chart.name)
        self.parts.append(
            f'<figure class="chart">{title}<div class="sheet"><div id="c{number}" class="plot" '
            f'data-spec="s{number}" data-name="{name}"></div></div>'
            f"<figcaption>{_inline(chart.caption)}</figcaption></figure>"
            f'<script type="application/json" id="s{number}">{_inert_json(chart.spec)}</script>'
        )


def render_page(title: str, sections: Sequence[Section], *, lead: str = "", subtitle: str = "") -> str:
    """Return a whole HTML document.

    Parameters
    ----------
    title, subtitle, lead
        The heading, a line under it (say, the date), and the first paragraph.
    sections
        What the page says, in order; each gets an entry in the table of contents.

    >>> page = render_page("Runs of <today>", [Section("Numbers", [Table(["system", "n"], [["exact", "16"]])])])
    >>> "Runs of &lt;today&gt;" in page
    True
    """
    writer = _Writer()
    entries = []
    taken: set[str] = set()
    for section in sections:
        anchor = _anchor(section.id or section.title, taken)
        entries.append(f'<li><a href="#{anchor}">{_inline(section.title)}</a></li>')
        writer.parts.append(f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{_inline(section.title)}</h2>')
        for block in section.blocks:
            writer.block(block)
        writer.parts.append("</section>")
    scripts = ([_bundle()] if writer.charts else []) + [_asset("page.js")]
    policy = (
        f"default-src 'none'; script-src {' '.join(_hash(script) for script in scripts)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
            f"<title>{escape(plain(title))}</title><style>{_asset('page.css')}</style></head><body>",
            f"<header><h1>{_inline(title)}</h1>",
            f'<p class="subtitle">{_inline(subtitle)}</p>' if subtitle else "",
            f'<p class="lead">{_inline(lead)}</p>' if lead else "",
            f'</header><nav aria-label="Contents"><ol>{"".join(entries)}</ol></nav><main>\n',
            "\n".join(writer.parts),
            "\n</main>",
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>\n",
        ]
    )


def file_name(name: str) -> str:
    """Return a chart's name as it may stand in a file name, whatever systems and tasks call themselves.

    >>> file_name("accuracy-../etc/passwd")
    'accuracy-etc-passwd'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:100] or "chart"


def _inline(text: str) -> str:
    """Escape a text; pieces between backticks become code."""
    pieces = escape(plain(text)).split("`")
    if len(pieces) % 2 == 0:  # a backtick without its partner is only a character
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return "".join(f"<code>{piece}</code>" if index % 2 else piece for index, piece in enumerate(pieces))


_NUMBER = re.compile(r"[+−-]?[\d,]*\.?\d+")
"""What the page's own script reads as a number: `1,024`, `+12.3`. The order of other texts is written beside them."""


def _table(table: Table) -> str:
    def cell(value: str | Cell, column: int) -> str:
        item = value if isinstance(value, Cell) else Cell(value)
        tag = "th" if column < table.headings else "td"
        attributes = ' scope="row"' if column < table.headings else ""
        if item.sort is not None and not _NUMBER.fullmatch(item.text):
            attributes += f' data-sort="{item.sort:.6g}"'
        if item.title:
            attributes += f' title="{escape(plain(item.title))}"'
        if item.text == NONE:
            attributes += ' class="none"'
        elif column >= len(table.columns) - table.wordy:
            attributes += ' class="words"'
        # No backtick markup here: a cell is data. The isolate keeps a right-to-left name from turning its neighbours.
        text = escape(plain(item.text))
        text = f"<bdi>{text}</bdi>" if column < table.headings else text
        detail = f"<small>{escape(plain(item.detail))}</small>" if item.detail else ""
        return f"<{tag}{attributes}>{text}{detail}</{tag}>"

    head = "".join(
        f'<th scope="col"{"" if index < table.headings else " class=number"}>'
        f'<button type="button">{escape(plain(name))}</button></th>'
        for index, name in enumerate(table.columns)
    )
    body = "".join(
        "<tr>" + "".join(cell(value, index) for index, value in enumerate(row)) + "</tr>" for row in table.rows
    )
    caption = f"<caption>{_inline(table.caption)}</caption>" if table.caption else ""
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide" tabindex="0"><table>{caption}{rows}</table></div>'


def _message(message: Message, width: int) -> str:
    mark = f" <mark>{escape(plain(message.mark))}</mark>" if message.mark else ""
    pictures = _pictures(Pictures(message.pictures, width)) if message.pictures else ""
    speaker = f'<p class="speaker"><bdi>{escape(plain(message.speaker))}</bdi>{mark}</p>'
    said = f'<p class="said" dir="auto">{escape(plain(message.text))}</p>'
    return f'<div class="message{" marked" if mark else ""}">{speaker}{said}{pictures}</div>'


def _pictures(pictures: Pictures) -> str:
    shown = "".join(_picture(picture) for picture in pictures.items)
    return f'<div class="pictures" style="--width:{int(pictures.width)}px">{shown}</div>'


def _picture(picture: Picture) -> str:
    source = f"data:image/{picture.kind};base64,{base64.b64encode(picture.image).decode()}"
    return (
        f'<figure><img src="{source}" alt="{escape(plain(picture.description))}">'
        f"<figcaption>{_inline(picture.caption)}</figcaption></figure>"
    )


def _inert_json(value: Any) -> str:
    """Return JSON that cannot end the script element that holds it, whatever the strings in it say."""
    text = json.dumps(storable(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _anchor(text: str, taken: set[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
    anchor, number = base, 2
    while anchor in taken:
        anchor, number = f"{base}-{number}", number + 1
    taken.add(anchor)
    return anchor


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@lru_cache
def _asset(name: str) -> str:
    return files("memgauge.report").joinpath("assets", name).read_text(encoding="utf-8")


@lru_cache
def _bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script, from the files that vl-convert carries (2 s, once a process)."""
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;", vl_version=VEGA_LITE)
    # Inside a string literal `<\/` is the same as `</`; outside of one neither can occur.
    return re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE).replace("<!--", "<\\!--")
