"""Independent counts for tests: small models whose matrix products are really carried out, and counted one by one."""

from __future__ import annotations

import numpy as np


class Counter:
    """Counts 2abc for each product (a, b) @ (b, c)."""

    def __init__(self):
        self.flops = 0

    def __call__(self, left, right):
        (a, b), (b2, c) = left.shape, right.shape
        assert b == b2
        self.flops += 2 * a * b * c
        return left @ right


def zeros(*shape):
    return np.zeros(shape, np.int8)


def ffn(mm, x, width, gated):
    d = x.shape[1]
    hidden = mm(x, zeros(d, width))
    if gated:
        hidden = hidden * mm(x, zeros(d, width))
    return mm(hidden, zeros(width, d))


def mixture(mm, x, width, experts, active, shared):
    """Route each token alone: every token pays the router and `active` experts, and the shared one."""
    d = x.shape[1]
    for token in range(len(x)):
        row = x[token : token + 1]
        mm(row, zeros(d, experts))
        for _ in range(active):
            ffn(mm, row, width, gated=True)
        if shared:
            ffn(mm, row, shared, gated=True)
    return x


class Decoder:
    """A decoder with a key-value cache that runs token by token, head by head."""

    def __init__(self, layers, d, n_q, n_kv, h, vocabulary):
        """`layers` is a list of (window or None, function that runs the feed-forward)."""
        self.layers, self.d, self.n_q, self.n_kv, self.h, self.vocabulary = layers, d, n_q, n_kv, h, vocabulary
        self.seen = 0
        self.mm = Counter()

    def step(self):
        """Push one token through all layers."""
        self.seen += 1
        x = zeros(1, self.d)
        for window, feed_forward in self.layers:
            self.mm(x, zeros(self.d, self.n_q * self.h))
            self.mm(x, zeros(self.d, self.n_kv * self.h))
            self.mm(x, zeros(self.d, self.n_kv * self.h))
            visible = self.seen if window is None else min(self.seen, window)
            for _ in range(self.n_q):
                scores = self.mm(zeros(1, self.h), zeros(self.h, visible))
                self.mm(scores, zeros(visible, self.h))
            self.mm(zeros(1, self.n_q * self.h), zeros(self.n_q * self.h, self.d))
            feed_forward(self.mm, x)

    def read(self, tokens):
        """Read a prompt; return what it cost."""
        before = self.mm.flops
        for _ in range(tokens):
            self.step()
        return self.mm.flops - before

    def answer(self, tokens):
        """Generate: each token needs an output distribution, and all but the first a pass of the one before it."""
        before = self.mm.flops
        for token in range(tokens):
            if token:
                self.step()
            self.mm(zeros(1, self.d), zeros(self.d, self.vocabulary))
        return self.mm.flops - before


def vision_pass(mm, patches, *, blocks, width, ffn_width, gated, patch, frames, class_tokens=0, full=None, window=None):
    """Run a vision transformer over one span of patches; `full` of the blocks attend over all of it."""
    mm(zeros(patches, 3 * patch * patch * frames), zeros(3 * patch * patch * frames, width))
    v = patches + class_tokens
    for block in range(blocks):
        for _ in range(4):
            mm(zeros(v, width), zeros(width, width))
        if full is None or block < full:
            mm(mm(zeros(v, width), zeros(width, v)), zeros(v, width))
        else:
            assert v % window == 0
            for _ in range(v // window):
                mm(mm(zeros(window, width), zeros(width, window)), zeros(window, width))
        ffn(mm, zeros(v, width), ffn_width, gated)
