"""What backbones are trained on: maximum-entropy streams with 32 queries each, made from (seed, length, index).

Nothing is stored: sequence i of a length is the same item wherever it is made, so any order and any number of workers
see the same data, and the validation split is a range of indices.

A shortcut of the task: a candidate is absent as soon as one n-gram inside it is. Up to L = 128 a set of all pairs
answers nearly everything; only from L = 256 on must a memory hold triples (see the baselines `ngram-set`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from memgauge.streams.batch import StreamBatch, max_entropy_batch
from memgauge.systems.backbones.model import Backbone, right_align


class Batch(NamedTuple):
    """Streams with queries, as tensors."""

    symbols: Tensor
    """[B, L] integers."""
    candidates: Tensor
    """[B, Q, 6], right-aligned, padded with 16."""
    labels: Tensor
    """[B, Q]: 1 for yes; half of each row."""


def sequences(seed: int, length: int, first: int, count: int, queries: int, total: int) -> Batch:
    """Return sequences first, ..., first + count - 1 of `total`; after the last comes the first again."""
    parts: list[StreamBatch] = []
    while count:
        start = first % total
        taken = min(count, total - start)
        parts.append(max_entropy_batch(seed, length, start, taken, queries))
        first, count = first + taken, count - taken
    symbols, candidates, lengths, gold = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Batch(
        torch.from_numpy(symbols).long(),
        right_align(torch.from_numpy(candidates).long(), torch.from_numpy(lengths).long()),
        torch.from_numpy(gold).long(),
    )


@torch.no_grad()
def accuracy(model: Backbone, seed: int, length: int, first: int, streams: int, queries: int = 32) -> float:
    """Return the share of right answers on `streams` sequences from index `first` on, at most 64k symbols at once."""
    device = next(model.parameters()).device
    was_training, right = model.training, 0
    model.eval()
    at_once = max(1, min(streams, (1 << 16) // length))
    for start in range(0, streams, at_once):
        count = min(at_once, streams - start)
        batch = sequences(seed, length, first + start, count, queries, first + streams)
        logits = model(batch.symbols.to(device), batch.candidates.to(device))
        right += int((logits.argmax(-1).cpu() == batch.labels).sum())
    model.train(was_training)
    return right / (streams * queries)
