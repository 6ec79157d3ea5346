"""What an answer costs: the write of the stream that was read again for it, and the read up to the commitment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from memgauge.costs import VlmPrice, load_price, price_response
from memgauge.costs.arithmetic import whole
from memgauge.costs.vision import Frame
from memgauge.errors import InputError

PromptTokens = Literal["paper", "server"]


@dataclass(frozen=True, slots=True)
class Priced:
    """What one answer costs."""

    write: int
    """Vision, connector and prefill."""
    read: Callable[[Fraction], int]
    """Decode, by the answer tokens up to the commitment."""
    prompt_tokens: int
    """What was counted as read: N of ECCBench, B.3, or what the server reports."""


class Pricer:
    """Prices answers with a model's price list (ECCBench, B.3).

    `tokens` says how many prompt tokens are counted: `paper` takes one token a symbol and none for the prompt, or the
    tokens of the frames and 128 for the prompt; `server` takes what the server reports, which the paper does not do.
    """

    def __init__(self, price: VlmPrice, tokens: PromptTokens = "paper") -> None:
        self.price = price
        self.tokens = tokens
        self._cost = lru_cache(maxsize=256)(price_response)

    @property
    def identity(self) -> str:
        """What must be equal for two rows to have been priced alike."""
        p = self.price
        return f"{p.name} B={p.video.B} A={p.video.A} F_voc={p.text.F_voc} {self.tokens}"

    def check(self, video: bool) -> None:
        """Raise `InputError` where the model cannot be priced on this kind of stream."""
        if video and self.price.front_end is None:
            raise InputError(f"{self.price.name} cannot be priced on video: {self.price.no_video}")

    def answer(
        self,
        length: int,
        *,
        frame: Frame | None = None,
        option_frames: int = 0,
        natural: bool = False,
        tokens_in: int | None = None,
    ) -> Priced | None:
        """Price an answer about `length` symbols, or frames of size `frame`; None where the server tells no tokens.

        The frames of a candidate clip are read as a second video and are counted.
        """
        task = "ecc-text" if frame is None else "natural-video" if natural else "ecc-video"
        cost = self._cost(self.price, task, length, 0, frame=frame, option_frames=option_frames)
        language, n, write = cost.language, cost.N, cost.F_write
        if self.tokens == "server":
            if tokens_in is None:
                return None
            n = tokens_in
            write = cost.F_vision + cost.F_connector + whole(language.prefill(n))
        return Priced(write, lambda answer_tokens: whole(language.decode(n, answer_tokens)), n)

    def conversation(self, tokens_in: int, sizes: Sequence[Frame]) -> Priced:
        """Price an answer about a conversation with pictures of `sizes`.

        MEMLENS counts no arithmetic. This is ECCBench's rule (B.3) for the prompt tokens that the server reports, with
        each picture as a video of one frame (extension).
        """
        price = self.price
        language = price.video if sizes else price.text
        vision = 0
        if sizes and price.front_end is not None:
            vision = sum(price.front_end.vision_flops(1, s) + price.front_end.connector_flops(1, s) for s in sizes)
        write = vision + whole(language.prefill(tokens_in))
        return Priced(write, lambda tokens: whole(language.decode(tokens_in, tokens)), tokens_in)


def pricer_of(source: str | None, tokens: PromptTokens) -> Pricer | None:
    """Return the pricer of a price list name, a `config.json` or a folder that holds one; None for no source."""
    if source is None:
        if tokens == "server":
            raise InputError("prompt_tokens=server says how an answer is priced: give price= as well")
        return None
    return Pricer(load_price(source), tokens)


CANDIDATE_FRAMES = 6
"""Frames of the longest candidate clip."""


def prompt_tokens_by_length(price: VlmPrice | None, lengths: Sequence[int], frame: Frame | None) -> dict[str, int]:
    """Return the prompt tokens of a stream of each length by the paper's counting; empty where they are not known.

    A text is one token a symbol, whoever reads it; a server counts more. Keys are texts, as JSON has them.
    """
    if frame is None:
        return {str(length): length for length in lengths}
    if price is None or price.front_end is None:
        return {}
    pricer = Pricer(price)
    found = {length: pricer.answer(length, frame=frame, option_frames=CANDIDATE_FRAMES) for length in lengths}
    return {str(length): priced.prompt_tokens for length, priced in found.items() if priced is not None}
