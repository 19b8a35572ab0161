"""Odd repositories, whole: whatever stands in them is a row with a reason and stops nothing."""

from __future__ import annotations

from typing import Any

import pytest

from codeanatomy_assets_tests.states import BuiltState

ODD_NAMES = (
    "with space.py",
    "quo'te.py",
    'double"quote.py',
    "new\nline.py",
    "com,ma.py",
    "größe/ñandú 🐍.py",
    "Case.py",
    "case.py",
    "back\\slash.py",
    "percent%20.py",
    "-dash.py",
)


@pytest.fixture(scope="module")
def odd(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> BuiltState:
    """One repository with all of it, built once."""
    built = BuiltState.create(tmp_path_factory.mktemp("odd"), engine, max_file_bytes=50_000).unrecorded()
    repo = built.repo
    for name in ODD_NAMES:
        repo.write(name, "def here(): ...\n")
    repo.write(b"not-utf8-\xff.py", "def here(): ...\n")
    repo.write("large.py", "x = 1\n" * 10_000)
    repo.write("latin.py", "# -*- coding: latin-1 -*-\ndef caf\xe9(): ...\ncaf\xe9()\n".encode("latin-1"))
    repo.write("lying.py", b"# -*- coding: utf-8 -*-\nx = '\xe9'\n")
    repo.write("unknown_codec.py", b"# -*- coding: no-such-codec -*-\nx = 1\n")
    repo.write("nul.py", b"x = 1\x00\n")
    repo.write("broken.py", "def good(): ...\n\ndef bad(:\n    pass\n")
    repo.write("python2.py", "print 'hello'\n\ndef still(): ...\n")
    repo.write("empty.py", "")
    repo.write("stub.pyi", "def typed() -> int: ...\n")
    repo.symlink("inside.py", "empty.py")
    repo.symlink("outside.py", "/etc/hostname")
    repo.symlink("folder", "größe")
    repo.run("add", "--all")
    repo.run("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    repo.run("commit", "--quiet", "-m", "odd")
    built.build()
    return built


def snapshot(odd: BuiltState, path: str) -> dict[str, Any]:
    return next(row for row in odd.rows("repo_snapshot") if row["path"] == path)


def names_in(odd: BuiltState, path: str) -> list[str]:
    return [row["name"] for row in odd.rows("cst_defs") if row["file_id"] == odd.file_id(path)]


@pytest.mark.parametrize("name", [*ODD_NAMES, "//not-utf8-\\xff.py", "stub.pyi"])
def test_a_file_of_any_name_is_analysed(odd: BuiltState, name: str) -> None:
    assert snapshot(odd, name)["skip_reason"] is None
    assert names_in(odd, name) in (["here"], ["typed"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("large.py", "too_large"),
        ("lying.py", "undecodable"),
        ("unknown_codec.py", "undecodable"),
        ("nul.py", "nul_bytes"),
        ("inside.py", "symlink"),
        ("outside.py", "symlink"),
        ("folder", "symlink"),
        ("vendored", "submodule"),
    ],
)
def test_what_is_not_analysed_is_a_row_with_the_reason(odd: BuiltState, name: str, reason: str) -> None:
    assert snapshot(odd, name)["skip_reason"] == reason
    assert names_in(odd, name) == []


def test_a_declared_encoding_is_honoured(odd: BuiltState) -> None:
    assert snapshot(odd, "latin.py")["encoding"] == "iso8859-1"
    assert names_in(odd, "latin.py") == ["café"]
    found = [row for row in odd.rows("scip_occurrences") if row["file_id"] == odd.file_id("latin.py")]
    spans = sorted((row["bstart"], row["bend"]) for row in found if row["symbol"].endswith("`café`()."))
    assert spans == [(30, 34), (42, 46)], "spans are of the stored bytes, one for each letter"


def test_a_syntax_error_and_python_2_are_rows_and_the_rest_of_the_file_is_read(odd: BuiltState) -> None:
    owners = {row["file_id"] for row in odd.rows("cst_parse_errors")}
    assert owners == {odd.file_id("broken.py"), odd.file_id("python2.py")}
    assert "good" in names_in(odd, "broken.py")
    assert names_in(odd, "python2.py") == ["still"]


def test_an_empty_file_is_a_file_without_rows(odd: BuiltState) -> None:
    assert snapshot(odd, "empty.py")["size"] == 0
    assert names_in(odd, "empty.py") == []


def test_the_checkout_holds_the_analysed_files_but_those_the_indexer_can_not_be_told(odd: BuiltState) -> None:
    analysed = [row for row in odd.rows("repo_snapshot") if row["is_python"] and row["skip_reason"] is None]
    readable = [row for row in analysed if not row["path"].startswith("//")]
    on_disk = [path for path in (odd.settings.state / "checkout" / "files").rglob("*") if path.is_file()]
    assert len(on_disk) == len(readable)
    assert not any(path.is_symlink() for path in on_disk)


def test_every_analysed_file_is_indexed_or_a_row_with_the_reason(odd: BuiltState) -> None:
    analysed = {row["file_id"] for row in odd.rows("repo_snapshot") if row["is_python"] and row["skip_reason"] is None}
    rows = {row["file_id"]: row["failure"] for row in odd.rows("scip_fingerprints")}
    assert rows.keys() == analysed
    assert {file_id for file_id, failure in rows.items() if failure} == {odd.file_id("//not-utf8-\\xff.py")}


def test_building_it_again_is_a_noop(odd: BuiltState) -> None:
    assert odd.build()["mode"] == "noop"
