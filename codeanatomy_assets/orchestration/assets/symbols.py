"""The symbols stage: which module a file is, what its imports reach, and what its names mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codeanatomy_assets.contracts import exports as exports_contracts
from codeanatomy_assets.contracts import names as names_contracts
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, PY_MODULE_INDEX
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS
from codeanatomy_assets.contracts.syntax import IMPORTS
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.extraction.scip_staged import collect_staged
from codeanatomy_assets.orchestration.assets.stage_assets import stage_assets
from codeanatomy_assets.orchestration.following_exports import follow_exports
from codeanatomy_assets.orchestration.indexing import Indexed, index_candidates
from codeanatomy_assets.orchestration.progress import watched
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.views import whole_frame
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.transforms import module_roots, names
from codeanatomy_assets.transforms.export_sources import SOURCES

SCIP_TABLES = (SCIP_FINGERPRINTS, PY_INTERFACE, SCIP_OCCURRENCES, SCIP_SYMBOLS)
DEPS = {
    PY_MODULE_INDEX.name: [REPO_SNAPSHOT.name],
    PY_IMPORTS_RESOLVED.name: [IMPORTS.name, PY_MODULE_INDEX.name],
    **{table.name: [REPO_SNAPSHOT.name, PY_IMPORTS_RESOLVED.name] for table in SCIP_TABLES},
    **{table.name: [source.table.name for source in SOURCES.values()] for table in exports_contracts.TABLES},
}


def symbols_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    touched = run.touched_files(Stage.SYMBOLS)
    if touched is not None and not touched:
        yield from (Produced(table) for table in tables)
        return
    yield from _names(run)
    if any(table not in names_contracts.TABLES for table in tables):
        yield from _meanings(run, index_candidates(run))
        yield from follow_exports(run)


def _names(run: WritingRun) -> Iterator[Produced]:
    before = run.read_previous_light(PY_MODULE_INDEX)
    modules = module_roots.module_index(run.readable_files().items())
    run.found_roots(module_roots.roots_fingerprint(module_roots.module_roots(run.readable_files().values())))
    yield Produced(PY_MODULE_INDEX, run.replace(PY_MODULE_INDEX, modules, run.scope(None)))
    files = run.touched_files(Stage.SYMBOLS)
    if files is not None:
        moved = names.changed_answers(before, modules)
        files |= run.previous_owners_listing(PY_IMPORTS_RESOLVED, "looked_up", moved)
    resolved = names.imports_resolved(whole_frame(run, IMPORTS, files), modules)
    yield Produced(PY_IMPORTS_RESOLVED, run.replace(PY_IMPORTS_RESOLVED, resolved, run.scope(files)))


def _meanings(run: WritingRun, indexed: Indexed) -> Iterator[Produced]:
    """The rows of what was indexed: all of it gives interface entries, new documents the rest too."""
    scopes = {table: indexed.files if table is PY_INTERFACE else indexed.new_documents for table in SCIP_TABLES}
    with watched(run.spark, run.progress, "reading documents"):
        for table, written in run.replace_collected(indexed.documents, collect_staged, scopes):
            yield Produced(table, written)


ASSETS = stage_assets(Stage.SYMBOLS, DEPS, symbols_stage)
