"""The datasheet and the licences of a built folder, written from its manifest."""

# ruff: noqa: E501 - rows of Markdown tables cannot be broken
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LICENCES = """# Licences

| what | source | licence |
|---|---|---|
| questions, answers, dialogues, sidecar | written by memgauge from its own banks of text | CC0 1.0 |
| pictures (`images/`) | drawn by memgauge from structured truth | CC0 1.0 |
| glyphs inside entity, shelf and tray pictures | Noto Color Emoji, copyright Google LLC | SIL Open Font License 1.1 |
| lettering inside the pictures | DejaVu fonts, copyright Bitstream Inc. and others | Bitstream Vera licence, changes public domain |

The two font licences put no conditions on pictures that were made with the fonts. No picture was taken from the web.
"""


_FILLERS = {
    "ultrachat": "| text-only sessions | UltraChat | MIT |\n",
    "oasst": "| text-only sessions | OpenAssistant conversations | Apache-2.0 |\n",
    "sharegpt": "| text-only sessions | ShareGPT conversations | unclear: do not pass their texts on |\n",
}


def licences(fillers: str) -> str:
    """Return the table of licences; `fillers` is the source of the text-only sessions as the manifest names it."""
    row = _FILLERS.get(fillers.partition(":")[0], "")
    return LICENCES.replace("| pictures (`images/`)", row + "| pictures (`images/`)")


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
    return f"""# Dataset card: memgauge histories

{counts["questions"]} questions about long conversations with pictures (profile `{config["profile"]}`, seed {config["seed"]}),
after the protocol of MEMLENS. Made by memgauge {manifest["version"]}; the same version, seed and options give the same bytes.
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

Text comes from templates, pictures are drawn from structured truth, answers are computed. For each question the text is drawn first,
then the answer, then the picture, so that the text alone says nothing about the answer beyond the floor that the sidecar states.
Writer: `{config["writer"]}`. Captions: `{config["captions"]}`.

| stage | candidates left |
|---|---|
{funnel}

{reviewed}

## Uses and limits

- The text is templated. It tests memory and the binding of text and picture, not naturalness.
- Drawn pictures are easier than photographs, so scores are not comparable with those published for MEMLENS.
- An informed guesser that reads the evidence text alone reaches the floor of each item; systems that may refuse reach almost nothing.
- At the shortest length, items with several evidence sessions can be told slightly above chance by their number.
- No trained text classifier beyond TF-IDF with logistic regression and no vision-language model was run against the data.

## Distribution and maintenance

Licences stand in `LICENSES.md`, hashes in `manifest.json`, a machine-readable description in `croissant.json`. People and events are invented.
"""
