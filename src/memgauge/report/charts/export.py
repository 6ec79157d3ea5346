"""Charts as files for papers and slides: PNG, SVG and PDF, drawn without a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from memgauge.errors import unknown_name
from memgauge.files import write_whole
from memgauge.progress import Progress
from memgauge.report.page import VEGA_LITE, Block, Chart, file_name

FORMATS = ("png", "svg", "pdf")
SCALE = 3
"""Of PNG files: pixels per unit of the chart, some 290 dots per inch at the charts' size on paper."""


def check_formats(formats: Iterable[str]) -> None:
    """Raise `InputError` for a format other than png, svg and pdf."""
    for name in formats:
        if name not in FORMATS:
            raise unknown_name("format", name, FORMATS)


def export_charts(blocks: Iterable[Block], folder: Path, formats: Sequence[str] = ("svg",)) -> list[Path]:
    """Write each chart as `FOLDER/NAME.FORMAT` and return the files.

    Raises `InputError` for a format other than png, svg and pdf.
    """
    import vl_convert

    check_formats(formats)
    charts = [block for block in blocks if isinstance(block, Chart)]
    written = []
    taken: set[str] = set()
    with Progress("charts", len(charts) * len(formats)) as bar:
        for chart in charts:
            spec = json.dumps({**chart.spec, "title": {"text": chart.title, "offset": 12}}, allow_nan=False)
            stem = base = file_name(chart.name)
            number = 2
            while stem in taken:
                stem, number = f"{base}-{number}", number + 1
            taken.add(stem)
            for name in formats:
                path = folder / f"{stem}.{name}"
                if name == "png":
                    write_whole(path, vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=SCALE))
                elif name == "svg":
                    write_whole(path, vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))
                else:
                    write_whole(path, vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE))
                written.append(path)
                bar.advance()
    return written
