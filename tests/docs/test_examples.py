"""Every example of README and docs runs, in the order of its page, in a folder of its own.

Fenced blocks of `bash` run line by line; blocks of `python` run in one namespace a page; a block with `title="FILE"` is
written to that file first. A block behind an HTML comment that begins with `not run:` is left out, and says why.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?P<before><!--[^>]*-->\s*\n)?```(?P<kind>python|bash)(?P<rest>[^\n]*)\n(?P<body>.*?)```", re.DOTALL
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG = ("backbones.md", "half_life.md")
"""Pages whose examples train or draw so much that `make test-slow` runs them."""


def blocks(page):
    for found in BLOCK.finditer(page.read_text("utf-8")):
        reason = (found["before"] or "").strip("<!- \n>")
        if not reason.startswith("not run:"):
            title = re.search(r'title="([^"]+)"', found["rest"])
            yield found["kind"], title[1] if title else None, found["body"]


def with_examples():
    for page in PAGES:
        if any(blocks(page)):
            yield pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else [])


@pytest.mark.parametrize("page", with_examples())
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    namespace: dict[str, object] = {"__name__": "example"}
    for kind, title, body in blocks(page):
        if title:
            (tmp_path / title).write_text(body)
        elif kind == "python":
            exec(compile(body, f"{page.name} example", "exec"), namespace)  # noqa: S102 - our own documentation
        else:
            done = subprocess.run(
                ["bash", "-eu", "-c", body],
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{body}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def test_pages_in_the_navigation_exist():
    import yaml

    def files(entry):
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for value in entry.values():
                yield from files(value)
        else:
            for value in entry:
                yield from files(value)

    named = set(files(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    there = {p.name for p in (ROOT / "docs").glob("*.md")}
    assert named == there
