"""Prompts of the model family: package data with a version, which enters every cache key and the manifest."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = json.loads(files(__package__).joinpath("prompts.json").read_text("utf-8"))
    return texts


def version() -> str:
    """Return the version of the prompts."""
    return str(_texts()["version"])


def personas() -> tuple[str, ...]:
    """Return the people that the user model plays."""
    return tuple(_texts()["personas"])


def prompt(name: str, /, **slots: object) -> str:
    """Return a prompt with its slots filled."""
    return str(_texts()[name]).format(**slots)
