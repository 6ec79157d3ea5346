"""Models behind an endpoint: requests a second against a bare SDK loop, and memory of many queued video questions.

    python benchmarks/bench_models.py            both
    python benchmarks/bench_models.py --queue    the memory alone (tests/models asserts it)

The first asks the same text questions of the same local server in the same process, alternately through
`memgauge run`'s loop (streams made, answers graded, rows written) and through a bare loop over the SDK, at 64 requests
in flight. The second asks 1,000 questions about 256 frames each at once of a server that reads and never answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

CONCURRENCY = 64
REPLY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "echo",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I answer {0}."}}
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 6, "total_tokens": 1006},
    }
).encode()


def serve(listener: socket.socket, answers: bool) -> None:
    """Answer every request alike, or read requests and never answer."""

    async def connection(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY)
        try:
            while True:
                lines = (await source.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                left = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
                while left:
                    left -= len(await source.read(min(left, 1 << 20)))
                if answers:
                    sink.write(head + REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            sink.close()

    async def main() -> None:
        server = await asyncio.start_server(connection, sock=listener)
        await server.serve_forever()

    asyncio.run(main())


class Server:
    """The server in a process of its own, on 127.0.0.1 and a free port."""

    def __init__(self, *, answers: bool) -> None:
        self.answers = answers

    def __enter__(self) -> str:
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        port = listener.getsockname()[1]
        self.process = multiprocessing.get_context("fork").Process(
            target=serve, args=(listener, self.answers), daemon=True
        )
        self.process.start()
        listener.close()
        return f"http://127.0.0.1:{port}/v1"

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.join()


def through_memgauge(url: str, requests: int, seed: int) -> float:
    """Return requests a second of a whole run: streams, requests, grading, rows."""
    from memgauge.run import Plan, Subject, execute
    from memgauge.systems.registry import make_system
    from memgauge.tasks import MadeStreams

    system = make_system(f"model:name=echo,base_url={url},price=qwen3-vl-8b")
    source = MadeStreams(lengths=(64,), bands=("max",), count=requests // 16, queries=16, seed=seed)
    plan = Plan("ecc-text", source, (Subject(system, "echo", "v1"),), concurrency=CONCURRENCY)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        summary = execute(plan, Path(folder), show_progress=False)
        seconds = time.perf_counter() - started
    assert summary.errors == 0, summary.first_errors
    return summary.asked / seconds


def bare_sdk(url: str, requests: int) -> float:
    """Return requests a second of a bare loop over the SDK."""
    import openai

    from memgauge.prompts import text_request

    text = text_request(", ".join(str(i % 16) for i in range(64)), "1, 2, 3")

    async def main() -> float:
        client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        left = iter(range(requests))

        async def worker() -> None:
            for _ in left:
                reply = await client.chat.completions.create(
                    model="echo", messages=[{"role": "user", "content": text}], max_tokens=8192, temperature=0
                )
                assert reply.choices[0].message.content

        started = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
        seconds = time.perf_counter() - started
        await client.close()
        return requests / seconds

    return asyncio.run(main())


def throughput(requests: int, rounds: int) -> dict[str, Any]:
    """Compare the two, alternately, after one round that warms both up."""
    with Server(answers=True) as url:
        through_memgauge(url, 64, 0)
        bare_sdk(url, 64)
        pairs = [(through_memgauge(url, requests, seed), bare_sdk(url, requests)) for seed in range(rounds)]
    return {
        "requests": requests,
        "memgauge_per_second": round(statistics.median(m for m, _ in pairs), 1),
        "bare_sdk_per_second": round(statistics.median(b for _, b in pairs), 1),
        "ratio": round(statistics.median(m / b for m, b in pairs), 2),
        "wanted": 0.75,
    }


def queue_memory(*, questions: int = 1000, frames: int = 256, frame_bytes: int = 12_000) -> dict[str, Any]:
    """Ask one question each about many videos, at once, of a server that never answers; return the peak memory.

    Questions about one video would share its bytes; these share nothing.
    """
    import numpy as np

    from memgauge.drive import MutationCheck, Wanted
    from memgauge.drive_async import drive_async
    from memgauge.episode import Episode, Observation, Query, Question
    from memgauge.systems.registry import make_system

    def noise(_: int = 0) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + os.urandom(frame_bytes)

    def frame() -> Observation:
        return Observation("frame", np.zeros(1, np.uint8), np.zeros(1, np.uint8), render_image=noise)

    work = []
    for number in range(questions):
        query = Query("q", Question(np.zeros(4, np.uint8), clip=[frame()] * 4), "no")
        episode = Episode(f"e{number}", "ecc-video", "max", frames, [frame()] * frames, (query,), f"f{number}")
        work.append((episode, [Wanted(query, "none", f"{number}")]))
    with Server(answers=False) as url:
        system = make_system(f"model:name=m,base_url={url},concurrency={questions}")

        def ask() -> None:
            for _ in drive_async(system, iter(work), timeout=600, concurrency=questions, check=MutationCheck()):
                pass

        threading.Thread(target=ask, daemon=True).start()
        room = None
        used = steady = 0
        while steady < 10:  # a second without any new request: no more are let in
            time.sleep(0.1)
            opened = system._endpoint._opened
            room = room or (opened.room if opened is not None else None)
            now = room.used if room is not None else 0
            steady = steady + 1 if now == used and now > 0 else 0
            used = now
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "questions": questions,
        "frames": frames,
        "unbounded_mib": round(questions * frames * frame_bytes * 4 / 3 / 2**20),
        "sent_mib": round(used / 2**20),
        "peak_rss_mib": round(peak),
        "wanted": 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queue", action="store_true", help="only the memory of many queued questions")
    parser.add_argument("--requests", type=int, default=960)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = queue_memory() if options.queue else {"throughput": throughput(options.requests, options.rounds)}
    if not options.queue:
        # In a process of its own, since the peak is that of the whole process.
        command = [sys.executable, __file__, "--queue", "--json"]
        found["queue"] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(json.dumps(found, indent=None if options.json else 2), flush=True)
    os._exit(0)  # the questions that were never answered are still being asked


if __name__ == "__main__":
    main()
