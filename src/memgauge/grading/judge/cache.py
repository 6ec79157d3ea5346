"""Verdicts that were paid for once: a SQLite file, keyed by content, judge model and parameters.

Only clear replies are kept. What failed or could not be read is asked again the next time.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from memgauge.errors import InputError

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """One kept verdict."""

    value: int
    raw: str


def cache_key(content_key: str, model: str, parameters: Mapping[str, Any]) -> str:
    """Return the key of one request to one judge.

    `content_key` covers everything that reaches the judge (`prompts.Request`); `parameters` are the sampling settings.

    >>> cache_key("a" * 64, "judge", {"temperature": 0}) == cache_key("a" * 64, "judge", {"temperature": 1})
    False
    """
    return key_maker(model, parameters)(content_key)


def key_maker(model: str, parameters: Mapping[str, Any]) -> Callable[[str], str]:
    """Return `cache_key` for one judge: what is the same for all requests is hashed once."""
    settings = json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)
    base = hashlib.sha256("\x1f".join((str(SCHEMA), model, settings)).encode()).digest()

    def make(content_key: str) -> str:
        return hashlib.sha256(base + content_key.encode()).hexdigest()

    return make


class JudgeCache:
    """A SQLite file of verdicts; use it as a context manager. `JudgeCache(None)` keeps them in memory."""

    def __init__(self, path: Path | None) -> None:
        """Open the file, or make it. Raises `InputError` when it is no cache of this version."""
        self._path = path
        self._lock = threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            # Writes are committed at once: a run that is killed keeps what it paid for.
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=60, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                version = self._db.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, SCHEMA):
                    raise InputError(
                        f"{path}: a judge cache of version {version}, this memgauge writes version {SCHEMA}"
                    )
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, value INTEGER NOT NULL, "
                    "raw TEXT NOT NULL) WITHOUT ROWID"
                )
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, raw TEXT NOT NULL) WITHOUT ROWID"
                )
                self._db.execute(f"PRAGMA user_version={SCHEMA}")
            except BaseException:
                self._db.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"{path}: cannot be used as a judge cache ({error}); name another file") from error

    def get(self, key: str) -> Kept | None:
        """Return what is kept under a key, or None."""
        with self._lock:
            row = self._db.execute("SELECT value, raw FROM verdicts WHERE key=?", (key,)).fetchone()
        return None if row is None else Kept(row[0], row[1])

    def put(self, key: str, value: int, raw: str) -> None:
        """Keep a verdict of 0 or 1 and the text that it was read from."""
        if value not in (0, 1):
            raise ValueError(f"a verdict is 0 or 1, got {value!r}")
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (key, value, _storable(raw)))

    def find(self, key: str) -> tuple[int, str] | None:
        """Return the verdict and the text under a key, or None (`asking.Store`)."""
        kept = self.get(key)
        return None if kept is None else (kept.value, kept.raw)

    def keep(self, key: str, value: int, raw: str) -> None:
        """Keep a verdict (`asking.Store`)."""
        self.put(key, value, raw)

    def get_reply(self, key: str) -> str | None:
        """Return a text that is no verdict, kept under a key, or None."""
        with self._lock:
            row = self._db.execute("SELECT raw FROM replies WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put_reply(self, key: str, raw: str) -> None:
        """Keep a text that is no verdict, such as the label of an error; whoever reads it reads it again."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, _storable(raw)))

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT COUNT(*) FROM verdicts").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> JudgeCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
