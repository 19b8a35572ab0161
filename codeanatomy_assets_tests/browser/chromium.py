"""The browser that tests drive: the system's own Chromium, its pages, and pictures of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"no browser: none of {', '.join(NAMES)} is on the path: apt install chromium"
SIZE: ViewportSize = {"width": 1440, "height": 900}
SCREENSHOTS = Path(__file__).parents[2] / "docs" / "screenshots"
# How long a page may take to show what is there already, on a busy machine.
PAGE_SECONDS = 90
SETTLING_SECONDS = 2
SPINNERS = "[class*='Spinner']:visible"


def executable() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def needed() -> str:
    """The browser of a test: without one it is skipped, but for continuous integration, where one must be there."""
    found = executable()
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail(MISSING)
    pytest.skip(MISSING)


@contextmanager
def launched(program: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses root, and containers that take its privileges away.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """A page of the size of the screenshots; relative addresses are of this server."""
    expect.set_options(timeout=PAGE_SECONDS * 1000)
    with browser.new_context(base_url=address, viewport=SIZE, timezone_id="UTC", locale="en-US") as context:
        context.set_default_timeout(PAGE_SECONDS * 1000)
        yield context.new_page()


def save_screenshot(page: Page, name: str, folder: Path) -> None:
    """A picture of the page when nothing on it loads any more; kept with the documentation if that is asked for."""
    if os.environ.get("CODEANATOMY_SCREENSHOTS") == "1":
        folder = SCREENSHOTS
    folder.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(SETTLING_SECONDS * 1000)
    expect(page.locator(SPINNERS)).to_have_count(0)
    page.screenshot(path=folder / f"{name}.png")
