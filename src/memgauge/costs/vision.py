"""What seeing costs: vision towers, and the connectors that hand their features to the language model (ECCBench, B.3).

A front end turns frames into tokens. Each says how many tokens a clip becomes, and what tower and connector cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memgauge.costs.decoder import gated_ffn, plain_ffn

Frame = tuple[int, int]
"""Width and height in pixels."""


class FrontEnd(Protocol):
    """How one family turns a clip of `frames` frames of size `frame` into tokens."""

    @property
    def resolution_matters(self) -> bool:
        """Whether the frame size enters at all; where it does not, frames are resized to a fixed square."""
        ...

    def tokens(self, frames: int, frame: Frame) -> int:
        """Return how many tokens reach the language model."""
        ...

    def vision_flops(self, frames: int, frame: Frame) -> int:
        """Return what the vision tower costs."""
        ...

    def connector_flops(self, frames: int, frame: Frame) -> int:
        """Return what the connector costs."""
        ...


@dataclass(frozen=True, slots=True)
class Tower:
    """A vision transformer. One pass reads one span of patches: a frame group, a tile or a crop."""

    blocks: int
    width: int
    ffn_width: int
    gated: bool
    patch: int
    frames_per_pass: int = 1
    class_tokens: int = 0
    full_blocks: int | None = None
    """Blocks that attend over the whole span, when the others attend in windows; None: all of them do."""
    window: int | None = None
    """Tokens in an attention window of the other blocks."""

    def pass_flops(self, patches: int) -> int:
        """Return the cost of one pass over `patches` patches: blocks, and the products that make patch features."""
        tokens = patches + self.class_tokens
        full = self.blocks if self.full_blocks is None else self.full_blocks
        cost = full * self._block(tokens, tokens)
        if self.window is not None:
            cost += (self.blocks - full) * self._block(tokens, min(self.window, tokens))
        pixels = 3 * self.patch**2 * self.frames_per_pass
        return cost + 2 * patches * pixels * self.width

    def _block(self, tokens: int, span: int) -> int:
        """8 V d^2 + 4 V S d + feed-forward, for V tokens that attend over S positions each."""
        d = self.width
        ffn = gated_ffn(d, self.ffn_width) if self.gated else plain_ffn(d, self.ffn_width)
        return 8 * tokens * d * d + 4 * tokens * span * d + tokens * ffn


@dataclass(frozen=True, slots=True)
class FrameGroups:
    """Consecutive frames share a group; each merge x merge block of patches becomes one token (Qwen-VL, GLM-V)."""

    tower: Tower
    merge: int
    connector_per_token: int
    resolution_matters: bool = True

    def tokens_per_group(self, frame: Frame) -> int:
        """Return the tokens of one group: sides are rounded to the nearest multiple of patch * merge."""
        unit = self.tower.patch * self.merge
        across, down = (max(1, round_half_even(side, unit)) for side in frame)
        return across * down

    def groups(self, frames: int) -> int:
        """Return how many groups `frames` frames fill, the last one perhaps in part."""
        return -(-frames // self.tower.frames_per_pass)

    def tokens(self, frames: int, frame: Frame) -> int:
        """Tokens of a group times groups."""
        return self.groups(frames) * self.tokens_per_group(frame)

    def vision_flops(self, frames: int, frame: Frame) -> int:
        """One pass a group."""
        return self.groups(frames) * self.tower.pass_flops(self.tokens_per_group(frame) * self.merge**2)

    def connector_flops(self, frames: int, frame: Frame) -> int:
        """Per emitted token."""
        return self.tokens(frames, frame) * self.connector_per_token


@dataclass(frozen=True, slots=True)
class FixedViews:
    """Every frame is resized to `views` squares of `patches` patches, which become `tokens_per_frame` tokens.

    InternVL's tile and Phi-4-MM's two crops.
    """

    tower: Tower
    patches: int
    views: int
    tokens_per_frame: int
    connector_per_token: int
    resolution_matters: bool = False

    def tokens(self, frames: int, frame: Frame) -> int:
        """A fixed number a frame."""
        return frames * self.tokens_per_frame

    def vision_flops(self, frames: int, frame: Frame) -> int:
        """One pass a view."""
        return frames * self.views * self.tower.pass_flops(self.patches)

    def connector_flops(self, frames: int, frame: Frame) -> int:
        """Per emitted token."""
        return self.tokens(frames, frame) * self.connector_per_token


@dataclass(frozen=True, slots=True)
class PooledFrames:
    """Frames are projected, then averaged along time; each surviving group gets a separator token (LongVILA)."""

    tower: Tower
    patches: int
    projected_per_frame: int
    connector_per_token: int
    resolution_matters: bool = False

    @staticmethod
    def pool(frames: int) -> int:
        """Return the group size: 4 times frames/256 rounded up to a power of two, at most 8."""
        return 4 * next((size for size in (1, 2, 4) if frames <= 256 * size), 8)

    def tokens(self, frames: int, frame: Frame) -> int:
        """Projected tokens and one separator for each whole group."""
        return (self.projected_per_frame + 1) * (frames // self.pool(frames))

    def vision_flops(self, frames: int, frame: Frame) -> int:
        """One pass a frame."""
        return frames * self.tower.pass_flops(self.patches)

    def connector_flops(self, frames: int, frame: Frame) -> int:
        """Per projected token: pooling comes after the projection."""
        return frames * self.projected_per_frame * self.connector_per_token


@dataclass(frozen=True, slots=True)
class Resampler:
    """Learned queries read the patches of one frame, or of a pack of frames, by cross-attention (MiniCPM-V)."""

    tower: Tower
    patches: int
    queries: int
    text_width: int
    packed: bool
    resolution_matters: bool = False

    def pack_size(self, frames: int) -> int:
        """Return the frames that one call reads: min(6, max(1, ceil(frames/180))) where frames are packed, else 1."""
        return min(6, max(1, -(-frames // 180))) if self.packed else 1

    def tokens(self, frames: int, frame: Frame) -> int:
        """`queries` tokens a call."""
        return self.queries * -(-frames // self.pack_size(frames))

    def vision_flops(self, frames: int, frame: Frame) -> int:
        """One pass a frame."""
        return frames * self.tower.pass_flops(self.patches)

    def connector_flops(self, frames: int, frame: Frame) -> int:
        """Per call; the last pack is priced at its true size."""
        full, rest = divmod(frames, self.pack_size(frames))
        return full * self._call(self.pack_size(frames)) + (self._call(rest) if rest else 0)

    def _call(self, frames: int) -> int:
        """2 K d_v d_t + 4 K d_t^2 + 4 Q d_t K + 6 Q d_t^2 for K patch tokens and Q queries."""
        k, d_t = frames * self.patches, self.text_width
        return 2 * k * self.tower.width * d_t + 4 * k * d_t**2 + 4 * self.queries * d_t * k + 6 * self.queries * d_t**2


def merger_per_token(d_v: int, d_t: int, *, merge: int = 2, passes: int = 1) -> int:
    """Return passes * (2m^2 + 2m d_t) with m = merge^2 d_v: Qwen-VL's merger; DeepStack adapters are more passes."""
    m = merge**2 * d_v
    return passes * (2 * m * m + 2 * m * d_t)


def gated_merger_per_token(d_v: int, d_t: int, gate_width: int, *, merge: int = 2) -> int:
    """Return 2m d_t + 2 d_t^2 + 6 d_t w: GLM-4.5V's merger."""
    return 2 * merge**2 * d_v * d_t + 2 * d_t**2 + gated_ffn(d_t, gate_width)


def projector_per_token(d_in: int, d_t: int) -> int:
    """Return 2 d_in d_t + 2 d_t^2: a two-layer projection (InternVL with d_in = 4 d_v, Phi-4-MM with d_in = d_v)."""
    return 2 * d_in * d_t + 2 * d_t**2


def round_half_even(side: int, unit: int) -> int:
    """Return side/unit to the nearest integer, ties to even.

    >>> round_half_even(360, 28), round_half_even(360, 32)
    (13, 11)
    """
    quotient, rest = divmod(side, unit)
    return quotient + (2 * rest > unit or (2 * rest == unit and quotient % 2 == 1))
