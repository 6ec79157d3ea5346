"""What one response costs: write (vision, connector, prefill) and read (decode to the point of commitment)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from memgauge.costs.arithmetic import MAX_COUNT, Rational, whole
from memgauge.costs.decoder import LanguageModel
from memgauge.costs.prices import VlmPrice
from memgauge.costs.vision import Frame
from memgauge.errors import InputError, unknown_name

VIDEO_FRAMES: dict[str, Frame] = {"ecc-video": (448, 448), "natural-video": (640, 360)}
"""The video tasks that can be priced, and the paper's frame size for each."""

TASKS = ("ecc-text", *VIDEO_FRAMES)
"""The tasks that can be priced."""

VIDEO_PROMPT_TOKENS = 128
"""T_in of the paper's video tables, the same for every model; its text table counts the symbols alone (T_in = 0)."""


@dataclass(frozen=True, slots=True)
class ResponseCost:
    """The terms of ECCBench, B.3, for one response; FLOPs as integers, rounded half to even once."""

    model: str
    task: str
    length: int
    """Stream symbols or frames."""
    frame: Frame | None
    option_frames: int
    t_in: int
    answer_tokens: Fraction
    split: str
    """Which side the prefill of the question's own tokens is on: `write` (the paper) or `question` (the read)."""
    queries: int
    N: int
    """Context tokens: prompt tokens and vision tokens (or symbols)."""
    B: int
    A: int
    F_voc: int
    F_vision: int
    F_connector: int
    F_prefill: int
    F_decode: int
    F_write: int
    """One stream's write, not divided by `queries`."""
    F_read: int
    F_total: int
    """F_write / queries + F_read."""
    language: LanguageModel
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the terms as one JSON object; FLOPs and N are integers."""
        t = self.answer_tokens
        return {
            "model": self.model,
            "task": self.task,
            "length": self.length,
            "frame": None if self.frame is None else f"{self.frame[0]}x{self.frame[1]}",
            "option_frames": self.option_frames,
            "t_in": self.t_in,
            "answer_tokens": int(t) if t.denominator == 1 else float(t),
            "answer_tokens_exact": f"{t.numerator}/{t.denominator}",
            "split": self.split,
            "queries": self.queries,
            "N": self.N,
            "B": self.B,
            "A": self.A,
            "F_voc": self.F_voc,
            "F_vision": self.F_vision,
            "F_connector": self.F_connector,
            "F_prefill": self.F_prefill,
            "F_decode": self.F_decode,
            "F_write": self.F_write,
            "F_read": self.F_read,
            "F_total": self.F_total,
            "attention": [{"layers": s.layers, "A": s.per_pair, "window": s.window} for s in self.language.spans],
            "notes": list(self.notes),
        }


def price_response(
    price: VlmPrice,
    task: str,
    length: int,
    answer_tokens: Rational,
    *,
    frame: Frame | None = None,
    t_in: int | None = None,
    option_frames: int = 0,
    split: str = "write",
    queries: int = 1,
) -> ResponseCost:
    """Price one response of a model that takes the whole stream into its context.

    Parameters
    ----------
    price
        From `vlm_price` or `load_price`.
    task
        `ecc-text` (one token a symbol), `ecc-video` or `natural-video`.
    length
        Stream symbols or frames, at least 1.
    answer_tokens
        T_ans, a number of tokens that need not be whole (see `answer_tokens`).
    frame
        Width and height in pixels of a video frame; the paper's size for the task by default.
    t_in
        Prompt tokens beside the stream; the paper's 128 for video and 0 for text by default.
    option_frames
        Frames of a candidate clip that is read as a second video. The paper's Tables 2 and 3 leave it out; its Table 9
        counts it.
    split
        `write` puts the prefill of all N tokens into the write, as the paper does; `question` moves the prefill of the
        last `t_in` tokens into the read.
    queries
        Questions that share one write: F_total = F_write / queries + F_read.

    Source: ECCBench, B.3.

    >>> from memgauge.costs import vlm_price
    >>> price_response(vlm_price("qwen3-vl-8b"), "ecc-text", 64, 3).F_decode
    31594315776
    """
    frame, t_in = _check(price, task, length, answer_tokens, frame, t_in, option_frames, split, queries)
    notes = list(price.notes)
    vision = connector = 0
    language = price.text if frame is None else price.video
    if frame is None or price.front_end is None:
        n = length + t_in
    else:
        clips = (length, option_frames) if option_frames else (length,)
        n = t_in + sum(price.front_end.tokens(clip, frame) for clip in clips)
        vision = sum(price.front_end.vision_flops(clip, frame) for clip in clips)
        connector = sum(price.front_end.connector_flops(clip, frame) for clip in clips)
        if not price.front_end.resolution_matters and frame != VIDEO_FRAMES[task]:
            notes.append("the frame size does not enter: this model resizes every frame to a fixed square")
    if price.context is not None and n > price.context:
        notes.append(
            f"N = {n} is {n / price.context:.1f} times the {price.context} positions the checkpoint was trained on"
        )
    prefill = language.prefill(n)
    decode = language.decode(n, answer_tokens)
    moved = prefill - language.prefill(n - t_in) if split == "question" else Fraction(0)
    write = vision + connector + prefill - moved
    read = decode + moved
    return ResponseCost(
        model=price.name,
        task=task,
        length=length,
        frame=frame,
        option_frames=option_frames,
        t_in=t_in,
        answer_tokens=Fraction(answer_tokens),
        split=split,
        queries=queries,
        N=n,
        B=language.B,
        A=language.A,
        F_voc=language.F_voc,
        F_vision=vision,
        F_connector=connector,
        F_prefill=whole(prefill),
        F_decode=whole(decode),
        F_write=whole(write),
        F_read=whole(read),
        F_total=whole(write / queries + read),
        language=language,
        notes=tuple(notes),
    )


def _check(
    price: VlmPrice,
    task: str,
    length: int,
    answer_tokens: Rational,
    frame: Frame | None,
    t_in: int | None,
    option_frames: int,
    split: str,
    queries: int,
) -> tuple[Frame | None, int]:
    """Refuse what cannot be priced, and fill in the paper's frame size and prompt tokens."""
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if not 1 <= length <= MAX_COUNT:
        raise InputError(f"length is {length}: give 1 to {MAX_COUNT} symbols or frames")
    if not 0 <= answer_tokens <= MAX_COUNT:
        raise InputError(f"answer tokens is {answer_tokens}: give 0 to {MAX_COUNT}")
    if split not in ("write", "question"):
        raise unknown_name("split", split, ("write", "question"))
    if not 1 <= queries <= MAX_COUNT:
        raise InputError(f"queries is {queries}: 1 to {MAX_COUNT} questions share a write")
    if t_in is None:
        t_in = VIDEO_PROMPT_TOKENS if task in VIDEO_FRAMES else 0
    if not 0 <= t_in <= MAX_COUNT or not 0 <= option_frames <= MAX_COUNT:
        raise InputError(f"t_in is {t_in}, option_frames is {option_frames}: give 0 to {MAX_COUNT}")
    if task not in VIDEO_FRAMES:
        if frame is not None or option_frames:
            raise InputError(f"task {task!r} shows no frames; leave the frame size and option frames out")
        return None, t_in
    if price.front_end is None:
        raise InputError(f"{price.name} cannot be priced on {task!r}: {price.no_video}")
    frame = frame or VIDEO_FRAMES[task]
    if min(frame) < 1:
        raise InputError(f"frame {frame[0]}x{frame[1]}: both sides must be at least 1 pixel")
    return frame, t_in


def parse_frame(text: str) -> Frame:
    """Read a frame size as a user types it.

    >>> parse_frame("640x360")
    (640, 360)
    """
    parts = text.lower().split("x")
    # At most 65,535 pixels a side, as image formats have it; longer digit strings are no sizes.
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= 5 for part in parts):
        raise InputError(f"frame {text!r} is no size; write WIDTHxHEIGHT in pixels, for example 640x360")
    return int(parts[0]), int(parts[1])
