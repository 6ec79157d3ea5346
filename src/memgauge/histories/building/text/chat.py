"""A chat model as the text stages see it: messages in, text out; cached by the full request, within a budget of calls.

The model itself is handed in as a callable, so that nothing here knows how it is reached.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from memgauge.errors import InputError, MemgaugeError
from memgauge.histories.building.text.types import Message

SCHEMA = 1


class Chat(Protocol):
    """A chat model: from messages to the text of its reply.

    It raises `ChatFailedError` (or an OSError or a TimeoutError) when it cannot answer; retries are its own affair.
    """

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the reply to the messages."""
        ...


class ChatFailedError(Exception):
    """Raised by a chat model that has no reply to this request: declined, filtered, empty; `kind` is a short name."""

    def __init__(self, said: str, kind: str = "failed") -> None:
        super().__init__(said)
        self.kind = kind


class NoReplyError(ChatFailedError):
    """The server does not answer, after all tries. It says nothing about the request, so another one is no better."""


class BudgetUsedUpError(MemgaugeError):
    """No further call is allowed. What was answered is cached; the same command goes on with a larger budget."""


@dataclass(slots=True)
class CallBudget:
    """How many calls all models of a build may make together; cached replies cost nothing.

    With a cache the calls are counted in its file, so that they add up over processes and over runs of the command.

    >>> budget = CallBudget(1)
    >>> budget.spend(); budget.used
    1
    """

    limit: int | None = None
    cache: ReplyCache | None = None
    _used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def used(self) -> int:
        """Calls so far."""
        return self._used if self.cache is None else self.cache.spent()

    def spend(self) -> None:
        """Count one call. Raises `BudgetUsedUpError` when none is left."""
        if self.cache is not None:
            allowed = self.cache.spend(self.limit)
        else:
            with self._lock:
                allowed = self.limit is None or self._used < self.limit
                self._used += allowed
        if not allowed:
            raise BudgetUsedUpError(
                f"the budget of {self.limit:,} model calls is used up (max_calls); replies so far are cached, and the "
                "same command goes on from there with a larger budget"
            )


def request_key(model: str, parameters: Mapping[str, Any], messages: Sequence[Message]) -> str:
    """Return the SHA-256 of a model id and the full request.

    >>> hello = [{"role": "user", "content": "hello"}]
    >>> request_key("m", {"seed": 1}, hello) == request_key("m", {"seed": 2}, hello)
    False
    """
    whole = {"schema": SCHEMA, "model": model, "parameters": dict(parameters), "messages": [dict(m) for m in messages]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """A SQLite file of replies by request; `ReplyCache(None)` keeps them in memory. Use it as a context manager."""

    def __init__(self, path: Path | None) -> None:
        """Open the file, or make it. Raises `InputError` when it is no cache of this version."""
        self._lock = threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            # Committed at once: a build that is killed keeps what it paid for.
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=60, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                # A killed process loses nothing by this; only a power cut may cost the last replies.
                self._db.execute("PRAGMA synchronous=NORMAL")
                version = self._db.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, SCHEMA):
                    raise InputError(f"{path}: a cache of version {version}, this memgauge writes version {SCHEMA}")
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID"
                )
                self._db.execute("CREATE TABLE IF NOT EXISTS spent (id INTEGER PRIMARY KEY CHECK (id = 1), calls INT)")
                self._db.execute("INSERT OR IGNORE INTO spent VALUES (1, 0)")
                self._db.execute(f"PRAGMA user_version={SCHEMA}")
            except BaseException:
                self._db.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"{path}: cannot be used as a cache of replies ({error}); name another file") from error

    def get(self, key: str) -> str | None:
        """Return the reply under a key, or None."""
        with self._lock:
            row = self._db.execute("SELECT text FROM replies WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, text: str) -> None:
        """Keep a reply."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text))

    def spend(self, limit: int | None) -> bool:
        """Count one call, in one step for all processes; returns False where `limit` calls have been made."""
        with self._lock:
            done = self._db.execute(
                "UPDATE spent SET calls = calls + 1 WHERE ? IS NULL OR calls < ?", (limit, limit)
            ).rowcount
        return done == 1

    def spent(self) -> int:
        """Return the calls made so far."""
        with self._lock:
            return int(self._db.execute("SELECT calls FROM spent").fetchone()[0])

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class CachedChat:
    """A chat model behind a cache and a budget; a `Chat` itself. Failures are never cached.

    `count` is called for every reply, kept or new.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        model: str,
        parameters: Mapping[str, Any] | None = None,
        cache: ReplyCache | None = None,
        budget: CallBudget | None = None,
        count: Callable[[], None] = lambda: None,
    ) -> None:
        """`model` and `parameters` (sampling settings, seed) enter the key of every request."""
        self._chat, self.model, self.parameters = chat, model, dict(parameters or {})
        self._cache = cache if cache is not None else ReplyCache(None)
        self._budget = budget if budget is not None else CallBudget()
        self._count = count

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the kept reply, or ask. Raises `ChatFailedError` and `BudgetUsedUpError`."""
        key = request_key(self.model, self.parameters, messages)
        kept = self._cache.get(key)
        if kept is not None:
            self._count()
            return kept
        self._budget.spend()
        try:
            reply = self._chat(messages)
        except (OSError, TimeoutError) as error:
            raise NoReplyError(f"{type(error).__name__}: {error}"[:500], "connection") from error
        # What no file can hold (half of a surrogate pair) goes at once, so that a kept reply is the same as a new one.
        reply = reply.encode("utf-8", "replace").decode("utf-8")
        self._cache.put(key, reply)
        self._count()
        return reply
