"""What is read of packages beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.extraction.outside_packages import OutsidePackages, outside_packages


@pytest.fixture
def installed(tmp_path: Path) -> OutsidePackages:
    files = {
        "one/__init__.py": "import os, two.sub as t, \\\n    three\nif t:\n    from four import x; import five\n",
        "one/part.py": "from .inner import gone\ntry: import six\nexcept ImportError: pass\n",
        "two.py": "import mine\ndef call(x):\n    return x.asked\n",
        "typed/__init__.py": "import mine\nclosed = 1\n",
        "typed/py.typed": "",
        "typed/shapes.pyi": "from typing import Protocol\nclass P(Protocol):\n    compared: int\n",
        "stubbed-stubs/__init__.pyi": "import one\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return OutsidePackages((tmp_path,))


def test_imports_of_a_package_and_of_what_it_imports(installed: OutsidePackages) -> None:
    assert installed.imported_by({"one"}) == {"two", "three", "four", "five", "six", "mine"}
    assert installed.imported_by({"stubbed"}) >= {"one", "mine"}
    assert installed.imported_by({"elsewhere"}) == frozenset()


def test_words_of_open_bodies_and_protocols_ask_and_all_words_where_they_lead_back(installed: OutsidePackages) -> None:
    assert "asked" in installed.words_asked_by({"one"})
    asked = installed.words_asked_by({"typed"})
    assert "compared" in asked and "closed" not in asked
    assert "closed" in installed.words_asked_by({"typed"}, is_whole=True)


def test_the_stubs_that_the_indexer_brings_along_are_outside_too() -> None:
    assert "requests" in outside_packages(None).imported_by({"slumber"})
