"""The review page: one self-contained HTML file with the pictures in it, a form, and a button that saves decisions."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable
from pathlib import Path

from memgauge.histories.building.review import DECISIONS, REASONS
from memgauge.histories.building.review_items import Item
from memgauge.histories.preview import thumbnail

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
article{border-top:1px solid #bbb;padding:1rem 0}
pre{white-space:pre-wrap;background:#f5f5f5;padding:.75rem;font:inherit;font-size:.9rem}
img{max-height:16rem;margin:.25rem;border:1px solid #ccc}
label{margin-right:1rem}
input[type=text]{width:100%;font:inherit;padding:.25rem;box-sizing:border-box}
.bar{position:sticky;top:0;background:#fff;border-bottom:1px solid #bbb;padding:.5rem 0}
"""

_SCRIPT = """
"use strict";
const head = JSON.parse(document.getElementById("columns").textContent);
const articles = [...document.querySelectorAll("article")];
const chosen = a => { const r = a.querySelector("input[type=radio]:checked"); return r ? r.value : ""; };
function count() {
  document.getElementById("count").textContent = articles.filter(chosen).length + " of " + articles.length + " decided";
}
document.addEventListener("change", count);
document.getElementById("save").addEventListener("click", () => {
  const cell = text => '"' + String(text).replaceAll('"', '""') + '"';
  const rows = articles.map(a => head.map(name => {
    if (name === "decision") return cell(chosen(a));
    const field = a.querySelector('[data-name="' + name + '"]');
    return cell(field ? field.value : a.dataset[name] || "");
  }).join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([head.join(",") + "\\n" + rows.join("\\n") + "\\n"], {type: "text/csv"}));
  link.download = document.body.dataset.file;
  link.click();
});
count();
"""

_COLUMNS = ("item_id", "round", "checksum", "decision", "reason", "edit_question", "edit_answer", "note")


def to_html(items: Iterable[Item], images: Path, reviewer: str) -> str:
    """Return the page of one reviewer. Pictures are scaled down and stored in it; it loads nothing from elsewhere."""
    listed = list(items)
    round_ = listed[0].round if listed else 0
    script = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{script}'"
    shown = "\n".join(_article(number, item, images) for number, item in enumerate(listed, 1))
    columns = json.dumps(_COLUMNS)
    title = html.escape(f"Review, round {round_}: {reviewer}")
    file = html.escape(f"decisions-round{round_}-{reviewer}.csv", quote=True)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title><style>{_STYLE}</style></head>
<body data-file="{file}"><h1>{title}</h1>
<p>Decide on each item: accept, revise (say what is wrong, or write a better question) or reject (say why); then
save.</p>
<div class="bar"><button id="save" type="button">Save decisions</button> <span id="count"></span></div>
{shown}
<script type="application/json" id="columns">{columns}</script>
<script>{_SCRIPT}</script></body></html>
"""


def _article(number: int, item: Item, images: Path) -> str:
    e = html.escape
    pictures = "".join(f'<img alt="picture {i}" src="{_thumbnail(images / f)}">' for i, f in enumerate(item.files, 1))
    radios = "".join(f'<label><input type="radio" name="d{number}" value="{d}"> {d}</label>' for d in DECISIONS)
    options = "".join(f'<option value="{r}">{r.replace("_", " ")}</option>' for r in ("", *REASONS))
    return f"""<article data-item_id="{e(item.item_id)}" data-round="{item.round}" data-checksum="{item.checksum}">
<h2>{number}. {e(item.question)}</h2><p>Answer: <strong>{e(item.answer)}</strong></p>
<pre>{e(item.text) or "(the history holds no evidence)"}</pre><div>{pictures}</div>
<p>{radios} <label>Reason <select data-name="reason">{options}</select></label></p>
<p><label>Better wording of the question<input type="text" data-name="edit_question" maxlength="1000"></label></p>
<p><label>Note for the writer<input type="text" data-name="note" maxlength="1000"></label></p>
</article>"""


def _thumbnail(path: Path) -> str:
    """Return a picture as a data URI, at most 320 pixels wide and high."""
    return "data:image/jpeg;base64," + base64.b64encode(thumbnail(path.read_bytes())).decode()
