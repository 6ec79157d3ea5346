"""`memgauge histories` and photographs: thresholds of their filter, those kept by reference, their funnel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from memgauge.cli.options import Json

if TYPE_CHECKING:
    from memgauge.histories.building.pictures.album import Album


def calibrate_filter(
    positives: Annotated[
        Path,
        Parameter(
            help="Pictures that show what they are labelled with: a folder as for `build --images folder:`, or a list "
            "(.jsonl, .csv) with the fields query and file, or with the scores clip, siglip and text."
        ),
    ],
    /,
    *,
    negatives: Annotated[
        Path | None, Parameter(help="Pictures that do not show it, in the same form: how many would pass.")
    ] = None,
    image_scorers: Annotated[
        Path | None, Parameter(help="A JSON file with the folders of the models; lists of scores need none.")
    ] = None,
    share: Annotated[float, Parameter(help="Share of the positives that falls below each threshold.")] = 0.05,
    out: Annotated[
        Path | None, Parameter(help="Write the file for `build --image-scorers` with the new thresholds.")
    ] = None,
    json: Json = False,
) -> int:
    """Set the filter's thresholds of SigLIP and text from known good pictures; that of CLIP stays the paper's 0.30.

    Exit status: 0, or 2 for fewer than 20 scored positives, or pictures or models that cannot be read.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.building.pictures.calibration import calibrate_files

    found = calibrate_files(
        positives.expanduser(),
        negatives.expanduser() if negatives else None,
        image_scorers.expanduser().absolute() if image_scorers else None,
        share=share,
        out=out.expanduser() if out else None,
    )
    if json:
        print_json(found)
    else:
        _print_calibration(found, out)
    return 0


def fetch(
    folder: Annotated[Path, Parameter(help="A folder that `memgauge histories build` has finished.")],
    /,
    *,
    delay: Annotated[float, Parameter(help="Seconds between two requests to one host.")] = 2.0,
    json: Json = False,
) -> int:
    """Fetch the photographs that the folder keeps by reference into its `images/`, those whose bytes are unchanged.

    Exit status: 0 when all are there, 3 when some could not be had or have changed, 2 when the folder cannot be read.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.building.pictures.references import fetch_references

    counts, failed = fetch_references(folder.expanduser(), delay=delay)
    if json:
        print_json({"counts": counts, "failed": failed})
    else:
        for reason, count in counts.items():
            print(f"{count:>7}  {reason}")
        for line in failed[:20]:
            print(f"  {line}")
        if len(failed) > 20:
            print(f"  and {len(failed) - 20} more")
    return 3 if failed else 0


def print_album(album: Album, strangers: Sequence[str]) -> None:
    """Print what became of the candidates for photographs, and which labels of the source are no names."""
    from memgauge.cli.output import print_table

    rows = [["candidates", f"{album.candidates:,}"], ["kept", f"{album.kept:,}"]]
    print_table("Photographs", ["stage", "left"], rows)
    for reason, count in album.counts.items():
        if reason != "kept":
            print(f"  {'' if reason.startswith('note: ') else 'refused '}{count:>5}  {reason}")
    without = [name for name, photographs in album.photographs.items() if not photographs]
    if without:
        print(f"  names without a photograph: {_some(without)}")
    if strangers:
        print(f"  labels of the source that are no names: {_some(strangers)}")


def too_few(lacking: Sequence[str]) -> str:
    """Say of which names there were too few photographs, the most frequent first; nothing for none."""
    ordered = [name for name, _ in sorted(Counter(lacking).items(), key=lambda pair: (-pair[1], pair[0]))]
    return f" (too few photographs of {_some(ordered)})" if ordered else ""


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _print_calibration(found: dict[str, Any], out: Path | None) -> None:
    from memgauge.cli.output import print_table

    rows = [
        [
            name,
            f"{found['thresholds'][name]:.4f}",
            *(f"{value:.4f}" for value in found["positives"]["scores"][name].values()),
        ]
        for name in found["thresholds"]
    ]
    print_table("Thresholds", ["channel", "at least", "least", "5th", "median", "most"], rows)
    for label in ("positives", "negatives"):
        about = found[label]
        if about is not None:
            print(f"{label}: {about['pictures']} pictures, {about['scored']} scored, {about['passed']} pass the filter")
            for reason, count in about["refused"].items():
                print(f"  refused {count:>5}  {reason}")
    if out is not None:
        print(f"{out}: written")
