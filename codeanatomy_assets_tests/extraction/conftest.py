"""Fixtures of tests that read git: an empty repository, and a private store for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.extraction.private_store import PrivateStore
from codeanatomy_assets_tests.git_repositories import GitRepo


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo.create(tmp_path / "repo")


@pytest.fixture
def store(tmp_path: Path) -> PrivateStore:
    return PrivateStore(tmp_path / "state" / "repository.git")
