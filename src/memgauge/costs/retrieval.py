"""What the retrieval pipeline costs (ECCBench, B.7): embed windows once, embed the query, read the best clip."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from memgauge.costs.arithmetic import whole
from memgauge.costs.prices import VlmPrice, vlm_price
from memgauge.costs.response import VIDEO_FRAMES, VIDEO_PROMPT_TOKENS, price_response
from memgauge.costs.vision import Frame
from memgauge.errors import InputError, unknown_name

WINDOW, STRIDE = 16, 4
EMBED_PROMPT_TOKENS = 40
"""Text tokens in every input of the embedder: what the paper's 0.56 TF for a sentence, and its L = 64 rows, imply."""
CANDIDATE_FRAMES = 5
"""Frames of a synthetic candidate (three to six symbols): three two-frame groups, as the paper's rows imply."""
READER, EMBEDDER = "Qwen3-Omni (30B, A3B)", "Qwen3-VL (8B)"
"""The paper's models; the embedder, Qwen3-VL-Embedding-8B, has the shape of Qwen3-VL (8B)."""


def window_count(length: int, window: int = WINDOW, stride: int = STRIDE) -> int:
    """Return how many windows a stream is cut into: floor((L - window) / stride) + 1, and 1 for a shorter stream.

    >>> [window_count(length) for length in (8, 64, 128, 512)]
    [1, 13, 29, 125]
    """
    if min(length, window, stride) < 1:
        raise InputError("length, window and stride must be at least 1")
    return max(0, length - window) // stride + 1


def embedding_flops(
    price: VlmPrice, *, frames: int = 0, frame: Frame = (640, 360), t_in: int = EMBED_PROMPT_TOKENS
) -> int:
    """Price one embedding: vision, connector and prefill of a clip of `frames` frames and `t_in` text tokens.

    An embedder reads once and decodes nothing. With `frames` 0 it embeds a text of `t_in` tokens.

    >>> round(embedding_flops(vlm_price("Qwen3-VL (8B)"), frames=16) / 1e12, 2)
    33.11
    """
    if frames == 0:
        return whole(price.text.prefill(t_in))
    cost = price_response(price, "natural-video", frames, 0, frame=frame, t_in=t_in)
    return cost.F_write


@dataclass(frozen=True, slots=True)
class RetrievalCost:
    """The costs of Table 9, in FLOPs."""

    windows: int
    F_window: int
    """Embedding one window."""
    F_query: int
    """Embedding one query."""
    F_answer: int
    """Reading the retrieved clip and answering. As the paper's rows have it, the query embedding is not in it."""
    F_full: int
    """Reading the whole video and answering, with the same model."""

    @property
    def F_index(self) -> int:
        """Embedding every window once."""
        return self.windows * self.F_window

    @property
    def F_one_query(self) -> int:
        """The whole index charged to a single question."""
        return self.F_index + self.F_answer

    @property
    def saving(self) -> Fraction:
        """How many times cheaper an answer is, with the index amortised away."""
        return Fraction(self.F_full, self.F_answer)

    @property
    def break_even(self) -> Fraction | None:
        """Questions a stream must serve before index and answers cost less than reading it for each; None: never."""
        gain = self.F_full - self.F_answer
        return Fraction(self.F_index, gain) if gain > 0 else None


def retrieval_cost(
    task: str,
    length: int,
    *,
    read_frames: int | None = None,
    index_frame: Frame | None = None,
    frame: Frame | None = None,
    answer_tokens: int | Fraction = 3,
    t_in: int = VIDEO_PROMPT_TOKENS,
    reader: VlmPrice | None = None,
    embedder: VlmPrice | None = None,
) -> RetrievalCost:
    """Price the pipeline on a video of `length` frames.

    Parameters
    ----------
    task
        `natural-video`, whose queries are sentences, or `ecc-video`, whose queries are candidate clips.
    read_frames
        Frames of the clip that the answering model reads. One window by default for L < 128, where the top window
        alone is retrieved; from L = 128 on three windows are merged, and how long they become is data: give it.
    index_frame
        Frame size at which windows are embedded; the task's by default. The paper's synthetic row is printed with the
        price of a 640x360 window.
    frame, answer_tokens, t_in
        As in `price_response`.
    reader, embedder
        The paper's models by default.
    """
    if task not in VIDEO_FRAMES:
        raise unknown_name("video task", task, VIDEO_FRAMES)
    frame = frame or VIDEO_FRAMES[task]
    index_frame = index_frame or VIDEO_FRAMES[task]
    reader = reader or vlm_price(READER)
    embedder = embedder or vlm_price(EMBEDDER)
    if read_frames is None:
        if length >= 128:
            raise InputError(
                f"length is {length}: from 128 frames on three windows are merged, so say how many frames were read"
            )
        read_frames = min(WINDOW, length)
    candidate = CANDIDATE_FRAMES if task == "ecc-video" else 0

    def answer(frames: int) -> int:
        cost = price_response(reader, task, frames, answer_tokens, frame=frame, t_in=t_in, option_frames=candidate)
        return cost.F_total

    return RetrievalCost(
        windows=window_count(length),
        F_window=embedding_flops(embedder, frames=min(WINDOW, length), frame=index_frame),
        F_query=embedding_flops(embedder, frames=candidate, frame=frame),
        F_answer=answer(read_frames),
        F_full=answer(length),
    )
