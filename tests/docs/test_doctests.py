"""The examples in docstrings hold."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

import memgauge

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(memgauge.__path__, "memgauge.")
    if not found.name.endswith("__main__")
    and ">>> " in (importlib.util.find_spec(found.name).loader.get_source(found.name))
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 0
