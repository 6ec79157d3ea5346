"""Progress on standard error: silent for short work, and when nobody looks."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """A bar that appears once the work has taken `after` seconds; a plain line every ten seconds without a terminal.

    >>> with Progress("streams", total=3) as bar:
    ...     for _ in range(3):
    ...         bar.advance()
    """

    def __init__(self, label: str, total: int | None, *, after: float = 2.0) -> None:
        self.label, self.total, self.after = label, total, after
        self.done = 0
        self._started = self._spoke = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def advance(self, steps: int = 1) -> None:
        """Count `steps` more units as done."""
        self.done += steps
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)
        elif now - self._started >= self.after:
            self._show(now)

    def _show(self, now: float) -> None:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.label, total=self.total, completed=self.done)
        elif now - self._spoke >= 10:
            of = f" of {self.total}" if self.total is not None else ""
            print(f"{self.label}: {self.done}{of} after {now - self._started:.0f} s", file=sys.stderr)
            self._spoke = now

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
