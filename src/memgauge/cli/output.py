"""What every command shares: one JSON document on standard output, tables for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memgauge.errors import InputError


def print_json(document: Any) -> None:
    """Print one JSON document; NaN and infinities are refused, since other readers cannot read them."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    print(text.encode("utf-8", "replace").decode())  # half of a surrogate pair, which no terminal can show


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table for people: the first `left` columns left-aligned, the others, which are numbers, right-aligned."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left")
    for index, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def write_page(path: Path, text: str) -> None:
    """Write a page, whole or not at all. Raises `InputError` that says why it cannot be written."""
    from memgauge.files import write_whole

    path = path.expanduser()
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); choose another file") from error
