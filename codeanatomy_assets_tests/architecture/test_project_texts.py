"""No tracked file names a machine's folders, a package registry or a download address."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]

FORBIDDEN = {
    "a folder of one machine": re.compile(r"(?<![\w.*-])/(?:work|root|home|Users)/\w"),
    "a registry host": re.compile(
        r"pypi\.org|pythonhosted\.org|registry\.npmjs|npmjs\.org|yarnpkg\.com|repo1?\.maven|maven\.apache\.org"
        r"|maven\.org|conda\.anaconda|repos\.spark-packages"
    ),
    "a lock file's download address": re.compile(
        r"\"resolved\"\s*:|^(?:--)?(?:extra-)?index-url|\s@\s+https?://", re.M
    ),
}


def forbidden_texts(text: str) -> list[str]:
    found = ((what, pattern.search(text)) for what, pattern in FORBIDDEN.items())
    return [f"{what}: {match[0]!r}" for what, match in found if match]


def tracked_files() -> list[Path]:
    """What git tracks or would track: a file about to be added is checked before it is."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (PROJECT / name for name in listing.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def test_tracked_files_name_no_machine_and_no_registry() -> None:
    files = tracked_files()
    assert PROJECT / "pyproject.toml" in files
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files}
    assert [f"{path.relative_to(PROJECT)}: {text}" for path in texts for text in forbidden_texts(texts[path])] == []


@pytest.mark.parametrize(
    "text",
    [
        "/" + "root/project",
        'open("/' + 'home/me/x")',
        "see https://pypi" + ".org/simple",
        '"resolved"' + ': "https://example.invalid/a.tgz"',
        "package @ " + "https://example.invalid/p.whl",
        "--index-url" + " https://example.invalid",
    ],
)
def test_a_planted_text_is_found(text: str) -> None:
    assert len(forbidden_texts(text)) == 1


def test_constraints_are_exact_pins_and_nothing_else() -> None:
    lines = (PROJECT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line)] == []


def test_every_package_of_the_npm_lock_is_pinned_by_content() -> None:
    lock = PROJECT / "codeanatomy_assets" / "extraction" / "scip_driver" / "package-lock.json"
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    assert [name for name, entry in packages.items() if name and "integrity" not in entry] == []
