"""`memgauge streams`: make, check, look at and measure streams of symbols."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json

app = App(name="streams", help="Make, check and measure streams of symbols.")

Folder = Annotated[Path, Parameter(help="A folder made by `memgauge streams make`.")]


@app.command
def make(
    *,
    out: Annotated[Path, Parameter(help="The folder to write; it must not exist, or be empty.")],
    band: Annotated[
        Literal["low", "max", "easyhuman"] | None,
        Parameter(help="low: regular streams; max: uniform noise; easyhuman: a pattern that is broken once or twice."),
    ] = None,
    length: Annotated[int | None, Parameter(help="Symbols in a stream.")] = None,
    count: Annotated[int | None, Parameter(help="Streams [20].")] = None,
    queries: Annotated[int | None, Parameter(help="Questions about each stream, half of them positive [16].")] = None,
    negatives: Annotated[
        Literal["uniform", "matched"],
        Parameter(help="How false candidates are drawn: uniform (the paper's), or matched to the stream (harder)."),
    ] = "uniform",
    seed: Annotated[int, Parameter(help="All streams and questions follow from it.")] = 0,
    paper: Annotated[
        bool,
        Parameter(
            negative="",
            help="Make the paper's whole text set instead of one cell: ten lengths from 8 to 4096 in two bands, 20 "
            "streams each, and EasyHuman at 256 and 1024; 16 questions a stream.",
        ),
    ] = False,
    force: Annotated[bool, Parameter(negative="", help="Replace the dataset that the folder holds.")] = False,
    json: Json = False,
) -> int:
    """Make streams with their questions and write them to OUT as a dataset.

    The same options give the same data. Exit status: 0, or 2 for options that cannot be used.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.streams import Cell, paper_cells, write_cells

    cells: tuple[Cell, ...]
    if paper:
        given = {"--band": band, "--length": length, "--count": count, "--queries": queries}
        if fixed := [name for name, value in given.items() if value is not None]:
            raise InputError(f"--paper fixes {', '.join(fixed)}: leave {'it' if len(fixed) == 1 else 'them'} out")
        cells = paper_cells(negatives)
    else:
        if band is None or length is None:
            raise InputError("give --band and --length for one cell, or --paper for the whole text set")
        cells = (Cell(band, length, 20 if count is None else count, 16 if queries is None else queries, negatives),)
    manifest = write_cells(out, cells, seed=seed, force=force)
    if json:
        print_json({"folder": str(out), "manifest": manifest})
    else:
        _print_cells(out, manifest)
    return 0


@app.command(name="validate")
def validate_folder(folder: Folder, /, *, json: Json = False) -> int:
    """Check a dataset folder: files, hashes, symbols, answers, ages, identifiers and rates.

    Exit status: 0 when it is sound, 1 when there are problems, 2 when there is no readable manifest.
    """
    from memgauge.cli.output import print_json
    from memgauge.streams import validate

    problems = validate(folder)
    if json:
        print_json({"folder": str(folder), "valid": not problems, "problems": problems})
    elif problems:
        print(f"{folder}: {len(problems)} problem{'s' if len(problems) > 1 else ''}")
        for problem in problems:
            print(f"  {problem}")
    else:
        print(f"{folder}: sound")
    return 1 if problems else 0


@app.command
def entropy(
    file: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="Integers or other tokens between blanks or commas; - is standard input."
        ),
    ],
    /,
    *,
    raw: Annotated[
        bool, Parameter(name="--bytes", negative="", help="Take each byte of the file as a symbol.")
    ] = False,
    json: Json = False,
) -> int:
    """Measure the Lempel-Ziv rates of your own stream of symbols, in bits per symbol.

    Exit status: 0, or 2 for a file that cannot be read.
    """
    import math

    from memgauge.cli.output import print_json
    from memgauge.seeding import generator
    from memgauge.streams import lz78_rate, lz_rate
    from memgauge.streams.symbol_file import read_symbols

    symbols = read_symbols(file, raw=raw)
    alphabet = len(set(symbols.tolist()))
    shuffled = generator(0, "entropy", "shuffle").permutation(symbols)
    rates = {"lz_rate": lz_rate(symbols), "lz78_rate": lz78_rate(symbols), "lz_rate_shuffled": lz_rate(shuffled)}
    found: dict[str, Any] = {"file": file, "symbols": len(symbols), "alphabet": alphabet}
    found |= {name: None if math.isnan(rate) else rate for name, rate in rates.items()}
    found["log2_alphabet"] = math.log2(alphabet) if alphabet else None
    if json:
        print_json(found)
        return 0
    lines = [
        ("symbols", f"{len(symbols):,}", "the length of the stream"),
        ("alphabet", f"{alphabet:,}", "distinct symbols"),
        ("lz_rate", _number(found["lz_rate"]), "bits per symbol, by match lengths: the primary rate"),
        ("lz78_rate", _number(found["lz78_rate"]), "bits per symbol, by Lempel-Ziv 1978 phrases: the secondary rate"),
        (
            "lz_rate_shuffled",
            _number(found["lz_rate_shuffled"]),
            "the primary rate of the same symbols in random order",
        ),
        ("log2_alphabet", _number(found["log2_alphabet"]), "bits per symbol of a plain code for this alphabet"),
    ]
    for name, value, meaning in lines:
        print(f"{name:<18}{value:>10}  {meaning}")
    print("Compare rates of streams of one length only: the estimators are biased on short streams.")
    return 0


@app.command
def show(
    folder: Folder, stream_id: Annotated[str, Parameter(help="Such as low-1024-0007.")], /, *, json: Json = False
) -> int:
    """Print one stream of a dataset and its questions with their answers.

    Exit status: 0, or 2 when the folder or the stream cannot be read.
    """
    from difflib import get_close_matches

    from memgauge.cli.output import print_json, print_table
    from memgauge.errors import InputError
    from memgauge.streams import read_dataset

    items = {item.stream_id: item for item in read_dataset(folder)}
    if stream_id not in items:
        near = get_close_matches(stream_id, items, n=3)
        hint = f"; the nearest: {', '.join(near)}" if near else ""
        raise InputError(f"{folder} has no stream {stream_id!r} among its {len(items):,}{hint}")
    item = items[stream_id]
    facts = {name: getattr(item, name) for name in ("stream_id", "band", "length", "subtype", "lz_rate", "lz78_rate")}
    if json:
        asked = [
            {
                "query_id": query.query_id,
                "candidate": query.candidate.tolist(),
                "gold": query.gold,
                "age": query.age,
                "negatives": query.negatives,
            }
            for query in item.queries
        ]
        print_json({**facts, "symbols": item.symbols.tolist(), "queries": asked})
        return 0
    print(
        ", ".join(
            f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}" for name, value in facts.items()
        )
    )
    print(", ".join(map(str, item.symbols.tolist())))
    rows = [
        [
            q.query_id,
            ", ".join(map(str, q.candidate.tolist())),
            "yes" if q.gold else "no",
            "" if q.age is None else str(q.age),
        ]
        for q in item.queries
    ]
    print_table("", ["query", "candidate", "occurs", "age"], rows)
    return 0


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def _print_cells(out: Path, manifest: dict[str, Any]) -> None:
    from memgauge.cli.output import print_table

    columns = ["band", "L", "negatives", "asked", "LZ rate, sd", "range", "accept"]
    rows = []
    for cell in manifest["cells"]:
        rate = cell["lz_rate"]
        rows.append(
            [
                cell["band"],
                str(cell["length"]),
                cell["negatives"],
                f"{cell['streams']} x {cell['queries'] // cell['streams']}",
                f"{rate['mean']:.3f} {rate['sd']:.3f}",
                f"{rate['min']:.2f}-{rate['max']:.2f}",
                f"{cell['acceptance']:.2f}" if "acceptance" in cell else "",
            ]
        )
    print_table(f"{out} (seed {manifest['made']['seed']})", columns, rows)
    print(
        "L and asked: symbols a stream, streams x questions; LZ rate: bits per symbol; accept: share of rule sets kept."
    )
