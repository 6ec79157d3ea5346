"""Streams of symbols with membership queries: ECCBench's discrete experience (sections 3, 4.1, A.1, A.2)."""

from memgauge.streams.batch import StreamBatch, max_entropy_batch
from memgauge.streams.dataset import write_cells, write_dataset
from memgauge.streams.easyhuman import EasyHumanStream, easyhuman_stream
from memgauge.streams.entropy import lz78_rate, lz_rate, match_lengths
from memgauge.streams.generator import LowEntropyStream, RuleSet, low_entropy_stream, max_entropy_stream
from memgauge.streams.item import ALPHABET, SIZES, Band, Negatives, StreamItem, StreamQuery
from memgauge.streams.make import Cell, ask_about, make_cell, make_item, paper_cells
from memgauge.streams.queries import age, draw_queries
from memgauge.streams.reading import read_dataset, validate

__all__ = [
    "ALPHABET",
    "SIZES",
    "Band",
    "Cell",
    "EasyHumanStream",
    "LowEntropyStream",
    "Negatives",
    "RuleSet",
    "StreamBatch",
    "StreamItem",
    "StreamQuery",
    "age",
    "ask_about",
    "draw_queries",
    "easyhuman_stream",
    "low_entropy_stream",
    "lz78_rate",
    "lz_rate",
    "make_cell",
    "make_item",
    "match_lengths",
    "max_entropy_batch",
    "max_entropy_stream",
    "paper_cells",
    "read_dataset",
    "validate",
    "write_cells",
    "write_dataset",
]
