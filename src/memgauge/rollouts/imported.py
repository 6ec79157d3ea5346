"""Your own embedders and pose readers: import:package.module:Name, found where the command is run or installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from memgauge.errors import InputError


def imported(spec: str) -> Any:
    """Return what import:package.module:Name names. Raises `InputError` when there is no such thing."""
    module, _, name = spec.removeprefix("import:").partition(":")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise InputError(f"{spec}: {error}; expected import:package.module:name") from error
