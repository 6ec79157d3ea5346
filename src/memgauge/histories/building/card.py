"""The datasheet and the licences of a built folder, written from its manifest."""

# ruff: noqa: E501 - rows of Markdown tables cannot be broken
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memgauge.histories.building.card_text import NOT_TWICE, collection, licence_row, limits
from memgauge.histories.building.photographs import LIST, licence_rows, section
from memgauge.histories.building.writers import PROCEDURAL

LICENCES = """# Licences

| what | source | licence |
|---|---|---|
| questions, answers, dialogues, sidecar | written by memgauge from its own banks of text | CC0 1.0 |
| pictures (`images/`) | drawn by memgauge from structured truth | CC0 1.0 |
| glyphs inside entity, shelf and tray pictures | Noto Color Emoji, copyright Google LLC | SIL Open Font License 1.1 |
| lettering inside the pictures | DejaVu fonts, copyright Bitstream Inc. and others | Bitstream Vera licence, changes public domain |

The two font licences put no conditions on pictures that were made with the fonts. No picture was taken from the web.
"""


_OURS = "| questions, answers, dialogues, sidecar | written by memgauge from its own banks of text | CC0 1.0 |\n"
_FILLERS = {
    "ultrachat": "| text-only sessions | UltraChat | MIT |\n",
    "oasst": "| text-only sessions | OpenAssistant conversations | Apache-2.0 |\n",
    "sharegpt": "| text-only sessions | ShareGPT conversations | unclear: do not pass their texts on |\n",
}


_NO_WEB = "No picture was taken from the web."
_FROM_OUTSIDE = f"""Photographs keep their own licences, to which the rest of the
folder is not bound. `{LIST}` gives the licence, the author and the address of each; whoever passes photographs on
must name them where the licence asks for it. All photographs were cut down to at most 1,024 pixels a side and encoded again."""


def licences(fillers: str, photographs: Mapping[str, Any] | None = None, *, writer: str = PROCEDURAL) -> str:
    """Return the table of licences.

    `fillers` is the source of the text-only sessions, `photographs` that of the photographs, `writer` who wrote the
    others, as the manifest names them.
    """
    row = _FILLERS.get(fillers.partition(":")[0], "")
    text = LICENCES if writer == PROCEDURAL else LICENCES.replace(_OURS, licence_row(writer))
    text = text.replace("| pictures (`images/`)", row + "| pictures (`images/`)")
    if photographs is None:
        return text
    text = text.replace(
        "| pictures (`images/`) | drawn", licence_rows(photographs) + "| other pictures (`images/`) | drawn"
    )
    text = text.replace("glyphs inside entity, shelf", "glyphs inside shelf")
    nameless = photographs["without_author"]
    lacking = (
        f"\n\n{nameless} photographs under a licence that asks for the author's name come without one: find it first."
        * (nameless > 0)
    )
    return text.replace(_NO_WEB, _FROM_OUTSIDE + lacking)


_DRAWN = "- Drawn pictures are easier than photographs, so scores are not comparable with those published for MEMLENS."
_PHOTOGRAPHED = """- Only pictures of single things are photographs. All other kinds are drawn and easier than photographs, so scores are not
  comparable with those published for MEMLENS.
- That a photograph shows its thing rests on its source and on the filter channels that were run; no person has checked it in this build."""


def card(manifest: Mapping[str, Any]) -> str:
    """Return the datasheet in Markdown."""
    config, counts, accounting = manifest["config"], manifest["counts"], manifest["accounting"]
    lengths = "\n".join(
        f"| {name} | {f['budget']:,} | {f['sessions']} | {f['fillers']} | {f['pictures']['mean']} "
        f"| {f['text_per_picture']} | {f['fill']['least']} to {f['fill']['most']} |"
        for name, f in manifest["lengths"].items()
    )
    kinds = "\n".join(f"| {name} | {n} |" for name, n in counts["types"].items())
    subtypes = "\n".join(f"| {name} | {n} |" for name, n in counts["subtypes"].items())
    funnel = "\n".join(f"| {stage} | {n} |" for stage, n in manifest["funnel"]["stages"])
    reviewed = (
        "Every item passed three rounds of human review."
        if manifest["review"]["rounds"]
        else "No human has reviewed the items (`review: none`); rules and a solver have."
    )
    short = (
        ""
        if not manifest["short"]
        else "\nThe quota was not filled; missing are "
        + ", ".join(f"{n} of {name}" for name, n in manifest["short"].items())
        + ".\n"
    )
    about = manifest.get("photographs")
    photographs = section(about) if about else ""
    drawn = "pictures are drawn from structured truth" if not about else "pictures are drawn or photographs"
    limit = _DRAWN if not about else _PHOTOGRAPHED
    bytes_ = "the same version, seed and options give the same bytes" if config["writer"] == PROCEDURAL else NOT_TWICE
    return f"""# Dataset card: memgauge histories

{counts["questions"]} questions about long conversations with pictures (profile `{config["profile"]}`, seed {config["seed"]}),
after the protocol of MEMLENS. Made by memgauge {manifest["version"]}; {bytes_}.
{short}
## Motivation

The data measure how well a system remembers what the pictures of a long conversation showed: extraction, reasoning over
several sessions, time, updates, and refusing where the history holds no answer.

## Composition

| type | questions |
|---|---|
{kinds}

| subtype | questions |
|---|---|
{subtypes}

| length | budget (tokens) | sessions | text-only | pictures | text tokens per picture | share of the budget used |
|---|---|---|---|---|---|---|
{lengths}

Sessions, text-only sessions and pictures are means. The lengths are nested: each history holds the sessions of the shorter one.
Tokens are counted with `{accounting["counter"]}`, a picture as `{accounting["picture"]}`; figures of other accountings are not comparable.

`dataset_*.jsonl` and `dataset_*.parquet` hold the same records. `meta.jsonl` is gold: structured truth, keys, which session plays which
role. It must not reach a system under test, nor must the fields `answer`, `answer_session_ids` and `has_answer`.

## Collection

{collection(manifest, drawn)}
Writer: `{config["writer"]}`. Captions: `{config["captions"]}`.

| stage | candidates left |
|---|---|
{funnel}

{reviewed}

{photographs}## Uses and limits

{limits(manifest)}
{limit}
- An informed guesser that reads the evidence text alone reaches the floor of each item; systems that may refuse reach almost nothing.
- At the shortest length, items with several evidence sessions can be told slightly above chance by their number.
- No trained text classifier beyond TF-IDF with logistic regression and no vision-language model was run against the data.

## Distribution and maintenance

Licences stand in `LICENSES.md`, hashes in `manifest.json`, a machine-readable description in `croissant.json`. People and events are invented.
"""
