"""Settings that are refused, and what overrides what."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets import cli
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.settings import STRATEGIES, Settings, from_environment
from codeanatomy_assets_tests.git_repositories import GitRepo


def test_a_strategy_is_the_option_s_else_the_variable_s_else_hybrid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEANATOMY_STRATEGY", raising=False)
    assert from_environment(strategy=None).strategy == "hybrid"
    monkeypatch.setenv("CODEANATOMY_STRATEGY", "import_closure")
    assert from_environment(strategy=None).strategy == "import_closure"
    assert from_environment(strategy="symbol_closure").strategy == "symbol_closure"


def test_an_unknown_strategy_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEANATOMY_STRATEGY", "everything")
    with pytest.raises(BadInput, match=f"'everything' is unknown.*{', '.join(STRATEGIES)}"):
        from_environment()
    assert from_environment(strategy="hybrid").strategy == "hybrid"
    with pytest.raises(BadInput, match="--strategy and CODEANATOMY_STRATEGY"):
        Settings(strategy="")


def test_a_build_with_an_unknown_strategy_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["build", str(tmp_path), "--strategy", "wide", "--state", str(tmp_path / "state")]) == 2
    assert "strategy 'wide' is unknown" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_a_negative_retention_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (from_environment().retain_commits, from_environment().retain_days) == (50, 30.0)
    monkeypatch.setenv("CODEANATOMY_RETAIN_DAYS", "-1")
    with pytest.raises(BadInput, match=r"CODEANATOMY_RETAIN_DAYS=-1\.0 is too little: 0 is the least"):
        from_environment()


@pytest.mark.parametrize("name", ["cores", "index_processes", "sensor_commits", "impact_iterations"])
def test_a_number_that_nothing_could_work_with_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"CODEANATOMY_{name.upper()}", "0")
    with pytest.raises(BadInput, match=f"CODEANATOMY_{name.upper()}=0 is too little: 1 is the least"):
        from_environment()


def test_a_python_that_the_indexer_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEANATOMY_PYTHON_VERSION", "3.13")
    with pytest.raises(BadInput, match=r"PYTHON_VERSION=3\.13 is not known to the indexer: name 3\.0 to 3\.12"):
        from_environment()


def test_places_are_absolute_whoever_reads_them_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("STATE", "TABLES_URI", "SITE_PACKAGES"):
        monkeypatch.setenv(f"CODEANATOMY_{name}", f"below/{name}")
    found = from_environment()
    assert found.state == tmp_path / "below/STATE"
    assert found.tables_uri == str(tmp_path / "below/TABLES_URI")
    assert found.site_packages == str(tmp_path / "below/SITE_PACKAGES")
    monkeypatch.setenv("CODEANATOMY_TABLES_URI", "s3://bucket/graphs")
    monkeypatch.delenv("CODEANATOMY_SITE_PACKAGES")
    assert (from_environment().tables_uri, from_environment().site_packages) == ("s3://bucket/graphs", "")


def test_a_state_below_a_path_with_brackets_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = GitRepo.create(tmp_path / "repo")
    repo.commit_files({"a.py": ""})
    assert cli.main(["build", str(repo.folder), "--state", str(tmp_path / "a[b]")]) == 2
    assert "name another --state" in capsys.readouterr().err


def test_retention_changes_no_row() -> None:
    assert Settings(retain_commits=1, retain_days=0).result_fingerprint() == Settings().result_fingerprint()


def test_another_version_of_an_installed_package_is_another_setting(tmp_path: Path) -> None:
    settings = Settings(site_packages=str(tmp_path))
    (tmp_path / "jinja2-3.1.4.dist-info").mkdir()
    before = settings.result_fingerprint()
    (tmp_path / "jinja2").mkdir()
    assert settings.result_fingerprint() == before
    (tmp_path / "jinja2-3.1.4.dist-info").rename(tmp_path / "jinja2-3.1.5.dist-info")
    assert settings.result_fingerprint() != before
