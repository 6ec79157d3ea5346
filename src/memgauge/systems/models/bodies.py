"""The bytes of a request: encoded once, sent in pieces, never copied whole, and counted while they are in flight."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

PIECE = 256 * 1024
"""Bytes handed to the network at a time, so that its buffers stay small."""


class Segment:
    """A run of bytes of a request, with its hash. Requests about one stream may share one."""

    __slots__ = ("__weakref__", "data", "digest")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.digest = hashlib.blake2b(data, digest_size=16).digest()


@dataclass(frozen=True)
class Body:
    """A request, ready to be sent as often as it takes."""

    segments: tuple[Segment, ...]

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return sum(len(segment.data) for segment in self.segments)

    @property
    def hash(self) -> str:
        """A hash of the whole request, made from those of its segments."""
        whole = hashlib.blake2b(digest_size=16)
        for segment in self.segments:
            whole.update(len(segment.data).to_bytes(8, "big") + segment.digest)
        return whole.hexdigest()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the bytes in order; may be called again for another try."""
        for segment in self.segments:
            view = memoryview(segment.data)
            for start in range(0, len(view), PIECE):
                yield bytes(view[start : start + PIECE])


def body_of(*parts: bytes | Segment) -> Body:
    """Make a request of its parts, in order.

    >>> body_of(b"ab", Segment(b"cd")).size
    4
    """
    return Body(tuple(part if isinstance(part, Segment) else Segment(part) for part in parts))


class ByteBudget:
    """Lets requests into memory while all that are there together stay under a limit.

    One request is built at a time, in the order of arrival, when its expected size fits; where it turns out larger, it
    waits for room before the next is built. So memory holds at most the limit and one request more. A request that is
    larger than the limit by itself goes alone.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, expected: int, build: Callable[[], Awaitable[Body]]) -> AsyncIterator[Body]:
        """Wait for the turn and for room, build the request, and keep its room until the block is left."""
        async with self._turn:
            await self._room(expected)
            body = await build()
            await self._room(body.size)
            self.used += body.size
        try:
            yield body
        finally:
            self.used -= body.size
            self._freed.set()

    async def _room(self, size: int) -> None:
        while self.used and self.used + size > self.limit:
            self._freed.clear()
            await self._freed.wait()


def joined(parts: Sequence[bytes]) -> Segment:
    """Make one segment of the parts of a JSON list, separated by commas."""
    return Segment(b",".join(parts))
