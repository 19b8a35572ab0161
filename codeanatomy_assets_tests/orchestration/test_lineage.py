"""Declared column lineage: whole, true to the assets' deps, refused where it names what there is not, and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import dagster as dg
import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.graph_kinds import NODE_KINDS
from codeanatomy_assets.contracts.graph_props import NODE, PROPS
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.assets import graph, impact, repository, symbols, syntax
from codeanatomy_assets.orchestration.lineage import Origin, declared, expanded
from codeanatomy_assets.orchestration.stories import column_lineage

STAGES = (Stage.REPOSITORY, Stage.SYNTAX, Stage.SYMBOLS, Stage.IMPACT, Stage.GRAPH)
TABLES = [table for stage in STAGES for table in catalog.of_stage(stage)]
DEPS: dict[str, frozenset[str]] = {
    spec.key.to_user_string(): frozenset(dep.asset_key.to_user_string() for dep in spec.deps)
    for stage in (repository, syntax, symbols, impact, graph)
    for spec in stage.ASSETS.specs
}
# Key columns that the run or a word in the code says.
SAID_BY_NO_COLUMN = {"commit", "entity_kind", "prop_key", "inc_impacted_callers.reason_kind"}


def names(tables: Iterable[Table]) -> list[str]:
    return [table.name for table in tables]


def upstream(dataset: str) -> set[str]:
    return {origin for origins in declared(dataset).values() for origin, _ in origins}


def told(*origins: str) -> tuple[Origin, ...]:
    return tuple((dataset, column) for dataset, _, column in (origin.partition(".") for origin in sorted(origins)))


@pytest.mark.parametrize("table", [table for table in TABLES if DEPS[table.name]], ids=lambda table: table.name)
def test_every_column_is_told_and_keys_have_origins(table: Table) -> None:
    columns = declared(table.name)
    assert tuple(columns) == table.column_names
    without = {key for key in table.key if not columns[key]}
    assert {key for key in without if not {key, f"{table.name}.{key}"} & SAID_BY_NO_COLUMN} == set()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_origin_is_a_column_of_a_declared_dep(table: Table) -> None:
    assert upstream(table.name) <= DEPS[table.name]
    for origins in declared(table.name).values():
        assert [column for dataset, column in origins if column not in catalog.table(dataset).column_names] == []


def test_what_git_says_has_no_origin() -> None:
    assert set(declared("repo_snapshot").values()) == {()}


@pytest.mark.parametrize("dataset", names(catalog.of_stage(Stage.GRAPH)))
def test_every_dataset_that_the_graph_is_made_of_gives_a_column(dataset: str) -> None:
    """All but the rules, of which some give an edge and no node or prop, and the list of files."""
    rules = set(names(catalog.of_stage(Stage.RELATIONSHIPS)))
    assert DEPS[dataset] - upstream(dataset) - rules == {"inc_impacted_files"}
    assert upstream("cpg_edges") >= rules


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"cst_nothing": {"file_id": ""}}, "no dataset cst_nothing"),
        ({"cst_parse_errors": {"shape": ""}}, "cst_parse_errors has no column shape"),
        ({"cst_parse_errors": {"file_id": "repo_nothing.file_id"}}, "no dataset repo_nothing"),
        ({"cst_parse_errors": {"file_id": "repo_snapshot.shape"}}, "repo_snapshot has no column shape"),
        ({"cst_parse_errors": {"file_id": "repo_snapshot.file_id .shape"}}, "repo_snapshot has no column shape"),
        ({"cst_parse_errors": {"error_id": "repo_snapshot.="}}, "repo_snapshot has no column error_id"),
        ({"cst_parse_errors": {"file_id text": "", "text": ""}}, "cst_parse_errors: column text is written twice"),
        (
            {"cst_parse_errors": {"file_id error_id kind text ordinal": ""}},
            "cst_parse_errors: nothing is written of bstart, bend",
        ),
    ],
)
def test_lineage_that_names_what_there_is_not_is_refused(written: Mapping[str, Mapping[str, str]], said: str) -> None:
    with pytest.raises((KeyError, ValueError), match=said):
        expanded(written)


def test_the_written_form_stands_for_origins() -> None:
    written = {
        "file_id": "repo_snapshot.=",
        "error_id kind text ordinal bstart": "",
        "bend": "repo_snapshot.size .path",
    }
    columns = expanded({"cst_parse_errors": written})["cst_parse_errors"]
    assert columns["file_id"] == told("repo_snapshot.file_id")
    assert columns["bend"] == told("repo_snapshot.path", "repo_snapshot.size")
    assert columns["text"] == ()


def test_a_dataset_without_declared_lineage_is_named() -> None:
    with pytest.raises(KeyError, match="no lineage of rel_calls is declared"):
        declared("rel_calls")


@pytest.mark.parametrize(
    ("column", "origins"),
    [
        ("cst_defs.file_id", ["repo_snapshot.file_id"]),
        ("cst_defs.parent_def_id", ["repo_snapshot.file_id", "repo_snapshot.sha256"]),
        ("cst_callsites.candidates", ["repo_snapshot.sha256"]),
        ("py_module_index.module", ["repo_snapshot.path"]),
        ("py_imports_resolved.import_id", ["cst_imports.import_id"]),
        ("scip_occurrences.symbol", ["repo_snapshot.path", "repo_snapshot.sha256"]),
        ("dim_exported_defs.target_def_id", ["cst_defs.def_id"]),
        ("dim_exported_defs.symbol_id", ["scip_occurrences.symbol_id"]),
        ("inc_impacted_callers.reason_ref", ["inc_changed_exports.qname"]),
        ("cpg_nodes.path", ["repo_snapshot.path"]),
        ("cpg_edges.edge_kind", [f"{rule}.rule" for rule in names(catalog.of_stage(Stage.RELATIONSHIPS))]),
    ],
)
def test_columns_come_from_where_their_meaning_does(column: str, origins: list[str]) -> None:
    dataset, _, name = column.partition(".")
    assert declared(dataset)[name] == told(*origins)


def test_a_definitions_qualified_name_is_its_modules_and_its_path_inside() -> None:
    found = declared("cpg_nodes")["qualified_name"]
    assert {*told("cst_defs.local_qname", "py_module_index.module", "py_module_index.path")} <= {*found}
    assert not any(column == "name" for _, column in found)


def test_nodes_have_ids_names_and_places_of_the_kinds_datasets() -> None:
    nodes = declared("cpg_nodes")
    for kind in NODE_KINDS:
        assert (kind.dataset, kind.id_column) in nodes["node_id"]
        assert (kind.dataset, "file_id") in nodes["file_id"]
        assert ((kind.dataset, "bstart") in nodes["bstart"]) is not (kind.is_whole_file or kind.is_global)
    assert ("cst_imports", "bound_name") in nodes["name"]
    assert ("cst_imports", "name") not in nodes["name"]


def test_only_rules_that_lead_to_symbols_or_names_give_nodes() -> None:
    rules = {dataset for dataset, _ in declared("cpg_nodes")["node_id"] if dataset.startswith("rel_")}
    assert {"rel_callsite_qname", "rel_name_symbol"} <= rules
    assert not {"rel_calls", "rel_overrides"} & rules


def test_a_props_value_is_what_its_source_reads() -> None:
    values = declared("cpg_props")["prop_value"]
    assert {*told("cst_callsites.arguments", "rel_calls.via_id", "scip_fingerprints.failure")} <= {*values}
    for prop in PROPS:
        if prop.entity_kind == NODE and prop.source.isidentifier() and prop.kinds != ("DIAG",):
            datasets = [kind.dataset for kind in NODE_KINDS if kind.name in prop.kinds]
            assert all((dataset, prop.source) in values for dataset in datasets)


def test_a_materialization_shows_where_each_column_comes_from() -> None:
    shown = column_lineage(declared("py_imports_resolved"))["dagster/column_lineage"].value.deps_by_column
    assert tuple(shown) == catalog.table("py_imports_resolved").column_names
    assert shown["target_file_id"] == [
        dg.TableColumnDep(asset_key=dg.AssetKey("py_module_index"), column_name="file_id")
    ]
    assert shown["bound_name"] == [
        dg.TableColumnDep(asset_key=dg.AssetKey("cst_imports"), column_name=name)
        for name in ("alias", "bound_name", "kind", "module")
    ]
