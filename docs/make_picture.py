"""Draw docs/images/report.png: the top of the demo's report, as a browser shows it.

    make demo && .venv/bin/python docs/make_picture.py runs/demo/report.html

Needs playwright and a Chromium (see the Makefile).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def main(page_file: str) -> None:
    """Open the page and save its top."""
    out = Path(__file__).parent / "images" / "report.png"
    out.parent.mkdir(exist_ok=True)
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1500})
        page.goto(Path(page_file).resolve().as_uri())
        page.wait_for_selector("svg.marks")
        page.wait_for_timeout(3000)
        page.screenshot(path=str(out))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
