"""What the report page says, section by section."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memgauge.report import tables
from memgauge.report.charts import draw, streams_only
from memgauge.report.charts.grouping import Group, by_protocol, groups
from memgauge.report.charts.theme import split_name
from memgauge.report.guide import CAVEATS, READING
from memgauge.report.memlens.sections import memlens_sections
from memgauge.report.page import Block, Bullets, Fold, Note, Section, Table, Terms, Text, render_page
from memgauge.report.text import count, named, percent, plain
from memgauge.report.wrong_answers import wrong_answer_blocks

Row = Mapping[str, Any]
COMPARISONS_SHOWN = 200


def report_page(document: Row, charts: Mapping[str, Sequence[Block]] | None = None) -> str:
    """Return the HTML page of a report document (`memgauge.report.build.build_report`).

    `charts` are those of `memgauge.report.charts.draw`, where they have been made already.
    """
    drawn = draw(document) if charts is None else charts
    systems = list(dict.fromkeys(cell["system"] for cell in document["cells"]))
    tasks = list(dict.fromkeys(cell["task"] for cell in document["cells"]))
    what = f" on {', '.join(map(named, tasks))}" if tasks else ""
    return render_page(
        f"Memory report: {_number(len(systems), 'system')}{what}",
        report_sections(document, drawn),
        lead=measured(document),
        subtitle=_origin(document),
    )


def report_sections(document: Row, drawn: Mapping[str, Sequence[Block]]) -> list[Section]:
    """Return the page's sections in order."""
    memlens, streams = document.get("memlens"), streams_only(document)
    errors = document.get("wrong_answers")
    return [
        *([Section("Warnings", [Note(text) for text in document["warnings"]])] if document["warnings"] else []),
        *(memlens_sections(memlens, drawn) if memlens is not None else []),
        *(_stream_sections(streams, drawn) if streams["cells"] or memlens is None else []),
        *([Section("Wrong answers", wrong_answer_blocks(errors))] if errors is not None else []),
        Section("Comparisons", _comparisons(document)),
        Section("Outcomes", _outcomes(document, drawn)),
        *(_cost_sections(streams) if streams["cells"] or memlens is None else []),
        Section("What was run", _runs(document)),
        Section("How to read the numbers", [Text(CAVEATS), Terms(READING)]),
    ]


def _cost_sections(document: Row) -> list[Section]:
    return [Section("Costs", _costs(document)), Section("All cells", _cells(document))]


def _stream_sections(document: Row, drawn: Mapping[str, Sequence[Block]]) -> list[Section]:
    """Return the sections about streams."""
    sections = [
        Section("The four axes", _axes(document)),
        Section("Capacity", [*drawn["capacity"], *drawn["state"], *_capacity(document)]),
        Section("Efficiency", drawn["flops"]),
        Section("Compression", [*drawn["compression"], *_each(document["compression"], tables.compression_table)]),
        Section("Forgetting", [*drawn["forgetting"], *_each(document["forgetting"], tables.forgetting_table)]),
        Section("Calibration", _calibration(document, drawn)),
        Section("Perception check", _perception(document)) if document["perception"] or document["markers"] else None,
        Section("Retrieval", _retrieval(document)) if document["retrieval"] else None,
    ]
    return [section for section in sections if section is not None]


def measured(document: Row) -> str:
    """Say in one paragraph what was measured."""
    cells = document["cells"]
    if not cells:
        return "No question was right or wrong, so there is nothing to report."
    systems = {cell["system"] for cell in cells}
    asked = sum(cell["n"] for cell in cells)
    parts = [
        f"{_number(len(systems), 'memory system')} answered {_number(asked, 'question')} about "
        f"{_number(document['episodes'], 'episode')} of {_listed('task', (cell['task'] for cell in cells))}: "
        f"{_listed('split', (split_name(cell['split']) for cell in cells))}, "
        f"{_listed('length', (count(length) for length in sorted({cell['length'] for cell in cells})))}"
    ]
    negatives = {cell["negatives"] for cell in cells} - {None}
    if negatives:
        parts.append(f", {' and '.join(sorted(map(named, negatives), reverse=True))} negatives")
    arms = sorted({cell["arm"] for cell in cells} - {"none"})
    if arms:
        payoff = "payoff " if set(arms) <= {"A", "B"} else ""
        parts.append(f", {payoff}{_listed('arm', arms)}")
    parts.append(
        ". Each system writes an episode into its memory one observation after another, and then answers from that "
        "memory alone. Accuracy counts an abstention as wrong"
        + (", except where the conversation does not hold the answer. " if document.get("memlens") else ". ")
        + f"Intervals are {percent(document['level'], 0)} % intervals from a bootstrap over whole episodes "
        f"({document['redraws']:,} redraws, seed {document['seed']})."
    )
    return "".join(parts)


def _number(value: int, noun: str) -> str:
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def _listed(noun: str, values: Iterable[str]) -> str:
    found = [named(value) for value in dict.fromkeys(values)]
    text = found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
    return f"{noun}{'' if len(found) == 1 else 's'} {text}"


def _origin(document: Row) -> str:
    made = sorted({str(run["created"])[:10] for run in document["runs"] if run.get("created")})
    versions = [run["versions"] for run in document["runs"] if isinstance(run.get("versions"), dict)]
    memgauge = sorted({str(version["memgauge"]) for version in versions if version.get("memgauge")})
    parts = [f"run {' to '.join(dict.fromkeys([made[0], made[-1]]))}"] if made else []
    if memgauge:
        parts.append(f"memgauge {', '.join(memgauge)}")
    return ", ".join(parts)


def _each(rows: Sequence[Row], build: Callable[[Group], Table]) -> list[Block]:
    """The longest streams of the first protocol open, everything else folded."""
    shown, _ = groups(rows, tables.ALL)
    if not shown:
        return []
    first = shown[0]
    longest = first.at(first.lengths[-1:])
    blocks: list[Block] = [build(longest)]
    blocks += [Fold(f"{group.title}, all lengths", [build(group)]) for group in shown if group.rows != longest.rows]
    return blocks


def _axes(document: Row) -> list[Block]:
    lookup = tables.Lookup(document)
    shown = [group for group in tables.main_groups(document) if tables.has_bands(group)]
    if not shown:
        return [
            Text(
                "Capacity and compression need streams of low and of maximum entropy; the tables below hold the rest."
            ),
            *(tables.recall_table(group) for group in tables.main_groups(document)),
        ]
    blocks: list[Block] = [
        Text(
            "One line a system, at the longest streams; max and low are the entropy bands. Higher is better for "
            "capacity, compression and the accuracy of what was answered (C/R); lower is better for FLOPs and AURC. "
            "Click a column's name to sort by it."
        )
    ]
    for number, group in enumerate(shown):
        table = tables.axes_table(document, group, lookup, group.lengths[-1:])
        blocks.append(table if number < 2 else Fold(group.title, [table]))
    shorter = [
        tables.axes_table(document, group, lookup, group.lengths[:-1]) for group in shown if len(group.lengths) > 1
    ]
    if shorter:
        blocks.append(Fold("Shorter streams", shorter))
    return blocks


def _capacity(document: Row) -> list[Block]:
    budgets: list[Block] = [tables.capacity_table(group) for group in groups(document["capacity"], tables.ALL)[0]]
    known = tables.known_answer_table(document)
    blocks: list[Block] = [Fold("Accuracy at FLOPs budgets", budgets)] if budgets else []
    return [*blocks, Fold("Systems whose accuracy theory gives, measured", [known])] if known.rows else blocks


def _calibration(document: Row, drawn: Mapping[str, Sequence[Block]]) -> list[Block]:
    blocks: list[Block] = [*drawn["payoff"]]
    pools = {"all": "all splits and lengths pooled", "splits": "splits pooled", "none": "nothing pooled"}
    for pooled, caption in pools.items():
        rows = [row for row in document["calibration"] if row["pooled"] == pooled]
        for title, members in by_protocol(rows).items():
            table = tables.payoff_table(members, f"{title}; {caption}")
            blocks.append(table if pooled == "all" else Fold(f"{title}: {caption}", [table]))
    blocks += drawn["confidence"]
    blocks += _each(document["confidence"], tables.confidence_table)
    return blocks


def _perception(document: Row) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "At L = 8 hardly any memory is needed. What a model gets wrong there it gets wrong for another reason: it "
            "cannot read the stream, or it does not answer as asked. Its accuracy at L = 8 is the baseline; what is "
            "lost from there on is memory (ECCBench, B.5). Abstentions count as wrong."
        )
    ]
    blocks += [
        Note(text)
        for text in dict.fromkeys(
            f"{named(row['system'])}: {row['note']}." for row in document["markers"] if row["note"]
        )
    ]
    blocks += _arms_folded(document["perception"], lambda rows, title: [tables.perception_table(rows, title)])
    if document["markers"]:
        blocks.append(Fold("Are the yes and no markers swapped?", [tables.markers_table(document["markers"])]))
    return blocks


def _retrieval(document: Row) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "Beside a system that reads the whole stream for each question (ECCBench, B.7, Table 9). `per answer` "
            "reads what was retrieved; the index is embedded once a stream, and `one query` charges all of it to one "
            "question. After `break-even` questions a stream, index and answers together cost less than reading "
            "everything each time. The hit rate is the share of true candidates that lie wholly in what was "
            "retrieved: accuracy on yes-questions can hardly be higher. Scores of different embedders do not compare."
        )
    ]
    how = tables.how_retrieved(document)

    def both(rows: Sequence[Row], title: str) -> list[Block]:
        return [tables.retrieval_table(rows, how, title), tables.retrieval_costs_table(rows, title)]

    return blocks + _arms_folded(document["retrieval"], both)


def _arms_folded(rows: Sequence[Row], build: Callable[[Sequence[Row], str], list[Block]]) -> list[Block]:
    """Without a payoff first; the payoff arms folded, where the same was asked without."""
    blocks: list[Block] = []
    for title, members in by_protocol(rows).items():
        plain_rows = [row for row in members if row["arm"] == "none"]
        armed = [row for row in members if row["arm"] != "none"]
        blocks += build(plain_rows or armed, title)
        if plain_rows and armed:
            blocks.append(Fold(f"{title}: under the payoff arms", build(armed, title)))
    return blocks


def _comparisons(document: Row) -> list[Block]:
    compared = [row for row in document["comparisons"] if row["n"]]
    if not compared:
        return [Text("There is nothing to compare: no two systems answered the same questions.")]
    shown, _ = groups(compared, tables.ALL)
    blocks: list[Block] = [
        Text(
            "Pairs of systems on the same questions. The interval is of the difference, over episodes; McNemar's exact "
            "test looks at the questions that only one of the two got right. p (Holm) is corrected within this cell: "
            "over all pairs of its systems, at one length and split. `memgauge compare` corrects over all that it "
            "prints, so its values differ. The questions of one stream succeed and fail together: where the test over "
            "whole streams disagrees with McNemar's, trust the former."
        )
    ]
    made = [
        (f"{group.title}, L = {length:,}, {split_name(split)}", rows)
        for group in shown
        for length in reversed(group.lengths)
        for split in sorted({row["split"] for row in group.rows}, key=lambda split: (split != "max", split))
        if (rows := [row for row in group.rows if (row["length"], row["split"]) == (length, split)])
    ]
    left = total = 0
    for title, rows in made:
        if total and total + len(rows) > COMPARISONS_SHOWN:
            left += len(rows)
            continue
        total += len(rows)
        blocks.append(Fold(f"{title}: {_number(len(rows), 'pair')}", [tables.comparison_table(rows)]))
    if left:
        blocks.append(
            Text(
                f"{left:,} more pairs, at other lengths and splits, are in the document of `memgauge report --json`; "
                "`memgauge compare RUN_A RUN_B` compares two runs."
            )
        )
    return blocks


def _outcomes(document: Row, drawn: Mapping[str, Sequence[Block]]) -> list[Block]:
    blocks: list[Block] = [*drawn["outcomes"]]
    if document["cells"]:
        blocks.append(tables.outcome_table(document))
        kinds = tables.abstention_table(document["cells"])
        if kinds.rows:
            blocks.append(Fold("Kinds of abstentions and refusals", [kinds]))
        worst = tables.worst_case_table(document)
        if worst.rows:
            blocks.append(worst)
        else:
            blocks.append(Text("No question ended in an error: the worst and the best case are the accuracy itself."))
    return blocks


def _costs(document: Row) -> list[Block]:
    if not document["cells"]:
        return [Text("Nothing was spent.")]
    return [
        Text(
            "Means per question. F write charges each question its stream's whole write (one question a stream, the "
            "paper's convention); the shared columns divide one write among the questions that it served. Times depend "
            "on the machine, FLOPs do not."
        ),
        *_each(document["cells"], tables.cost_table),
    ]


def _cells(document: Row) -> list[Block]:
    return [Fold(group.title, [tables.cells_table(group)]) for group in tables.main_groups(document)] or [
        Text("There is no cell.")
    ]


def _runs(document: Row) -> list[Block]:
    blocks: list[Block] = []
    for run in document["runs"]:
        blocks.append(Terms([(name, value) for name, value in _facts(run) if value]))
        systems = tables.dicts(run.get("systems"))
        if systems:
            rows = [
                [plain(system.get(name) or "") for name in ("name", "spec", "description", "fingerprint")]
                for system in systems
            ]
            blocks.append(
                Fold(
                    _number(len(rows), "system"),
                    [Table(["name", "spec", "description", "fingerprint"], rows, headings=1, wordy=3)],
                )
            )
    if document["notes"]:
        blocks.append(Bullets([plain(note) for note in document["notes"]]))
    return blocks


def _facts(run: Row) -> Iterable[tuple[str, str]]:
    """What one `run.json` says, whichever keys it has."""
    yield "Run", " ".join(plain(part) for part in (run.get("run"), "in", f"`{run['folder']}`") if part)
    yield "Made", " to ".join(dict.fromkeys(str(run[name]) for name in ("created", "updated") if run.get(name)))
    if run.get("finished") is False:
        yield "State", "not finished"
    commands = run.get("commands") or ([run["command"]] if run.get("command") else [])
    commands = commands if isinstance(commands, list) else [commands]
    yield "Commands", "; ".join(f"`{_command(command)}`" for command in commands if command)
    for name in ("versions", "data", "machine"):
        yield name.capitalize(), _flat(run.get(name))
    known = {"run", "folder", "created", "updated", "finished", "commands", "command", "versions", "data", "machine",
             "systems", "notes", "schema_version"}  # fmt: skip
    yield "Also recorded", _flat({name: value for name, value in run.items() if name not in known})


def _command(command: Any) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)


def _flat(value: Any) -> str:
    """Write nested values as `name value, name value`."""
    if isinstance(value, Mapping):
        inner = {name: _flat(item) for name, item in value.items()}
        return "; ".join(f"{name} {text}" for name, text in inner.items() if text)
    if isinstance(value, list):
        return ", ".join(_flat(item) for item in value)
    return "" if value is None else str(value)
