"""What all charts share: colours that colour-blind readers can tell apart, fonts, labels, and the size of data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memgauge.report.text import plain, short

MAX_ROWS = 5_000
"""A specification carries its data: more rows than this make the page heavy, and altair refuses them."""

LOW, MAX = "#0072b2", "#d55e00"
"""Blue and orange of the two entropy bands, as in ECCBench, Fig. 3; they stay apart for every kind of colour vision."""

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5d4a9c", "#4d4d4d")
"""Okabe and Ito's colours, the yellow replaced (it is too faint for lines on white)."""
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")

BANDS = {"low": "low entropy", "max": "max entropy"}
"""Names of the entropy bands for readers; other splits keep their own name."""

PANEL_GAP = 18
AXIS_ROOM = 56
"""Pixels that an axis with its labels takes beside a panel."""


def split_name(split: str) -> str:
    """Return the reader's name of a split."""
    return BANDS.get(split, plain(split))


def split_scale(splits: Iterable[str]) -> tuple[list[str], list[str], list[list[int]]]:
    """Return names, colours and dashes of splits: low entropy blue and solid, max entropy orange and dashed."""
    names, colours, dashes = [], [], []
    others = iter(range(2, 2 + len(PALETTE)))
    for split in sorted(set(splits)):
        names.append(split_name(split))
        if split == "low":
            colours.append(LOW)
            dashes.append([1, 0])
        elif split == "max":
            colours.append(MAX)
            dashes.append([5, 3])
        else:
            number = next(others)
            colours.append(PALETTE[number % len(PALETTE)])
            dashes.append(list(DASHES[(number - 2) % len(DASHES)]))
    return names, colours, dashes


class Labels:
    """Short, unique labels of systems, always in the same colour, dash and shape within one report.

    >>> Labels(["window:bits=256", "exact"])["exact"]
    'exact'
    """

    def __init__(self, systems: Sequence[str], limit: int = 34) -> None:
        self.systems = list(dict.fromkeys(systems))
        self._labels: dict[str, str] = {}
        taken: set[str] = set()
        for system in self.systems:
            label = base = short(plain(system), limit)
            number = 2
            while label in taken:
                label, number = f"{base} ({number})", number + 1
            taken.add(label)
            self._labels[system] = label

    def __getitem__(self, system: str) -> str:
        return self._labels[system]

    def style(self, systems: Iterable[str]) -> tuple[list[str], list[str], list[list[int]], list[str]]:
        """Return labels, colours, dashes and shapes of some systems, in the report's order."""
        wanted = set(systems)
        chosen = [(index, name) for index, name in enumerate(self.systems) if name in wanted]
        count = len(PALETTE)
        return (
            [self[name] for _, name in chosen],
            [PALETTE[index % count] for index, _ in chosen],
            [list(DASHES[(index // count) % len(DASHES)]) for index, _ in chosen],
            [SHAPES[(index // count) % len(SHAPES)] for index, _ in chosen],
        )


CONFIG: dict[str, Any] = {
    "background": "#ffffff",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": "#c9ced6", "strokeWidth": 1},
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": "#33393f",
        "titleColor": "#1b1f24",
        "gridColor": "#e7eaee",
        "domainColor": "#8a929c",
        "tickColor": "#8a929c",
        "titlePadding": 8,
        "labelLimit": 230,
    },
    "axisY": {"titlePadding": 10},
    "header": {
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "labelColor": "#1b1f24",
        "labelLimit": 260,
        "labelPadding": 4,
        "title": None,
    },
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "columns": 4,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": "#1b1f24",
        "labelLimit": 250,
        "symbolStrokeWidth": 2,
        "symbolSize": 90,
        "columnPadding": 18,
        "title": None,
    },
    "title": {"fontSize": 13, "color": "#1b1f24", "anchor": "start"},
}


def finish(chart: Any, *, panel: int | None = None) -> dict[str, Any]:
    """Return the specification of an altair chart with the shared look; `panel` is the width of one panel with axis."""
    spec: dict[str, Any] = chart.to_dict()
    spec["config"] = CONFIG
    # Lines that cross a panel's frame would be cut in half by a clip; the frame itself is enough.
    if panel is not None:
        spec["usermeta"] = {"panel": panel}
    return spec


def inline(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as inline chart data; more than `MAX_ROWS` is an error of the caller, who must aggregate first."""
    import altair as alt

    if len(rows) > MAX_ROWS:
        raise ValueError(f"{len(rows)} rows in one chart: aggregate to at most {MAX_ROWS}")
    return alt.InlineData(values=[dict(row) for row in rows])


def thin(count: int, limit: int) -> list[int]:
    """Return at most `limit` indices of 0 .. count-1, evenly spread, with both ends.

    >>> thin(10, 4)
    [0, 3, 6, 9]
    """
    if count <= limit:
        return list(range(count))
    if limit < 2:
        return [count - 1]
    return [round(index * (count - 1) / (limit - 1)) for index in range(limit)]
