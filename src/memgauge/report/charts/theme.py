"""What all charts share: colours that colour-blind readers can tell apart, fonts, labels, and the size of data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memgauge.report.text import named, plain, short

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

PANEL_GAP = 20
"""Pixels between panels (Vega-Lite's own)."""
AXIS_ROOM = 62
"""Pixels that the common axis takes beside the panels."""
NAMES_ROOM = 250
"""The same for an axis of systems' names."""
ROW_HEIGHT = 24
"""Pixels of a system's line on an axis of names."""
FULL_WIDTH = 936
"""Pixels that a chart has on the page at a window of 1,280 pixels; panels share them."""


def panel_width(columns: int, axis: int = AXIS_ROOM) -> int:
    """Return the width of one of `columns` panels that share the page with an axis of `axis` pixels."""
    return (FULL_WIDTH - axis) // columns - PANEL_GAP


def split_name(split: str) -> str:
    """Return the reader's name of a split."""
    return BANDS.get(split, named(split))


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

    def __init__(self, systems: Sequence[str], limit: int = 30) -> None:
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

    def within(self, pixels: int) -> Labels:
        """Return labels short enough for the title of a panel of so many pixels."""
        return Labels(self.systems, max(12, pixels // 7))

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


def dashed_lines(
    base: Any, field: str, names: Sequence[str], dashes: Sequence[Sequence[int]], **mark: Any
) -> list[Any]:
    """Return one layer of lines for each dash that occurs.

    An encoding of the dash would do, if its legend did not become one with (or, when left out, take away) the legend of
    points that show the same names.
    """
    import altair as alt

    layers = []
    for dash in dict.fromkeys(map(tuple, dashes)):
        chosen = [name for name, own in zip(names, dashes, strict=True) if tuple(own) == dash]
        lines = base.transform_filter(alt.FieldOneOfPredicate(field=field, oneOf=chosen))
        layers.append(lines.mark_line(strokeWidth=2, strokeDash=list(dash), **mark))
    return layers


def columns_for(panels: int) -> int:
    """Return how many small panels stand side by side: the fewest gaps in the last row, 4 when in doubt.

    >>> [columns_for(n) for n in (1, 6, 8, 10, 12, 13)]
    [1, 3, 4, 5, 4, 5]
    """
    return min(panels, min((4, 5, 3), key=lambda columns: -panels % columns)) if panels else 1


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
        "labelFontSize": 11,
        "labelFontWeight": "bold",
        "labelColor": "#1b1f24",
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
        "labelLimit": 188,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
        "symbolSize": 90,
        "columnPadding": 18,
        "title": None,
    },
    "title": {"fontSize": 13, "color": "#1b1f24", "anchor": "start"},
}


def data() -> Any:
    """Return the place of the data in a chart under construction; `finish` puts the rows there.

    By name, since altair checks rows that lie in the chart itself one by one against the whole Vega-Lite schema.
    """
    import altair as alt

    return alt.NamedData(name="rows")


def finish(
    chart: Any, rows: Sequence[Mapping[str, Any]], *, panel: int | None = None, axis: int = AXIS_ROOM
) -> dict[str, Any]:
    """Return the specification of an altair chart with its rows and the shared look.

    `panel` is the width of one panel and `axis` that of the axis beside the panels: the page reads them in `usermeta`
    and draws as many panels side by side as the screen has room for. Numbers keep five digits, which no eye can tell
    from more. Raises `ValueError` for more than `MAX_ROWS` rows: aggregate first.
    """
    if len(rows) > MAX_ROWS:
        raise ValueError(f"{len(rows)} rows in one chart: aggregate to at most {MAX_ROWS}")
    spec: dict[str, Any] = chart.to_dict()
    spec["datasets"] = {"rows": [{name: _rounded(value) for name, value in row.items()} for row in rows]}
    spec["config"] = CONFIG
    if panel is not None:
        # A title wider than its panel would push all panels apart.
        header = {**CONFIG["header"], "labelLimit": panel}
        spec["config"] = {**CONFIG, "header": header, "axisX": {"titleLimit": panel}}
        spec["usermeta"] = {"panel": panel + PANEL_GAP, "axis": axis}
    return spec


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def percent_x(field: str, title: str, domain: Sequence[float] | None = None, **axis: Any) -> Any:
    """Return an x channel of proportions, labelled in percent."""
    import altair as alt

    return _percent(alt.X(f"{field}:Q", title=title), domain, axis)


def percent_y(field: str, title: str, domain: Sequence[float] | None = None, **axis: Any) -> Any:
    """Return a y channel of proportions, labelled in percent."""
    import altair as alt

    return _percent(alt.Y(f"{field}:Q", title=title), domain, axis)


def _percent(channel: Any, domain: Sequence[float] | None, axis: dict[str, Any]) -> Any:
    channel = channel.axis(**{"labelExpr": "format(datum.value * 100, '~r')", "tickCount": 5, **axis})
    return channel.scale(zero=False, padding=8) if domain is None else channel.scale(domain=list(domain), nice=False)


def interval_tooltip(*first: Any, value: str, signed: bool = False) -> list[Any]:
    """Return a tooltip: what is pointed at, then its value and its interval."""
    import altair as alt

    form = "+.1%" if signed else ".1%"
    ends = [alt.Tooltip(f"{name}:Q", title=title, format=form) for name, title in (("low", "from"), ("high", "to"))]
    return [*first, alt.Tooltip("value:Q", title=value, format=form), *ends]


def names_axis(names: Sequence[str]) -> Any:
    """Return a y channel of systems' names, in the report's order."""
    import altair as alt

    return alt.Y("system:N", title=None, sort=list(names)).axis(ticks=False, domain=False, grid=True)


def ends(estimate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value and the interval of an estimate, as columns of chart data."""
    return {name: estimate[name] for name in ("value", "low", "high")}


def accuracy_domain(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return a domain from a round number below everything that is drawn, at most 0.4, to 1."""
    drawn = [v for row in rows for v in (row["value"], row.get("low")) if v is not None]
    return [max(0.0, min(0.4, math.floor(min(drawn, default=0.0) * 10) / 10)), 1.0]


def chance_line(shown: bool, domain: Sequence[float]) -> list[Any]:
    """Return the layer that marks what guessing earns on balanced yes-no questions, on an axis of `domain`."""
    import altair as alt

    if not shown:
        return []
    # Layers join their domains: without the same one, this layer's own, from 0, would stretch the axis.
    y = alt.YDatum(0.5).scale(domain=list(domain), nice=False)
    return [alt.Chart().mark_rule(strokeDash=[2, 3], color="#8a929c").encode(y=y)]


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
