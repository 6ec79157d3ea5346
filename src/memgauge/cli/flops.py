"""`memgauge flops`: what arithmetic costs."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json

app = App(name="flops", help="Price models and backbones, and compute the paper's cost tables.")


@app.command
def table(
    number: Annotated[Literal["2", "3", "9", "12"], Parameter(help="Number of the table in the paper.")],
    /,
    *,
    json: Json = False,
) -> None:
    """Compute Table 2 (prices), 3 (write and read at L = 64), 9 (retrieval) or 12 (backbones) of ECCBench."""
    from memgauge.cli.output import print_json
    from memgauge.costs.tables import table_as_json

    if json:
        print_json(table_as_json(int(number)))
    elif number == "9":
        _print_table9()
    else:
        _print_plain_table(int(number))


@app.command
def model(
    source: Annotated[str, Parameter(help="A model of Table 4, a config.json, or a folder that holds one.")],
    /,
    *,
    task: Annotated[Literal["ecc-text", "ecc-video", "natural-video"], Parameter(help="What the model reads.")],
    length: Annotated[int, Parameter(help="Stream symbols or frames.")],
    answer_tokens: Annotated[str, Parameter(help="Answer tokens up to the commitment, such as 3, 2.5 or 11600/61.")],
    frame: Annotated[str | None, Parameter(help="Frame size WxH; 448x448 (ecc-video) or 640x360 by default.")] = None,
    t_in: Annotated[int | None, Parameter(help="Prompt tokens; 128 for video and 0 for text by default.")] = None,
    option_frames: Annotated[int, Parameter(help="Frames of a candidate clip read as a second video.")] = 0,
    split: Annotated[
        Literal["write", "question"],
        Parameter(help="`question` moves the prefill of the prompt tokens from the write into the read."),
    ] = "write",
    queries: Annotated[int, Parameter(help="Questions that share one write.")] = 1,
    json: Json = False,
) -> None:
    """Price one response: vision, connector, prefill, decode, and their sums on the write and the read side."""
    from memgauge.cli.output import print_json
    from memgauge.costs import load_price, parse_frame, parse_tokens, price_response

    cost = price_response(
        load_price(source),
        task,
        length,
        parse_tokens(answer_tokens),
        frame=None if frame is None else parse_frame(frame),
        t_in=t_in,
        option_frames=option_frames,
        split=split,
        queries=queries,
    )
    if json:
        print_json(cost.as_json())
    else:
        _print_response(cost.as_json())


@app.command
def retrieval(
    *,
    task: Annotated[Literal["ecc-video", "natural-video"], Parameter(help="What the stream shows.")],
    length: Annotated[int, Parameter(help="Frames of the video.")],
    read_frames: Annotated[
        int | None, Parameter(help="Frames of the merged clip that is read; one window by default below L = 128.")
    ] = None,
    index_frame: Annotated[
        str | None, Parameter(help="Frame size WxH at which windows are embedded; the task's own by default.")
    ] = None,
    frame: Annotated[str | None, Parameter(help="Frame size WxH; 448x448 (ecc-video) or 640x360 by default.")] = None,
    answer_tokens: Annotated[str, Parameter(help="Answer tokens up to the commitment.")] = "3",
    reader: Annotated[
        str, Parameter(help="The model that answers: a model of Table 4, or a config.json.")
    ] = "qwen3-omni-30b-a3b",
    embedder: Annotated[str, Parameter(help="The model that embeds, likewise.")] = "qwen3-vl-8b",
    json: Json = False,
) -> None:
    """Price the retrieval pipeline of ECCBench, B.7, on one video: the costs of Table 9."""
    from memgauge.cli.output import print_json, print_table
    from memgauge.costs import load_price, parse_frame, parse_tokens, retrieval_cost

    cost = retrieval_cost(
        task,
        length,
        read_frames=read_frames,
        index_frame=None if index_frame is None else parse_frame(index_frame),
        frame=None if frame is None else parse_frame(frame),
        answer_tokens=parse_tokens(answer_tokens),
        reader=load_price(reader),
        embedder=load_price(embedder),
    )
    names = ("windows", "F_window", "F_query", "F_answer", "F_full", "F_index", "F_one_query")
    terms: dict[str, Any] = {name: getattr(cost, name) for name in names}
    ratios = {"saving": cost.saving, "break_even": cost.break_even}
    terms |= {name: None if value is None else float(value) for name, value in ratios.items()}
    if json:
        print_json({"task": task, "length": length, **terms})
    else:
        rows = [[name, "never" if v is None else f"{v:,.2f}" if isinstance(v, float) else f"{v:,}"]
                for name, v in terms.items()]  # fmt: skip
        print_table(f"Retrieval on {task}, L = {length}", ["term", "value"], rows)


@app.command
def backbone(
    name: Annotated[str, Parameter(help="Name of a backbone, such as rope, gla or compressive.")],
    /,
    *,
    width: Annotated[int, Parameter(help="Embedding width D, a multiple of 16; the paper uses 64 and 128.")],
    length: Annotated[int, Parameter(help="Stream symbols L; the pass counts L + 1 tokens.")],
    json: Json = False,
) -> None:
    """Price a three-layer backbone on a stream of L symbols and one query, by its closed form."""
    from memgauge.cli.output import print_json, print_table
    from memgauge.costs import backbone_cost

    cost = backbone_cost(name, width, length)
    terms = {"F_write": cost.F_write, "F_read": cost.F_read, "F_total": cost.F_total}
    if json:
        print_json({"backbone": name, "width": width, "length": length, **terms})
    else:
        rows = [[term, f"{value:,}", f"{value / 1e6:,.2f}"] for term, value in terms.items()]
        print_table(f"{name}, D = {width}, L = {length}", ["term", "FLOPs", "MFLOPs"], rows)


def _print_plain_table(number: int) -> None:
    """Print Table 2, 3 or 12 with the paper's digits; Table 3 in three parts, one for each kind of input."""
    from memgauge.cli.output import print_table
    from memgauge.costs.tables import computed_table, decimals, printed_table, rounded

    computed, printed = computed_table(number), printed_table(number)
    first = next(iter(printed.values()))
    nested = isinstance(next(iter(first.values())), dict)
    for part in first if nested else [None]:
        pick: Callable[[dict[str, Any]], dict[str, Any]] = (lambda row: row) if part is None else itemgetter(part)
        rows = [
            [name, *(rounded(value, decimals(pick(printed[name])[column])) for column, value in pick(row).items())]
            for name, row in computed.items()
        ]
        title = f"Table {number}" if part is None else f"Table {number}, {part.replace('_', ' ')}"
        print_table(title, ["", *pick(first)], rows)


def _print_table9() -> None:
    """Print Table 9: computed beside printed, and every deviation by name."""
    from memgauge.cli.output import print_table
    from memgauge.costs.tables import decimals, rounded, table9

    rows, reasons = [], []
    for row, cells in table9().items():
        for column, cell in cells.items():
            shown = "data" if cell.computed is None else rounded(cell.computed, max(2, decimals(cell.printed)))
            rows.append([f"{row}, {column}", shown, cell.printed, "deviates" if cell.deviation else ""])
            if cell.deviation:
                reasons.append(f"{row}, {column}: {cell.deviation}.")
    print_table("Table 9", ["cell", "computed", "printed", ""], rows)
    print("Known deviations", *reasons, sep="\n- ")


def _print_response(terms: dict[str, Any]) -> None:
    """Print every term of a response's price."""
    from memgauge.cli.output import print_table

    what = ["model", "task", "length", "frame", "option_frames", "t_in", "answer_tokens_exact", "split", "queries", "N"]
    rows = [[name, str(terms[name])] for name in what if terms[name] is not None]
    rows += [[name, f"{terms[name]:,}"] for name in terms if name in ("B", "A") or name.startswith("F_")]
    for span in terms["attention"]:
        seen = "all positions" if span["window"] is None else f"a window of {span['window']}"
        rows.append([f"A of {span['layers']} layers that see {seen}", f"{span['A']:,}"])
    print_table("FLOPs of one response", ["term", "value"], rows)
    for note in terms["notes"]:
        print(f"Note: {note}.")
