"""The Dagster project: keys, materializations, chosen runs, what a run refuses."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.orchestration import fingerprints
from codeanatomy_assets.orchestration.build import dagster_instance, reconcile_with_ledger, user_errors
from codeanatomy_assets.orchestration.code_references import MADE_BY
from codeanatomy_assets.orchestration.event_storage import delete_dynamic_partitions
from codeanatomy_assets.orchestration.partitions import ALL, IMPACTED
from codeanatomy_assets.orchestration.partitions import FILES as FILE_KEYS
from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.rules import registry
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets_tests.states import BuiltState

KEYS = str(FILE_KEYS.name)
FILES = {"pkg/a.py": "def a(): ...\n", "pkg/b.py": "def b(): ...\n", "notes.txt": "text\n"}


@pytest.fixture
def two_files(built_with: Callable[[dict[str, str]], BuiltState]) -> BuiltState:
    return built_with(FILES)


@pytest.fixture
def instance(two_files: BuiltState) -> Iterator[dg.DagsterInstance]:
    with dagster_instance(two_files.settings) as instance:
        yield instance


def materialize(
    built: BuiltState,
    instance: dg.DagsterInstance,
    assets: list[str],
    key: str | None,
    tags: dict[str, str] | None = None,
) -> Any:
    """What the Materialize button starts: the implicit asset job, on these assets and this key."""
    lock = StateLock(built.settings.state)
    definitions = build_definitions(built.settings, built.progress, lambda: built.engine, lock)
    with user_errors():
        return definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance,
            partition_key=key,
            asset_selection=[dg.AssetKey(name) for name in assets],
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            tags=tags,
        )


def materialize_range(built: BuiltState, instance: dg.DagsterInstance, assets: list[str], first: str, last: str) -> Any:
    """The same on a range of keys, as its dialog asks for: Dagster tells it by tags."""
    tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
    return materialize(built, instance, assets, None, tags)


def keys(instance: dg.DagsterInstance) -> set[str]:
    return set(instance.get_dynamic_partitions("file_id"))


def files_materialized(instance: dg.DagsterInstance, asset: str) -> dict[str, int]:
    """How often each key was materialized."""
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100).records
    return Counter(str(record.partition_key) for record in records)


def test_every_dataset_is_an_asset_of_its_name_in_its_stages_group(two_files: BuiltState) -> None:
    specs = build_definitions(two_files.settings).resolve_all_asset_specs()
    assert {spec.key.to_user_string(): str(spec.group_name).partition("_")[2] for spec in specs} == {
        table.name: table.stage.value for table in catalog.TABLES
    }
    groups = list(dict.fromkeys(table.stage for table in catalog.TABLES))
    assert [name.partition("_")[2] for name in sorted({str(spec.group_name) for spec in specs})] == groups
    assert all(spec.description and spec.owners and spec.kinds and spec.code_version for spec in specs)


def test_every_asset_tells_its_columns_and_where_its_code_is() -> None:
    specs = {spec.key.to_user_string(): spec for spec in build_definitions(Settings()).resolve_all_asset_specs()}
    for table in catalog.TABLES:
        told = specs[table.name].metadata
        columns = told["dagster/column_schema"].columns
        assert [column.name for column in columns] == list(table.column_names)
        assert all(column.description for column in columns)
        assert told["dagster/table_name"] == table.name
        references = told["dagster/code_references"].code_references
        assert all(Path(reference.file_path).is_file() for reference in references)
        assert table.name in Path(references[0].file_path).read_text() or table.name in MADE_BY
        assert f'"{table.name}"' in Path(references[1].file_path).read_text() or table.name.startswith("rel_")
    assert MADE_BY.keys() <= specs.keys()


def test_a_datasets_code_version_moves_with_what_makes_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def versions() -> dict[str, str]:
        return {table.name: fingerprints.code_version(table) for table in catalog.TABLES}

    before = versions()
    calls = registry.rule("rel_calls")
    other = replace(calls, sql=calls.sql.replace("'likely'", "'possible'"))
    rules = tuple(other if rule.name == "rel_calls" else rule for rule in registry.all_rules())
    monkeypatch.setattr(registry, "all_rules", lambda: rules)
    assert {name for name, version in versions().items() if version != before[name]} == {"rel_calls"}
    monkeypatch.setattr(fingerprints, "_driver_files", lambda: [])
    symbols = {table.name for table in catalog.of_stage(Stage.SYMBOLS)}
    assert {name for name, version in versions().items() if version != before[name]} == {"rel_calls", *symbols}


def test_keys_are_the_python_files_and_follow_them(two_files: BuiltState, instance: dg.DagsterInstance) -> None:
    a, b, c = (two_files.file_id(f"pkg/{name}.py") for name in "abc")
    assert keys(instance) == {IMPACTED, ALL, a, b}
    two_files.repo.move("pkg/b.py", "pkg/c.py")
    two_files.repo.commit()
    two_files.build()
    assert keys(instance) == {IMPACTED, ALL, a, c}


def test_a_full_build_records_a_materialization_per_file_and_an_update_per_rebuilt_file(
    two_files: BuiltState, instance: dg.DagsterInstance
) -> None:
    a, b, c = (two_files.file_id(f"pkg/{name}.py") for name in "abc")
    assert files_materialized(instance, "cst_defs") == {ALL: 1, a: 1, b: 1}
    assert files_materialized(instance, "cst_imports") == {ALL: 1, a: 1, b: 1}
    two_files.commit({"pkg/b.py": "def changed(): ...\n", "pkg/c.py": ""})
    assert files_materialized(instance, "cst_defs") == {ALL: 1, IMPACTED: 1, a: 1, b: 2, c: 1}
    assert files_materialized(instance, "cst_imports") == {ALL: 1, IMPACTED: 1, a: 1, b: 1, c: 1}
    # What is told of a commit has the files that it names: a file's partition is known upstream of every dataset.
    assert files_materialized(instance, "inc_file_changes") == {ALL: 1, IMPACTED: 1, a: 1, b: 2, c: 1}
    assert files_materialized(instance, "inc_impacted_files") == {ALL: 1, IMPACTED: 1, a: 1, b: 2, c: 1}


@pytest.mark.parametrize(
    "assets", [["cst_defs"], ["repo_snapshot"], ["inc_file_changes"], ["repo_snapshot", "cst_imports"]]
)
def test_a_chosen_file_that_differs_in_nothing_changes_nothing(
    two_files: BuiltState, instance: dg.DagsterInstance, assets: list[str]
) -> None:
    before = two_files.versions(), two_files.last().sequence
    key = two_files.file_id("pkg/a.py")
    assert materialize(two_files, instance, assets, key).success
    assert (two_files.versions(), two_files.last().sequence) == before
    assert key in files_materialized(instance, assets[-1])


def test_a_chosen_file_whose_rows_were_spoilt_is_put_right_and_ends_with_a_ledger_row(
    two_files: BuiltState, instance: dg.DagsterInstance
) -> None:
    last = two_files.last()
    two_files.lose_slices("cst_defs", "pkg/a.py")
    assert {row["name"] for row in two_files.rows("cst_defs")} == {"b"}
    assert materialize(two_files, instance, ["cst_defs"], two_files.file_id("pkg/a.py")).success
    assert {row["name"] for row in two_files.rows("cst_defs")} == {"a", "b"}
    assert (two_files.last().mode, two_files.last().commit) == ("rebuild", last.commit)


def test_a_range_of_chosen_files_rebuilds_exactly_those(built_with: Callable[[dict[str, str]], BuiltState]) -> None:
    """Of four files, all without their rows, the two in the middle of the keys are chosen."""
    built = built_with({f"pkg/{name}.py": f"def {name}(): ...\n" for name in "abcd"})
    paths = {built.file_id(f"pkg/{name}.py"): f"pkg/{name}.py" for name in "abcd"}
    built.lose_slices("cst_defs", *paths.values())
    with dagster_instance(built.settings) as instance:
        first, *chosen, last = (key for key in instance.get_dynamic_partitions(KEYS) if key in paths)
        before = files_materialized(instance, "cst_defs")
        assert materialize_range(built, instance, ["cst_defs"], chosen[0], chosen[-1]).success
        after = files_materialized(instance, "cst_defs")
    assert {row["file_id"] for row in built.rows("cst_defs")} == set(chosen)
    assert {key: after[key] - before[key] for key in paths} == {first: 0, **dict.fromkeys(chosen, 1), last: 0}


def execute_check(built: BuiltState, instance: dg.DagsterInstance, asset: str, check: str) -> Any:
    """What a check's Execute button starts."""
    key = dg.AssetCheckKey(dg.AssetKey(asset), check)
    job = dg.define_asset_job("checked", selection=dg.AssetSelection.checks(key))
    lock = StateLock(built.settings.state)
    definitions = build_definitions(built.settings, built.progress, lambda: built.engine, lock)
    definitions = dg.Definitions.merge(definitions, dg.Definitions(jobs=[job]))
    with user_errors():
        return definitions.resolve_job_def("checked").execute_in_process(
            instance=instance, run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        )


def test_a_check_alone_is_evaluated_or_says_what_to_press(two_files: BuiltState, instance: dg.DagsterInstance) -> None:
    two_files.repo.commit_files({"pkg/a.py": "def other(): ...\n"})
    (behind,) = execute_check(two_files, instance, "graph_commits", "at_head").get_asset_check_evaluations()
    assert not behind.passed and "1 commits behind" in str(behind.description)
    with pytest.raises(BadInput, match="materialize the asset instead"):
        execute_check(two_files, instance, "cst_defs", "contract")


def test_the_ledger_alone_tells_its_last_row(two_files: BuiltState, instance: dg.DagsterInstance) -> None:
    before = two_files.last().sequence
    assert materialize(two_files, instance, ["graph_commits"], None).success
    assert two_files.last().sequence == before


def test_a_chosen_run_refuses_when_the_code_moved_and_names_the_job(
    two_files: BuiltState, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "version", lambda _: "99")
    with pytest.raises(BadInput, match="run update_job"):
        materialize(two_files, instance, ["cst_defs"], two_files.file_id("pkg/a.py"))


def test_a_moved_grammar_refreshes_the_syntax_stage_and_what_it_feeds(
    two_files: BuiltState, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = two_files.build()["versions"]
    monkeypatch.setattr(fingerprints, "version", lambda _: "99")
    report = two_files.build()
    assert (report["mode"], report["reasons"], report["refreshed_stages"]) == (
        "incremental",
        {"full_refresh": 2},
        ["syntax", "symbols", "impact", "relationships", "graph"],
    )
    assert {row["reason_ref"] for row in two_files.rows("inc_impacted_files")} == {
        "syntax.libraries moved, relationships.libraries moved"
    }
    assert report["versions"] == before
    assert two_files.build()["mode"] == "noop"


def run_update(built: BuiltState, instance: dg.DagsterInstance, assets: list[str]) -> Any:
    """update_job on some of its assets, as re-executing from a failed step does."""
    lock = StateLock(built.settings.state)
    definitions = build_definitions(built.settings, built.progress, lambda: built.engine, lock)
    with user_errors():
        return definitions.resolve_job_def("update_job").execute_in_process(
            instance=instance,
            partition_key=IMPACTED,
            asset_selection=[dg.AssetKey(name) for name in assets],
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )


@pytest.mark.parametrize(
    "stages", [("symbols", "ledger"), ("repository", "ledger"), ("repository", "syntax", "ledger")]
)
def test_a_part_of_an_update_never_becomes_a_built_commit(
    two_files: BuiltState, instance: dg.DagsterInstance, stages: tuple[str, ...]
) -> None:
    first = two_files.last()
    two_files.repo.commit_files({"pkg/a.py": "def changed(): ...\n"})
    chosen = [table.name for table in catalog.TABLES if table.stage.value in stages]
    with pytest.raises(BadInput, match="launch"):
        run_update(two_files, instance, chosen)
    assert two_files.last() == first
    assert two_files.build()["mode"] == "incremental"
    assert {row["name"] for row in two_files.rows("cst_defs")} == {"changed", "b"}


def test_a_part_of_a_stage_is_no_update(two_files: BuiltState, instance: dg.DagsterInstance) -> None:
    two_files.repo.commit_files({"pkg/a.py": "def changed(): ...\n"})
    with pytest.raises(BadInput, match="all assets of the repository stage"):
        run_update(two_files, instance, ["repo_snapshot"])


def test_chosen_files_are_indexed_at_the_ledgers_commit_after_an_update_that_failed(
    two_files: BuiltState, instance: dg.DagsterInstance
) -> None:
    before = two_files.rows("scip_occurrences")
    two_files.repo.commit_files({"pkg/a.py": "\n\ndef elsewhere(): ...\n"})

    def broken(*_: object) -> None:
        raise CodeAnatomyError("no row today")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "append", broken)
        with pytest.raises(CodeAnatomyError, match="no row today"):
            two_files.build()
    assert materialize(two_files, instance, ["scip_occurrences"], two_files.file_id("pkg/a.py")).success
    assert sorted(map(str, two_files.rows("scip_occurrences"))) == sorted(map(str, before))


def test_a_lost_table_is_made_anew_by_an_update_and_stops_a_chosen_run(
    two_files: BuiltState, instance: dg.DagsterInstance
) -> None:
    before = two_files.rows("cst_defs")
    shutil.rmtree(two_files.last().state.refs["cst_defs"].path)
    with pytest.raises(BadInput, match="cst_defs is lost: run update_job"):
        materialize(two_files, instance, ["repo_snapshot"], two_files.file_id("pkg/a.py"))
    assert two_files.build()["refreshed_stages"] == ["syntax", "symbols", "impact", "relationships", "graph"]
    assert sorted(map(str, two_files.rows("cst_defs"))) == sorted(map(str, before))
    assert two_files.build()["mode"] == "noop"


def test_a_lost_record_of_commits_is_made_anew_and_then_all_is_built(two_files: BuiltState) -> None:
    datasets = [table.storage_name for table in catalog.TABLES if table.bucketed]
    before = {name: two_files.versions()[name] for name in datasets}
    shutil.rmtree(two_files.last().state.refs["inc_impacted_files"].path)
    assert two_files.build()["mode"] == "incremental"
    assert {name: two_files.versions()[name] for name in datasets} == before, "the record alone was lost"
    assert two_files.build()["mode"] == "noop"


def test_keys_are_those_of_the_last_built_commit_however_a_run_ended(
    two_files: BuiltState, instance: dg.DagsterInstance
) -> None:
    known = set(instance.get_dynamic_partitions(KEYS))
    lost = two_files.file_id("pkg/a.py")
    delete_dynamic_partitions(instance, KEYS, [lost])
    instance.add_dynamic_partitions(KEYS, ["file_that_went"])
    reconcile_with_ledger(instance, two_files.settings)
    assert set(instance.get_dynamic_partitions(KEYS)) == known | {lost}


def test_materializing_all_looks_at_every_file(two_files: BuiltState, instance: dg.DagsterInstance) -> None:
    two_files.commit({"notes.txt": "no Python\n"})
    before = two_files.versions()
    assert materialize(two_files, instance, ["cst_defs"], ALL).success
    assert two_files.versions() == before
    assert any("syntax" in line for line in two_files.progress.lines[-1:])
