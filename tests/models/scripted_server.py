"""A small OpenAI-compatible server for tests, on 127.0.0.1 and a free port, that can fail in every way on demand."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int
    size: int = 0

    @property
    def text(self) -> str:
        """The text of the user's message, parts joined."""
        content = self.body["messages"][0]["content"]
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part["type"] == "text")

    @property
    def media(self) -> list[str]:
        content = self.body["messages"][0]["content"]
        return [part[part["type"]]["url"] for part in content if part["type"] != "text"]


@dataclass
class Response:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent in place of the JSON of `body`."""
    cut: bool = False
    """Announce all of it, send half, and break the connection."""
    reset: bool = False
    """Break the connection without a word."""
    delay: float = 0.0


def completion(
    content: str | None, *, finish: str = "stop", tokens_in: int | None = None, tokens_out: int = 5, **message: Any
) -> dict[str, Any]:
    """The body of a chat completion."""
    logprobs = message.pop("logprobs", None)
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "logprobs": logprobs,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": 0},
    }


def reader(request: Request) -> Response:
    """Answer a text question by exact matching, as a perfect model would."""
    found = re.search(r"Main sequence: (.*)\nCandidate sequence: ([\d, ]+)", request.text)
    stream, candidate = found[1], found[2].strip()
    option = 0 if f", {candidate}," in f", {stream}," else 1
    words = f"The candidate {'occurs' if option == 0 else 'is absent'}: {{{option}}}"
    return Response(body=completion(words, tokens_in=len(stream.split(", ")) + 120, tokens_out=10))


class Server:
    """Runs `handle(request) -> Response` on a thread; `requests` keeps what came."""

    def __init__(self, handle: Callable[[Request], Response] = reader, *, keep: bool = True) -> None:
        self.handle = handle
        self.keep = keep
        self.requests: list[Request] = []
        self.count = 0
        self.most_at_once = 0
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connection(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while await self._one(source, sink):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            sink.transport.abort()

    async def _one(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> bool:
        head = (await source.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in head[1:] if line)}
        size = int(headers.get("content-length", "0"))
        if self.keep:
            data = await source.readexactly(size)
            body = json.loads(data) if data else {}
        else:
            left, body = size, {}
            while left:
                chunk = await source.read(min(left, 1 << 16))
                if not chunk:
                    raise ConnectionError
                left -= len(chunk)
        self.count += 1
        request = Request(method, path, headers, body, self.count, size)
        if self.keep:
            self.requests.append(request)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        response = self.handle(request)
        if response.delay:
            await asyncio.sleep(response.delay)
        self._now -= 1
        if response.reset:
            return False
        payload = json.dumps(response.body).encode() if response.raw is None else response.raw
        lines = [f"HTTP/1.1 {response.status} X", f"Content-Length: {len(payload)}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        sink.write(
            "\r\n".join(lines).encode() + b"\r\n\r\n" + (payload[: len(payload) // 2] if response.cut else payload)
        )
        await sink.drain()
        return not response.cut
