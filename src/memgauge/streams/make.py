"""Making streams with their queries: one item, one cell, or the whole text set of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.errors import InputError, unknown_name
from memgauge.streams import easyhuman
from memgauge.streams.entropy import lz78_rate, lz_rate
from memgauge.streams.generator import low_entropy_stream, max_entropy_stream
from memgauge.streams.item import MIN_LENGTH, Band, Negatives, StreamItem, frozen
from memgauge.streams.queries import QueryArrays, draw_queries, to_queries

LAW = 1
"""Version of the laws by which items follow from (seed, band, length, index): raised whenever an item would change."""
LAW_DATE = "2026-11-29"
"""The day of that version. Datasets carry it as their date, since the same thing made twice must be equal."""
PAPER_LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
EASYHUMAN_LENGTHS = (256, 1024)


@dataclass(frozen=True, slots=True)
class Cell:
    """Streams of one band and length, made alike."""

    band: Band
    length: int
    count: int = 20
    """Streams, from index 0 on."""
    queries: int = 16
    """Queries about each stream, half of them positive; at least two, so that both classes are asked."""
    negatives: Negatives = "uniform"
    """`uniform` or `matched`; EasyHuman streams have corruptions of their deviations instead."""

    def __post_init__(self) -> None:
        for name, value, least in (("count", self.count, 1), ("queries", self.queries, 2)):
            if value < least:
                raise InputError(f"{name} must be at least {least}; got {value}")
        check(self.band, self.length, 0, 0, self.queries, self.negatives)


def paper_cells(negatives: Negatives = "uniform") -> tuple[Cell, ...]:
    """Return the cells of the paper's text set (ECCBench, A.1 and A.2).

    Ten lengths in two bands with 20 streams each, and 20 EasyHuman streams of each structure at two lengths; 16 queries
    a stream.

    >>> len(paper_cells()), sum(cell.count for cell in paper_cells())
    (22, 480)
    """
    bands: tuple[Band, Band] = ("low", "max")
    synthetic = [Cell(band, length, negatives=negatives) for band in bands for length in PAPER_LENGTHS]
    return (*synthetic, *(Cell("easyhuman", length, count=40) for length in EASYHUMAN_LENGTHS))


def make_item(
    band: Band,
    length: int,
    index: int,
    *,
    seed: int,
    queries: int = 16,
    negatives: Negatives = "uniform",
) -> StreamItem:
    """Make one stream with its queries: a function of the arguments, whatever else is made.

    Parameters
    ----------
    band : `low`, `max` or `easyhuman`; an EasyHuman stream has the `repeating` structure where `index` is even and the
        `counting` one where it is odd.
    length : symbols in the stream, at least 6 (EasyHuman: 32).
    index : which stream of the cell, from 0.
    queries : how many; half are positive, and of an odd number the larger half where `index` is even.
    negatives : `uniform` (the paper's) or `matched` (an extension). Both ask about the same stream, so that results
        can be compared in pairs. EasyHuman has its own negatives and takes no other.

    >>> item = make_item("low", 1024, 7, seed=7)
    >>> item.stream_id, item.symbols.shape, sum(query.gold for query in item.queries), 0.33 <= item.lz_rate <= 0.99
    ('low-1024-0007', (1024,), 8, True)

    Raises `InputError` for arguments out of range.
    """
    return draw_item(band, length, index, seed=seed, queries=queries, negatives=negatives)[0]


def ask_about(
    symbols: ArrayLike,
    stream_id: str,
    *,
    seed: int,
    queries: int = 16,
    negatives: Negatives = "uniform",
    band: str = "own",
) -> StreamItem:
    """Return a stream of your own as an item: measured, and with queries drawn for it.

    `symbols` are integers in 0..15, shape [L], L >= 6. The queries are a function of the stream, its id and the other
    arguments.

    >>> item = ask_about([3, 1, 4, 1, 5, 9, 2, 6] * 40, "digits", seed=1)
    >>> item.length, sum(query.gold for query in item.queries)
    (320, 8)

    Raises `InputError` for arguments out of range.
    """
    arrays = draw_queries(symbols, queries, seed=seed, negatives=negatives, family=f"own {stream_id}")
    stream = frozen(np.array(symbols, np.uint8))
    return StreamItem(
        stream_id=stream_id,
        band=band,
        length=len(stream),
        symbols=stream,
        queries=to_queries(stream, arrays, negatives),
        lz_rate=lz_rate(stream),
        lz78_rate=lz78_rate(stream),
        subtype=None,
    )


def make_cell(
    band: Band, length: int, count: int, *, seed: int, queries: int = 16, negatives: Negatives = "uniform"
) -> Iterator[StreamItem]:
    """Make streams 0 to `count - 1` of a band and length, one at a time; see `make_item`."""
    cell = Cell(band, length, count, queries, negatives)
    return (item for item, _ in draw_cell(cell, seed=seed))


def draw_cell(cell: Cell, *, seed: int) -> Iterator[tuple[StreamItem, int]]:
    """Yield the items of a cell, each with the number of rule sets tried for it (1 in the other bands)."""
    for index in range(cell.count):
        yield draw_item(cell.band, cell.length, index, seed=seed, queries=cell.queries, negatives=cell.negatives)


def draw_item(
    band: Band, length: int, index: int, *, seed: int, queries: int, negatives: Negatives
) -> tuple[StreamItem, int]:
    """Make one item; also return the number of rule sets tried for it."""
    check(band, length, index, seed, queries, negatives)
    rate, tries, subtype, law = None, 1, None, str(negatives)
    symbols: NDArray[np.uint8]
    arrays: QueryArrays
    if band == "easyhuman":
        stream = easyhuman.easyhuman_stream(seed, length, index)
        symbols, subtype, law = stream.symbols, stream.structure, "corruption"
        arrays = easyhuman.easyhuman_queries(stream, queries, seed=seed, index=index)
    else:
        if band == "low":
            low = low_entropy_stream(seed, length, index)
            symbols, rate, tries = low.symbols, low.lz_rate, low.tries
        else:
            symbols = max_entropy_stream(seed, length, index)
        arrays = draw_queries(symbols, queries, seed=seed, index=index, negatives=negatives, family=band)
    item = StreamItem(
        stream_id=f"{band}-{length}-{index:04d}",
        band=band,
        length=length,
        symbols=symbols,
        queries=to_queries(symbols, arrays, law),
        lz_rate=lz_rate(symbols) if rate is None else rate,
        lz78_rate=lz78_rate(symbols),
        subtype=subtype,
    )
    return item, tries


def check(band: str, length: int, index: int, seed: int, queries: int, negatives: str) -> None:
    """Raise `InputError` unless an item can be made from these."""
    if band not in get_args(Band):
        raise unknown_name("band", band, get_args(Band))
    if negatives not in get_args(Negatives):
        raise unknown_name("kind of negatives", negatives, get_args(Negatives))
    least = easyhuman.MIN_LENGTH if band == "easyhuman" else MIN_LENGTH
    if length < least:
        raise InputError(f"a stream of band {band!r} needs a length of at least {least} symbols; got {length}")
    if band == "easyhuman" and negatives != "uniform":
        raise InputError(
            "EasyHuman streams have negatives of their own (corruptions of their deviations); leave "
            "negatives at its default"
        )
    for name, value in (("index", index), ("seed", seed), ("queries", queries)):
        if value < 0:
            raise InputError(f"{name} must not be negative; got {value}")
