"""Column lineage of the datasets that no rule makes: written here as a table, or derived, and checked at import.

As in the rules, an origin is a column that a value is computed of, the cases it is chosen by included. What joins,
filters or orders rows is none, nor what decides which files are made again.

A file's text is in no column: `repo_snapshot.sha256`, which identifies it, stands for it. Columns that are read from
the text have it as their origin, ids the file's id too. What the indexer says is made of the texts of the file and
of those it can see, and of the paths that modules are named by. What git, the run or a word in the code says has no
origin.

A line reads `columns: origins`. An origin is `dataset.column`; `.column` is another one of the dataset before it, and
`dataset.=` the column of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration import graph_lineage

Origin = tuple[str, str]
Lineage = Mapping[str, tuple[Origin, ...]]

SAME = "="
FILE = "repo_snapshot.file_id"
TEXT = "repo_snapshot.sha256"
INDEXED = "repo_snapshot.sha256 .path"

REPOSITORY = {
    "repo_snapshot": {"file_id path git_mode blob_id sha256 size encoding is_python skip_reason": ""},
    "inc_file_changes": {
        "commit": "",
        "file_id path": "repo_snapshot.=",
        "change_kind": "repo_snapshot.file_id .path",
        "old_path": "repo_snapshot.path",
        "old_sha256 new_sha256": "repo_snapshot.sha256",
        "stages_touched": "repo_snapshot.sha256 .is_python .skip_reason",
    },
}

# What an import's module turns out to be, and what there is to be found.
_CLAUSE = "cst_imports.kind .level .module .name"
_MODULES = "py_module_index.module .path .root .is_package .is_alternate .is_primary"
NAMES = {
    "py_module_index": {
        "file_id path": "repo_snapshot.=",
        "module_id": "repo_snapshot.file_id .path",
        "module kind is_package is_stub root is_alternate is_primary": "repo_snapshot.path",
    },
    "py_imports_resolved": {
        "file_id import_id scope_id kind is_type_checking is_conditional": "cst_imports.=",
        "resolved_id": f"cst_imports.import_id {_CLAUSE} py_module_index.module .path .is_package",
        "target_kind is_star": "cst_imports.kind",
        "module": f"{_CLAUSE} py_module_index.module .is_package",
        "name": "cst_imports.name py_module_index.path",
        "bound_name": "cst_imports.bound_name .kind .alias .module",
        "resolution reason": f"{_CLAUSE} {_MODULES}",
        "target_file_id": "py_module_index.file_id",
        "looked_up": f"{_CLAUSE} py_module_index.path",
    },
}

SYMBOLS = {
    "scip_fingerprints": {
        "file_id": FILE,
        "fingerprint document_sha256 failure": INDEXED,
        "indexer": "",
    },
    "scip_occurrences": {
        "file_id": FILE,
        "symbol_id": f"{FILE} {INDEXED}",
        "symbol symbol_kind package module descriptor role": INDEXED,
        "bstart bend enclosing_bstart enclosing_bend": TEXT,
    },
    "scip_symbols": {
        "file_id": FILE,
        "symbol_id": f"{FILE} {INDEXED}",
        "symbol symbol_kind package module descriptor name is_defined_here relationships": INDEXED,
    },
    "py_interface": {
        "file_id": FILE,
        "entry_path name kind is_return_inferred": TEXT,
        "type_fingerprint is_open is_cut is_noreturn mentions reaches mro": INDEXED,
    },
}

_PREFIX = "py_module_index.module .path"
# Names that a file defines or assigns, and all that it binds; stars are named by what they take from.
_OWN = "cst_defs.local_qname cst_name_refs.name"
_BOUND = f"{_OWN} py_imports_resolved.bound_name"
_ENTRY = f"{_BOUND} .module .name"
_PLACES = "cst_defs.name_bstart cst_name_refs.bstart cst_imports.bstart"
_ALL_NAMES = "cst_name_refs.name .dotted .usage"
_HEADER = "cst_defs.kind .is_async .decorators .bases .returns .type_parameters .parameters"
_QNAME = f"{_PREFIX} .is_package cst_defs.local_qname py_imports_resolved.module .name cst_callsites.candidates"
EXPORTS = {
    "dim_exported_defs": {
        "file_id": "py_module_index.file_id",
        "export_id": f"py_module_index.file_id {_ENTRY} {_PLACES}",
        "entry_path": _ENTRY,
        "name": _BOUND,
        "ordinal": f"{_ENTRY} {_PLACES}",
        "qname qname_id": f"{_PREFIX} {_ENTRY}",
        "binding": "cst_defs.kind .parent_def_id cst_name_refs.binding py_imports_resolved.is_star",
        "kind def_id": "cst_defs.=",
        "own_symbol symbol": "scip_occurrences.symbol",
        "own_symbol_id symbol_id": "scip_occurrences.symbol_id",
        "is_effective": f"cst_defs.is_conditional py_imports_resolved.is_conditional .is_star {_PLACES}",
        "source_file_id submodule_file_id": "py_imports_resolved.target_file_id",
        "source_module": "py_imports_resolved.module",
        "source_name": f"py_imports_resolved.name {_ALL_NAMES}",
        "assigned_from": "cst_name_refs.assigned_from",
        "is_public is_enumerable": f"{_BOUND} {_ALL_NAMES}",
        "signature": f"{_HEADER} cst_name_refs.assigned_from {_ALL_NAMES}",
        "target_kind": "cst_defs.def_id py_imports_resolved.target_file_id .module",
        "target_file_id": "py_module_index.file_id py_imports_resolved.target_file_id",
        "target_def_id": "cst_defs.def_id",
        "target_entry": _OWN,
        "target_qname target_qname_id": f"{_PREFIX} {_OWN} py_imports_resolved.module .name",
        "hops": "py_imports_resolved.target_file_id cst_name_refs.assigned_from",
        "looked_up": f"py_imports_resolved.target_file_id .name {_OWN} .assigned_from .dotted",
    },
    "dim_qualified_names": {
        "file_id": "py_module_index.file_id",
        "qname_id qname name": _QNAME,
        "subject_kind": "",
        "subject_id": "py_module_index.module_id cst_defs.def_id py_imports_resolved.import_id cst_callsites.call_id",
        "source": "py_imports_resolved.is_star cst_callsites.candidates",
    },
}

# Their paths are those of repo_snapshot, which these assets do not name as a dep: no origin is told.
IMPACT = {
    "inc_changed_exports": {
        "commit path": "",
        "file_id entry_path qname symbol is_public is_enumerable": "dim_exported_defs.=",
        "change": "dim_exported_defs.file_id .entry_path",
    },
    "inc_impacted_callers": {
        "commit path reason_kind distance": "",
        "file_id": "scip_occurrences.= dim_qualified_names.= py_interface.=",
        "reason_ref": "inc_changed_exports.qname",
        "via_file_id": "inc_changed_exports.file_id py_interface.file_id",
    },
    "inc_impacted_importers": {
        "commit path distance": "",
        "file_id": "py_imports_resolved.= dim_exported_defs.=",
        "reason_kind": "py_imports_resolved.is_star .target_kind .name",
        "reason_ref": "py_imports_resolved.module .name inc_changed_exports.qname dim_exported_defs.qname",
        "via_file_id": "py_imports_resolved.target_file_id dim_exported_defs.looked_up",
    },
    "inc_impacted_files": {
        "commit path": "",
        "file_id": (
            "inc_file_changes.= inc_impacted_callers.= inc_impacted_importers.= py_imports_resolved.= "
            "scip_fingerprints.= scip_occurrences.= scip_symbols.= py_interface.="
        ),
        "reason_kind": "inc_file_changes.change_kind inc_impacted_callers.= inc_impacted_importers.=",
        "reason_ref": "inc_impacted_callers.= inc_impacted_importers.= py_interface.entry_path",
        "via_file_id distance": "inc_impacted_callers.= inc_impacted_importers.= py_imports_resolved.target_file_id",
    },
}


def _of_text(table: Table) -> dict[str, str]:
    """A dataset of the syntax stage: its ids are made of the file's and of text, all else of text."""
    others = [name for name in table.column_names if name != "file_id"]
    ids = " ".join(name for name in others if name.endswith("_id"))
    read = " ".join(name for name in others if not name.endswith("_id"))
    return {"file_id": FILE, ids: f"{FILE} {TEXT}", read: TEXT}


def expanded(written: Mapping[str, Mapping[str, str]]) -> dict[str, Lineage]:
    """By dataset each column with its origins, sorted. Names that there are not, and columns left out, are refused."""
    return {name: _of_table(catalog.table(name), columns) for name, columns in written.items()}


def _of_table(table: Table, written: Mapping[str, str]) -> Lineage:
    found: dict[str, tuple[Origin, ...]] = {}
    for columns, origins in written.items():
        for name in columns.split():
            column = table.column(name).name
            if column in found:
                raise ValueError(f"lineage of {table.name}: column {column} is written twice")
            found[column] = tuple(sorted(set(_origins(column, origins))))
    left_out = [name for name in table.column_names if name not in found]
    if left_out:
        raise ValueError(f"lineage of {table.name}: nothing is written of {', '.join(left_out)}")
    return {name: found[name] for name in table.column_names}


def _origins(column: str, written: str) -> Iterator[Origin]:
    dataset = ""
    for word in written.split():
        named, _, name = word.partition(".")
        dataset = named or dataset
        yield dataset, catalog.table(dataset).column(column if name == SAME else name).name


_DECLARED = expanded(
    {
        **REPOSITORY,
        **{table.name: _of_text(table) for table in syntax.TABLES},
        **NAMES,
        **SYMBOLS,
        **EXPORTS,
        **IMPACT,
        **graph_lineage.written(),
    }
)


def declared(dataset: str) -> Lineage:
    """The dataset's columns, each with the (dataset, column)s that it is made of."""
    if dataset not in _DECLARED:
        raise KeyError(f"no lineage of {dataset} is declared; known: {', '.join(_DECLARED)}")
    return _DECLARED[dataset]
