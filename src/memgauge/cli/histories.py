"""`memgauge histories`: build long conversations with questions, review them, look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json

if TYPE_CHECKING:
    from memgauge.histories.building.selection import Selection

app = App(name="histories", help="Build, review and look at long conversations with pictures and their questions.")
review = App(name="review", help="Human review of candidates in three rounds (`build --review`).")
app.command(review)
for _name, _target, _help in (
    ("ontology", "ontology:app", "The topics of conversations: show, check and grow them."),
    ("calibrate-filter", "photographs:calibrate_filter", "Set the photograph filter's thresholds from known pictures."),
    ("fetch", "photographs:fetch", "Get the photographs that a built folder keeps by reference only."),
    ("ablate", "views:ablate", "Take pictures out of a built folder, into a new one."),
    ("preview", "views:preview", "Write one history as an HTML page with its pictures."),
):
    app.command(f"memgauge.cli.histories_{_target}", name=_name, help=_help)

Folder = Annotated[Path, Parameter(help="The folder of a build that waits for its review.")]


@app.command
def build(
    *,
    out: Annotated[Path, Parameter(help="The folder to write, or one whose build was begun with the same options.")],
    profile: Annotated[
        Literal["quick", "full", "paper", "paper-counts"],
        Parameter(
            help="quick: 40 questions, 32K and 64K; full: the paper's 789 at four lengths; paper: as full, with 65 "
            "items whose text suffices; paper-counts: as full, with the paper's numbers of pictures and sessions."
        ),
    ] = "quick",
    seed: Annotated[int, Parameter(help="Everything follows from it; two seeds share no question.")] = 0,
    n: Annotated[
        int | None, Parameter(name="--n", help="Questions, in the paper's proportions [the profile's].")
    ] = None,
    lengths: Annotated[str | None, Parameter(help="Such as 32k,128k [the profile's].")] = None,
    counter: Annotated[
        str,
        Parameter(help="How text tokens are counted: regex, tiktoken (cl100k), or hf:FOLDER of a tokenizer.json."),
    ] = "regex",
    image_tokens: Annotated[
        str | None,
        Parameter(help="What a picture costs: fixed:N, or patch for 28 x 28 pixels a token [fixed:2000]."),
    ] = None,
    turn_tokens: Annotated[int, Parameter(help="Tokens of a chat template for each turn.")] = 0,
    captions: Annotated[
        Literal["coarse", "rich"],
        Parameter(help="coarse: the kind of the picture only; rich: also the names of the things it shows."),
    ] = "coarse",
    writer: Annotated[
        str,
        Parameter(help="procedural, or model:name=MODEL,base_url=URL for an OpenAI-compatible endpoint."),
    ] = "procedural",
    fillers: Annotated[
        str,
        Parameter(help="Text-only sessions: procedural, or a file as ultrachat:FILE, oasst:FILE or sharegpt:FILE."),
    ] = "procedural",
    ontology: Annotated[Path | None, Parameter(help="A file of your own topics [the built-in ones].")] = None,
    images: Annotated[
        str,
        Parameter(
            help="procedural, or photographs of single things from folder:DIR, urls:FILE (JSON lines or CSV) or crawl."
        ),
    ] = "procedural",
    image_scorers: Annotated[
        Path | None, Parameter(help="A JSON file with the folders of the filter's models, and its thresholds.")
    ] = None,
    trust_folder: Annotated[
        bool,
        Parameter(negative="", help="Take photographs that a filter channel without a model leaves undecided."),
    ] = False,
    image_license: Annotated[
        str, Parameter(help="Licence of the photographs whose source names none, such as 'CC BY 4.0'.")
    ] = "",
    by_reference: Annotated[
        bool,
        Parameter(negative="", help="Use photographs without a licence to pass them on; export address and hash only."),
    ] = False,
    find_watermarks: Annotated[
        bool,
        Parameter(
            negative="", help="Read the text in photographs (rapidocr), and refuse those with words of watermarks."
        ),
    ] = False,
    image_reuse: Annotated[int, Parameter(help="Histories that may show one photograph as a decoy, 1 to 25.")] = 25,
    image_delay: Annotated[float, Parameter(help="Seconds between two requests to one host.")] = 2.0,
    review: Annotated[
        bool, Parameter(negative="", help="Stop before the export until every item has passed three rounds of review.")
    ] = False,
    allow_short: Annotated[
        bool, Parameter(negative="", help="Export fewer questions when a line of the quota cannot be filled.")
    ] = False,
    array: Annotated[
        bool, Parameter(name="--json", negative="", help="Also write dataset_<length>.json, one list of records.")
    ] = False,
    jobs: Annotated[
        int,
        Parameter(name=["--jobs", "-j"], help="Processes; 0: one for each core. The files do not depend on it."),
    ] = 0,
) -> int:
    """Build questions with their histories into OUT.

    The same options give the same bytes. A build that was stopped goes on with the same command. Exit status: 0 when
    the folder is finished or waits for its review, 2 for options that cannot be used, 3 when a line of the quota fell
    short.
    """
    import time

    from memgauge.cli.histories_photographs import print_album, too_few
    from memgauge.cli.histories_writing import print_short
    from memgauge.cli.options import names
    from memgauge.errors import InputError
    from memgauge.histories.building.config import build_config
    from memgauge.histories.building.pictures.options import photo_options
    from memgauge.histories.building.pipeline import build as build_folder

    if not 0 <= jobs <= 256:
        raise InputError(f"--jobs takes 0 to 256 processes, not {jobs}")
    photographs = photo_options(
        images,
        scorers=str(image_scorers) if image_scorers else "",
        trust=trust_folder,
        licence=image_license,
        by_reference=by_reference,
        reuse=image_reuse,
        watermarks=find_watermarks,
        delay=image_delay,
    )
    config = build_config(
        profile,
        seed=seed,
        questions=n,
        lengths=names("--lengths", lengths),
        counter=counter,
        picture=image_tokens,
        turn_tokens=turn_tokens,
        captions=captions,
        writer=writer,
        fillers=fillers,
        ontology=str(ontology.expanduser().absolute()) if ontology else "",
        review=review,
        images=photographs,
    )
    strangers = photographs.strangers() if photographs is not None else []
    started = time.monotonic()
    outcome = build_folder(out, config, jobs=jobs, allow_short=allow_short, array=array)
    if outcome.selection is None:
        print(f"{out}: was finished before")
    else:
        if outcome.album is not None and photographs is not None:
            print_album(outcome.album, strangers)
        _print_funnel(outcome.selection)
    if outcome.status == "short" and outcome.selection is not None:
        print_short(outcome.selection)
        missing = ", ".join(
            f"{name} lacks {count}{too_few(outcome.selection.lacking.get(name, []))}"
            for name, count in outcome.selection.short.items()
        )
        advice = "--allow-short exports what there is" if outcome.selection.accepted else "nothing is left to export"
        print(f"{out}: too few candidates passed: {missing}. {advice}.")
        return 3
    if outcome.status == "review":
        print(f"{out}: the candidates wait for their review: memgauge histories review export {out}")
        return 0
    if outcome.manifest is not None:
        _print_lengths(out, outcome.manifest)
    print(f"{time.monotonic() - started:.1f} s")
    return 0


@app.command
def inspect(
    path: Annotated[
        Path, Parameter(help="A built or released folder, or a file of records (.json, .jsonl, .parquet).")
    ],
    /,
    *,
    json: Json = False,
) -> int:
    """Show counts by ability and subtype, sessions, pictures, lengths and broken references.

    Exit status: 0, 1 when references are broken, 2 when the path cannot be read.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.inspection import inspect_path

    found = inspect_path(path)
    if json:
        print_json(found)
    else:
        _print_inspection(found)
    return 1 if any(split["broken"]["count"] for split in found["splits"].values()) else 0


@app.command
def check(
    folder: Annotated[Path, Parameter(help="A folder that `memgauge histories build` has finished.")],
    /,
    *,
    sample: Annotated[int, Parameter(help="Questions of each length whose histories the leak gates read again.")] = 300,
    strict: Annotated[
        bool,
        Parameter(negative="", help="Gates that warn, had too few sessions or could not be checked count as failures."),
    ] = False,
    html: Annotated[Path | None, Parameter(help="Also write one HTML page with every gate and figure.")] = None,
    json: Json = False,
) -> int:
    """Check the invariants of a built folder, and how far its texts, pictures and places give answers away.

    Exit status: 0 when no gate fails, 1 when one does, 2 when the folder cannot be read.
    """
    from memgauge.cli.histories_checking import print_report
    from memgauge.cli.output import print_json
    from memgauge.histories.building.checking import check_folder

    report = check_folder(folder, sample=sample)
    if html is not None:
        from memgauge.cli.output import write_page
        from memgauge.histories.building.checking.page import check_page

        write_page(html, check_page(report, strict=strict))
    if json:
        print_json(report.to_dict(strict=strict))
    else:
        print_report(report, strict=strict)
    return 1 if report.failed(strict=strict) else 0


@app.command
def show(
    path: Annotated[Path, Parameter(help="A built or released folder, or a file of records.")],
    question: Annotated[str | None, Parameter(help="Its id [the first].")] = None,
    /,
    *,
    length: Annotated[str | None, Parameter(help="Such as 32k [the shortest].")] = None,
    everything: Annotated[
        bool, Parameter(name="--all", negative="", help="All sessions, not only those that hold the evidence.")
    ] = False,
) -> int:
    """Print one question with its gold answer and its sessions.

    Exit status: 0, or 2 when there is no such question.
    """
    from memgauge.histories.inspection import find_record

    _, record = find_record(path, question, length)
    evidence = set(record.evidence)
    print(f"{record.question_id} ({record.kind or record.subtype}), asked on {record.question_date}")
    print(f"question  {record.question}\nanswer    {record.answer}")
    print(f"history   {len(record.sessions)} sessions, {record.images} pictures, evidence in {len(evidence)}")
    for place, session in enumerate(record.sessions):
        if not (everything or place in evidence):
            continue
        print(f"\n=== Session {place + 1} ({session.date}){' evidence' if place in evidence else ''} ===")
        for turn in session.turns:
            files = ", ".join(image.file for image in turn.images)
            print(f"{turn.role}: {turn.content}" + (f"\n  [{files}]" if files else ""))
    return 0


@review.command
def export(
    folder: Folder,
    /,
    *,
    out: Annotated[Path, Parameter(help="Folder for one file per reviewer.")] = Path("review"),
    round_: Annotated[
        Literal[1, 2, 3] | None,
        Parameter(name="--round", help="1: questions and facts; 2: sessions; 3: items [lowest open]."),
    ] = None,
    format_: Annotated[
        Literal["html", "csv"], Parameter(name="--format", help="A page with pictures, or a table.")
    ] = "html",
    assignees: Annotated[str, Parameter(help="Names of the reviewers, separated by commas.")] = "reviewer",
    overlap: Annotated[float, Parameter(help="Share of the items that two reviewers see.")] = 0.2,
) -> int:
    """Write what waits for its review, one file per reviewer.

    Exit status: 0, or 2 when no build waits in the folder.
    """
    from memgauge.cli.options import names
    from memgauge.histories.building.review_folder import export_round

    for file, count in export_round(
        folder, out, round_=round_, page=format_ == "html", reviewers=names("--assignees", assignees), overlap=overlap
    ):
        print(f"{file}: {count} items")
    return 0


@review.command(name="import")
def import_(
    folder: Folder,
    file: Annotated[Path, Parameter(help="The table of decisions of one reviewer.")],
    /,
    *,
    reviewer: Annotated[str, Parameter(help="Who decided.")] = "reviewer",
) -> int:
    """Take in the decisions of one reviewer.

    Exit status: 0, 1 when rows were refused, 2 when the file cannot be read.
    """
    from memgauge.histories.building.review_folder import import_file

    imported, kappa, pairs = import_file(folder, file, reviewer)
    for line in imported.refused:
        print(line)
    print(
        f"{imported.taken} decisions taken in, {imported.undecided} rows without one, {len(imported.refused)} refused"
    )
    if pairs:
        print(
            f"agreement on {pairs} items seen twice: Cohen's kappa {'undefined' if kappa is None else f'{kappa:.3f}'}"
        )
    return 1 if imported.refused else 0


@review.command
def status(folder: Folder, /, *, json: Json = False) -> int:
    """Say how many items wait for each round, have passed, or are out.

    Exit status: 0, or 2 when no build waits in the folder.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.building.review_folder import review_status

    counts = review_status(folder)
    if json:
        print_json(counts)
    else:
        for name, count in counts.items():
            print(f"{name:<20}{'undefined' if count is None else count}")
    return 0


def _print_funnel(selection: Selection) -> None:
    from memgauge.cli.histories_photographs import too_few
    from memgauge.cli.histories_writing import print_writing
    from memgauge.cli.output import print_table

    print_table("Candidates", ["stage", "left"], [[stage, f"{left:,}"] for stage, left in selection.funnel()])
    lacking = [name for names in selection.lacking.values() for name in names]
    for reason, count in sorted(selection.rejected.items()):
        if not reason.startswith("images: "):
            print(f"  rejected {count:>5}  {reason}")
    if lacking:
        print(f"  rejected {len(lacking):>5}  images:{too_few(lacking)}")
    print_writing(selection)


def _print_lengths(out: Path, manifest: dict[str, Any]) -> None:
    from memgauge.cli.output import print_table

    counts = manifest["counts"]
    print_table("Questions", ["type", "n"], [[name, str(n)] for name, n in counts["types"].items()])
    rows = [
        [
            name,
            f"{f['questions']:,}",
            f"{f['sessions']:.1f}",
            f"{f['fillers']:.1f}",
            f"{f['pictures']['mean']:.1f}",
            f"{f['text_per_picture']:.0f}",
            f"{f['fill']['least']:.3f}-{f['fill']['most']:.3f}",
            f"{f['record_bytes'] / 1000:.0f}",
        ]
        for name, f in manifest["lengths"].items()
    ]
    columns = ["length", "n", "sessions", "fillers", "pictures", "text/pic.", "used", "kB"]
    print_table(str(out), columns, rows)


def _print_inspection(found: dict[str, Any]) -> None:
    from memgauge.cli.output import print_table

    if "ablation" in found:
        print(f"{found['path']}: made by `memgauge histories ablate` ({found['ablation']})")
    for name, split in found["splits"].items():
        rows = [[kind, of, str(n)] for kind, names in split["subtypes"].items() for of, n in names.items()]
        print_table(f"{name}: {split['questions']} questions", ["type", "subtype", "n"], rows, left=2)
        for label in ("sessions", "turns", "pictures", "tokens"):
            figures = split[label]
            least, mean, most = figures["least"], figures["mean"], figures["most"]
            print(f"  {label:<10}{least:>10,}{mean:>12,.1f}{most:>10,}  least, mean, most")
        broken = split["broken"]
        print(f"  broken references: {broken['count']}")
        for line in broken["first"]:
            print(f"    {line}")
