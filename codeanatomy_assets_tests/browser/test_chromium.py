"""The browser that the slow tests drive is there: whoever runs the quick ones alone hears how to get it."""

from __future__ import annotations

from codeanatomy_assets_tests.browser import chromium


def test_there_is_a_browser() -> None:
    assert chromium.needed()
