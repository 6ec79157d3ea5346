"""30 % of requests fail in thirteen different ways; the run ends complete, with the answers of a clean run."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from email.utils import formatdate

import polars as pl
from scripted_server import Response, Server, completion, reader

WAYS = {
    "429, seconds": lambda: Response(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.02"}),
    "429, date": lambda: Response(
        429, {"error": {"message": "slow down"}}, {"Retry-After": formatdate(0, usegmt=True)}
    ),
    "500": lambda: Response(500, {"error": {"message": "internal"}}),
    "502, HTML": lambda: Response(502, raw=b"<html><h1>502 Bad Gateway</h1></html>"),
    "503": lambda: Response(503, {"message": "no worker"}),
    "504, nothing": lambda: Response(504, raw=b""),
    "200, error": lambda: Response(200, {"error": {"message": "worker died", "code": 500}}),
    "200, HTML": lambda: Response(200, raw=b"<!doctype html><html>Welcome</html>"),
    "no choices": lambda: Response(200, {"choices": []}),
    "null content": lambda: Response(200, completion(None)),
    "cut": lambda: Response(200, completion("{1}" * 200), cut=True),
    "reset": lambda: Response(reset=True),
    "hang": lambda: Response(delay=20.0),
}
RATE = 0.3


class Faulty:
    """Decides by a hash of the question and the number of its try, so that every run fails alike."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()
        self.ways: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            self.tries[request.text] += 1
            attempt = self.tries[request.text]
        word = hashlib.sha256(f"{attempt} {request.text}".encode()).digest()
        if word[0] >= 256 * RATE:
            return reader(request)
        way = list(WAYS)[word[1] % len(WAYS)]
        self.ways[way] += 1
        return WAYS[way]()


def test_a_faulty_server_changes_nothing(ask_model):
    options = "price=qwen3-vl-8b,backoff=0.002,deadline=0.5"
    size = {"lengths": (24, 48), "count": 4, "queries": 8, "arms": ("A", "B"), "concurrency": 16}
    with Server() as server:
        _, clean = ask_model(f"model:name=m,base_url={server.url},{options}", out="clean", **size)
    faulty = Faulty()
    with Server(faulty) as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},{options}", out="faulty", **size)
    assert server.count == 128 + sum(faulty.ways.values())
    assert 0.2 < sum(faulty.ways.values()) / server.count < 0.4
    assert len(faulty.ways) >= 10
    assert summary.errors == 0
    alike = pl.exclude("run", "seconds_write", "seconds_read")
    assert rows.height == 128
    assert rows.select(alike).equals(clean.select(alike))
