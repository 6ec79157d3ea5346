"""Ready-made observations: a CSV file with the header `gap,fidelity` (seconds), straight into the fit."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.metrics.half_life_profile import Floats

MAXIMUM_ROWS = 1_000_000


@dataclass(frozen=True)
class PairsTable:
    """Observations read from a file; `names` says where each one stands, `events` is None without such a column."""

    gaps: Floats
    fidelities: Floats
    names: list[str]
    events: NDArray[np.str_] | None


def read_pairs(path: Path) -> PairsTable:
    """Read pairs from a CSV file with the columns `gap` and `fidelity`, and optionally `event`.

    `NaN` and `Infinity` are read as the numbers they are (the fit then names the row); any other text, an empty cell
    or a row of the wrong length raises `InputError` with the line.
    """
    gaps: list[float] = []
    fidelities: list[float] = []
    names: list[str] = []
    events: list[str] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [cell.strip().lower() for cell in next(reader, [])]
            for name in ("gap", "fidelity"):
                if header.count(name) != 1:
                    raise InputError(f"{path}: line 1 must be a header with the columns gap and fidelity, got {header}")
            gap_at, fidelity_at = header.index("gap"), header.index("fidelity")
            event_at = header.index("event") if "event" in header else None
            for cells in reader:
                if not cells or cells == [""]:
                    continue
                place = f"{path}, line {reader.line_num}"
                if len(cells) != len(header):
                    raise InputError(f"{place}: {len(cells)} cells where the header has {len(header)}")
                if len(gaps) >= MAXIMUM_ROWS:
                    raise InputError(f"{place}: more than {MAXIMUM_ROWS:,} pairs")
                gaps.append(_number(cells[gap_at], "gap", place))
                fidelities.append(_number(cells[fidelity_at], "fidelity", place))
                names.append(f"pair {len(gaps)} ({place})")
                if event_at is not None:
                    events.append(cells[event_at].strip())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: give a CSV file with the header gap,fidelity") from error
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV file: {error}") from error
    return PairsTable(
        np.array(gaps, dtype=np.float64),
        np.array(fidelities, dtype=np.float64),
        names,
        np.array(events, dtype=np.str_) if event_at is not None else None,
    )


def _number(text: str, column: str, place: str) -> float:
    cell = text.strip()
    try:
        # Python reads 1_000 as a number; other programs do not.
        if "_" in cell:
            raise ValueError
        return float(cell)
    except ValueError:
        raise InputError(f"{place}: the {column} {text!r} is not a number") from None
