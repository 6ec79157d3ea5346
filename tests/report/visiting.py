"""What tests in a browser hand around."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Visit:
    """An open page, with everything that it requested and said."""

    page: Any
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    """Console errors and warnings, uncaught exceptions, and dialogs."""
