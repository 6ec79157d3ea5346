"""`memgauge histories ablate` and `preview`: copies of a built folder without pictures, and pages to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from memgauge.cli.options import Json


def ablate(
    folder: Annotated[Path, Parameter(help="A folder that `memgauge histories build` has finished.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The folder to write.")],
    drop_images: Annotated[
        Literal["evidence", "all"], Parameter(help="evidence: the pictures that answers need; all: every picture.")
    ],
    json: Json = False,
) -> int:
    """Write a copy of a built folder without the pictures of its evidence, or without any.

    Questions, dates, sessions and gold stay; `run`, `inspect` and `check` read the copy. Accuracy on it tells what can
    be guessed without seeing. Exit status: 0, or 2 when a folder cannot be read or written.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.building.ablating import ablate as write

    about = write(folder, out, drop_images)
    if json:
        print_json({"folder": out.name, **about["ablation"], "lengths": about["lengths"]})
        return 0
    done = about["ablation"]
    print(f"{out}: {done['said']}")
    print(f"  {done['pictures_dropped']:,} pictures in the longest histories of {done['questions']:,} questions")
    for name, figures in about["lengths"].items():
        print(f"  {name:<6}{figures['pictures']['mean']:>8.1f} pictures a history are left")
    return 0


def preview(
    path: Annotated[Path, Parameter(help="A built or released folder, or a file of records.")],
    question: Annotated[str | None, Parameter(help="Its id [the first].")] = None,
    /,
    *,
    out: Annotated[Path, Parameter(help="The HTML file to write.")],
    length: Annotated[str | None, Parameter(name=["--length", "--split"], help="Such as 32k [the shortest].")] = None,
    gold: Annotated[
        bool, Parameter(negative="", help="Also show the answer, and mark the messages that hold the evidence.")
    ] = False,
) -> int:
    """Write one history as an HTML page: sessions, dates, pictures and the question, in one file.

    Exit status: 0, or 2 when there is no such question or the page cannot be written.
    """
    from memgauge.cli.output import write_page
    from memgauge.histories.preview import preview_page

    write_page(out, preview_page(path, question, split=length, gold=gold))
    print(f"page: {out}")
    return 0
