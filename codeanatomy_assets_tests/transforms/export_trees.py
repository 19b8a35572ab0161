"""Small repositories as {path: source}, and what the exports transforms make of them, without Spark or indexer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, IMPORTS, NAME_REFS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.extraction.syntax_tree import collect
from codeanatomy_assets.transforms.export_facts import FileSources, facts_of, qualified_names_of
from codeanatomy_assets.transforms.exports import Facts, ModuleFacts, changed_keys, exported_rows, facts_of_rows
from codeanatomy_assets.transforms.names import ModuleLookup, resolved_rows
from codeanatomy_assets_tests.transforms.names_trees import file_id, index_of

Row = dict[str, Any]


def sources_of(files: Mapping[str, str]) -> dict[str, FileSources]:
    index = index_of(files)
    lookup = ModuleLookup(index)
    modules = {row["file_id"]: row for row in index.to_pylist() if not row["is_alternate"]}
    found = {}
    for path, source in files.items():
        collected = collect(file_id(path), path, source.encode())
        rows = {table: _rows(table, collected[table.name]) for table in (DEFS, NAME_REFS, CALLSITES, IMPORTS)}
        found[file_id(path)] = FileSources(
            file_id(path),
            modules[file_id(path)],
            defs=rows[DEFS],
            refs=rows[NAME_REFS],
            imports=list(resolved_rows(rows[IMPORTS], lookup)),
            clauses=rows[IMPORTS],
            calls=rows[CALLSITES],
        )
    return found


def _rows(table: Table, rows: Iterable[Iterable[Any]]) -> list[Row]:
    return [dict(zip(table.column_names, row, strict=True)) for row in rows]


def facts_by_file(files: Mapping[str, str]) -> dict[str, ModuleFacts]:
    return {
        each.file_id: ModuleFacts.of(each.file_id, each.prefix, facts_of(each)) for each in sources_of(files).values()
    }


def exported(files: Mapping[str, str]) -> list[Row]:
    """`dim_exported_defs` of a whole tree."""
    modules = facts_by_file(files)
    facts = Facts(modules)
    return [row for module in modules.values() for row in exported_rows(module, facts)]


def updated(before: list[Row], old: Mapping[str, str], new: Mapping[str, str]) -> tuple[list[Row], set[str]]:
    """The same after a commit, walking only what asked for something that changed; and the files walked."""
    stored = facts_of_rows(before)
    fresh = facts_by_file(new)
    changed = {file_id(path) for path in old.keys() | new.keys()}
    changed = {each for each in changed if stored.get(each) != fresh.get(each)}
    keys = frozenset[str]().union(*(changed_keys(stored.get(each), fresh.get(each)) for each in changed))
    asking = {row["file_id"] for row in before if keys & set(row["looked_up"])}
    facts: dict[str, ModuleFacts | None] = {**stored, **{each: fresh.get(each) for each in changed}}
    walked = sorted((changed | asking) & fresh.keys())
    kept = [row for row in before if row["file_id"] not in changed | asking]
    return [*kept, *(row for each in walked for row in _rows_of(facts[each], facts))], set(walked)


def _rows_of(module: ModuleFacts | None, facts: dict[str, ModuleFacts | None]) -> Iterable[Row]:
    return exported_rows(module, Facts(facts)) if module is not None else ()


def leads(files: Mapping[str, str], qname: str) -> list[tuple[str, str | None]]:
    """What a name of a module leads to: (kind, qualified name), sorted."""
    return sorted((row["target_kind"], row["target_qname"]) for row in exported(files) if row["qname"] == qname)


def public_names(files: Mapping[str, str], module: str) -> set[str]:
    return {row["name"] for row in exported(files) if row["is_public"] and row["qname"] == f"{module}.{row['name']}"}


def called_names(files: Mapping[str, str], path: str) -> set[str]:
    rows = qualified_names_of(sources_of(files)[file_id(path)])
    return {row["qname"] for row in rows if row["subject_kind"] == "call"}
