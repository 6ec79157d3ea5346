"""A headless Chromium that records what a page asks for, says and does."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the helpers beside this file: report_sample, report_rows

from visiting import Visit

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# Of a module, not of the session: while it is open, no other event loop runs in this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium of its own (playwright's launch uses a fresh user-data folder each time)."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        if os.environ.get("MEMGAUGE_REQUIRE_BROWSER"):
            pytest.fail("no Chromium on this machine, and MEMGAUGE_REQUIRE_BROWSER is set")
        pytest.skip("no Chromium on this machine (see `make browser`)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Open a file and wait until its charts are drawn; one that is open at that width is not opened again."""
    opened: dict[tuple[Path, int], Visit] = {}

    def open_page(path: Path, width: int = 1280) -> Visit:
        if (path, width) in opened:
            return opened[path, width]
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        visited = opened[path, width] = Visit(context.new_page())
        page = visited.page
        page.on("request", lambda request: visited.requests.append(request.url))
        page.on("pageerror", lambda error: visited.messages.append(f"exception: {error}"))
        page.on("dialog", lambda dialog: (visited.messages.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "console",
            lambda said: (
                visited.messages.append(f"{said.type}: {said.text}") if said.type in ("error", "warning") else None
            ),
        )
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-drawn]", state="attached", timeout=60_000)
        return visited

    yield open_page
    for visited in opened.values():
        visited.page.context.close()
