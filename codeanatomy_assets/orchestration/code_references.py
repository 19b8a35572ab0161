"""Where the code of a dataset lies, for the links that the UI opens in an editor: what makes its rows comes first."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path

import dagster as dg

from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.fingerprints import CODE, PACKAGE, ROOT
from codeanatomy_assets.rules import definitions

# The module to read first; where none is told, the first of the stage's.
MADE_BY = {
    "repo_snapshot": "extraction.source_files",
    "inc_file_changes": "transforms.repository",
    "cst_defs": "extraction.syntax_defs",
    "cst_name_refs": "extraction.syntax_refs",
    "cst_callsites": "extraction.syntax_calls",
    "cst_imports": "extraction.syntax_imports",
    "cst_type_exprs": "extraction.syntax_types",
    "cst_parse_errors": "extraction.syntax_errors",
    "py_module_index": "transforms.module_roots",
    "py_imports_resolved": "transforms.names",
    "scip_fingerprints": "extraction.scip_staged",
    "scip_occurrences": "extraction.scip_documents",
    "scip_symbols": "extraction.scip_documents",
    "py_interface": "extraction.scip_staged",
    "dim_exported_defs": "transforms.exports",
    "dim_qualified_names": "transforms.exports",
    "inc_changed_exports": "transforms.impact",
    "inc_impacted_callers": "transforms.looked_up_from",
    "inc_impacted_importers": "transforms.impact",
    "inc_impacted_files": "orchestration.impact",
    "cpg_nodes": "transforms.graph_nodes",
    "cpg_edges": "transforms.graph_edges",
    "cpg_props": "transforms.graph_props",
    "plan_artifacts": "orchestration.profiles",
    "run_profiles": "orchestration.profiles",
    "pruning_metrics": "orchestration.profiles",
    "graph_commits": "storage.ledger",
}


def code_references(table: Table) -> dg.CodeReferencesMetadataValue:
    modules = [_maker(table), f"contracts.{_contract(table)}", f"orchestration.assets.{table.stage.value}"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return dg.CodeReferencesMetadataValue(code_references=[_reference(module) for module in modules])


def _maker(table: Table) -> str:
    if table.stage is Stage.RELATIONSHIPS:
        return f"{definitions.__name__.removeprefix(f'{PACKAGE}.')}.{table.name}"
    return MADE_BY.get(table.name) or CODE[table.stage][0]


def _contract(table: Table) -> str:
    """The module of the stage's contracts that declares the dataset; of a rule, the one that all rules share."""
    modules = sorted(path.stem for path in (ROOT / "contracts").glob("*.py"))
    if table.stage is Stage.RELATIONSHIPS:
        return Stage.RELATIONSHIPS.value
    declaring = (name for name in modules if table in _tables(name))
    return next(declaring)


def _tables(module: str) -> tuple[Table, ...]:
    return tuple(getattr(import_module(f"{PACKAGE}.contracts.{module}"), "TABLES", ()))


def _reference(module: str) -> dg.LocalFileCodeReference:
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return dg.LocalFileCodeReference(file_path=str(path), line_number=1, label=str(Path(*module.split("."))) + ".py")
