"""The set-up's tools are found, and what is missing or altered is named with its remedy."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from codeanatomy_assets import toolchain
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.toolchain_install import place_checked
from codeanatomy_assets_tests import corpora


def test_every_tool_is_installed() -> None:
    assert len(toolchain.delta_jars()) == len(toolchain.declared_jars())
    assert toolchain.scip_python_bundle().is_file()
    for tool, option in ((toolchain.java(), "-version"), (toolchain.node(), "--version")):
        subprocess.run([tool, option], check=True, capture_output=True)


def test_a_missing_tool_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for find in (toolchain.delta_jars, toolchain.scip_python_bundle):
        with pytest.raises(CodeAnatomyError, match="run make setup"):
            find()


def test_a_download_with_another_hash_is_refused(tmp_path: Path) -> None:
    download = tmp_path / "download"
    download.write_bytes(b"something else")
    with pytest.raises(CodeAnatomyError, match=r"tool\.jar has sha256 .* pinned is 00"):
        place_checked(download, tmp_path / "tool.jar", "00")
    assert not (tmp_path / "tool.jar").exists()


def test_the_corpora_of_the_set_up_unpack_without_network(tmp_path: Path) -> None:
    for corpus in corpora.declared():
        if corpus.when == "setup":
            assert list(corpora.unpack(corpus.name, corpus.version, tmp_path).rglob("*.py"))


def test_an_undeclared_corpus_is_refused() -> None:
    with pytest.raises(CodeAnatomyError, match=r"click 0\.0 is not declared"):
        corpora.fetch("click", "0.0")


@pytest.mark.parametrize("name", ["../outside.py", "/outside.py", "a/../../outside.py"])
def test_an_archive_that_points_out_of_itself_is_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(CodeAnatomyError, match="points out of the archive"):
        corpora.extract_regular_files(archive, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
