"""Datasets of all stages → `cpg_nodes` of the files they belong to.

Kinds that are one dataset's rows follow their declaration. Put together here are the global kinds, whose
columns come from the entity's text alone so that all contributions agree, and the diagnostics.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.exports import DIM_EXPORTED_DEFS, DIM_QUALIFIED_NAMES
from codeanatomy_assets.contracts.graph import CPG_NODES
from codeanatomy_assets.contracts.graph_kinds import GLOBAL_KINDS, NODE_KINDS, NodeKind
from codeanatomy_assets.contracts.lookups import Giver, Lookup
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, PY_MODULE_INDEX
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.symbols import SCIP_FINGERPRINTS, SCIP_SYMBOLS
from codeanatomy_assets.contracts.syntax import PARSE_ERRORS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Views = Mapping[str, "DataFrame"]

_OF_ONE_DATASET = tuple(kind for kind in NODE_KINDS if kind.title)
READS = (
    *(kind.dataset for kind in _OF_ONE_DATASET),
    SCIP_SYMBOLS.name,
    DIM_QUALIFIED_NAMES.name,
    PY_IMPORTS_RESOLVED.name,
    ALL_RULES.name,
    DIM_EXPORTED_DEFS.name,
    PARSE_ERRORS.name,
    SCIP_FINGERPRINTS.name,
)

_IMPLEMENTED = "filter(relationships, r -> array_contains(r.kinds, 'implementation'))"
# Columns of dim_exported_defs with the text of an entity, each beside its id.
_TEXTS_OF_EXPORTS = ("qname", "target_qname", "own_symbol", "symbol")
LOOKUPS = frozenset(
    Lookup(DIM_EXPORTED_DEFS.name, f"{text}_id", frozenset({Giver(ALL_RULES.name, "dst_id")}))
    for text in _TEXTS_OF_EXPORTS
)
# The last descriptor's name: a quoted one may hold anything but a single backtick.
_NAME = "`(?:[^`]|``)*+`|[\\\\w$+-]*"
_DESCRIPTORS = "regexp_extract(text, '^(?:(?:[^ ]++|  )*+ ){4}(.*)$', 1)"
_LAST = f"regexp_extract(descriptors, '({_NAME})(?:\\\\([\\\\w$+-]*\\\\)\\\\.|[/#.:)\\\\]])$', 1)"
_MODULE_OF_SYMBOL = f"regexp_extract(descriptors, '^({_NAME})/', 1)"


def nodes(views: Views) -> DataFrame:
    """`cpg_nodes` of the files in `repo_snapshot`; the inputs are named in READS."""
    parts = [_placed(views, kind) for kind in _OF_ONE_DATASET] + [_global_nodes(views), _diagnostic_nodes(views)]
    found = reduce(lambda left, right: left.unionByName(right), parts)
    return (
        found.join(files(views), "file_id")
        .selectExpr(
            "node_id",
            "node_kind",
            "name",
            "coalesce(qualified_name, concat(module_qname, '.', local_qname)) AS qualified_name",
            f"if(node_kind IN ({_quoted(GLOBAL_KINDS)}), null, path) AS path",
            "if(is_whole_file, if(try_cast(size AS int) is null, null, 0), bstart) AS bstart",
            "if(is_whole_file, try_cast(size AS int), bend) AS bend",
            "file_id",
        )
        .select(*CPG_NODES.column_names)
    )


def files(views: Views) -> DataFrame:
    """The Python files with their path, size and module: what a row needs to know of its owner."""
    from pyspark.sql import functions as F

    modules = views[PY_MODULE_INDEX.name].where("not is_alternate")
    named = modules.selectExpr("file_id", "module_id", "coalesce(module, concat('<', path, '>')) AS module_qname")
    tracked = views[REPO_SNAPSHOT.name].where("is_python").select("file_id", "path", "size")
    return F.broadcast(tracked.join(F.broadcast(named), "file_id", "left"))


def rows_of(views: Views, kind: NodeKind) -> DataFrame:
    """The rows that nodes of a kind are made of."""
    return diagnostics(views) if kind.name == "DIAG" else views[kind.dataset].where(kind.where)


def diagnostics(views: Views) -> DataFrame:
    """Everything that could not be read, in one shape: parse errors, files without index, files left out."""
    unread = views[PARSE_ERRORS.name].selectExpr(
        "file_id",
        "error_id",
        "kind AS name",
        "'parse_error' AS kind",
        "'error' AS severity",
        "concat(kind, ': ', text) AS message",
        "'cst' AS origin",
        "bstart",
        "bend",
    )
    failed = views[SCIP_FINGERPRINTS.name].where("failure is not null")
    skipped = views[REPO_SNAPSHOT.name].where("is_python and skip_reason is not null")
    return unread.unionByName(_of_whole_file(failed, "not_indexed", "'not_indexed'", "failure", "scip")).unionByName(
        _of_whole_file(skipped, "skipped", "skip_reason", "skip_reason", "repository")
    )


def _of_whole_file(rows: DataFrame, kind: str, name: str, message: str, origin: str) -> DataFrame:
    return rows.selectExpr(
        "file_id",
        f"{identity.DIAGNOSTIC.sql('file_id', repr(kind))} AS error_id",
        f"{name} AS name",
        f"'{kind}' AS kind",
        "'warning' AS severity",
        f"{message} AS message",
        f"'{origin}' AS origin",
        "cast(null AS int) AS bstart",
        "cast(null AS int) AS bend",
    )


def _placed(views: Views, kind: NodeKind) -> DataFrame:
    return rows_of(views, kind).selectExpr(
        "file_id",
        f"{kind.id_column} AS node_id",
        f"'{kind.name}' AS node_kind",
        f"{kind.title} AS name",
        f"cast({kind.qualified} AS string) AS qualified_name",
        f"cast({kind.local_qname} AS string) AS local_qname",
        "cast(null AS int) AS bstart" if kind.is_whole_file else "bstart",
        "cast(null AS int) AS bend" if kind.is_whole_file else "bend",
        f"{str(kind.is_whole_file).lower()} AS is_whole_file",
    )


def _diagnostic_nodes(views: Views) -> DataFrame:
    return diagnostics(views).selectExpr(
        "file_id",
        "error_id AS node_id",
        "'DIAG' AS node_kind",
        "name",
        "cast(null AS string) AS qualified_name",
        "cast(null AS string) AS local_qname",
        "bstart",
        "bend",
        "false AS is_whole_file",
    )


def _global_nodes(views: Views) -> DataFrame:
    """Symbols and qualified names, each once a file that mentions it."""
    mentioned = reduce(lambda left, right: left.unionByName(right), [_symbols(views), *_names(views), _reached(views)])
    is_symbol = f"node_id LIKE '{identity.SYMBOL.prefix}\\\\_%'"
    # Column by column: in one expression each pattern would be looked for wherever it is named.
    described = mentioned.distinct().selectExpr("*", f"if({is_symbol}, {_DESCRIPTORS}, null) AS descriptors")
    return described.selectExpr("*", f"{_LAST} AS last").selectExpr(
        "file_id",
        "node_id",
        f"if({is_symbol}, 'SCIP_SYMBOL', 'PY_QUALIFIED_NAME') AS node_kind",
        f"if({is_symbol}, {_symbol_name()}, {_last_name()}) AS name",
        "text AS qualified_name",
        "cast(null AS string) AS local_qname",
        "cast(null AS int) AS bstart",
        "cast(null AS int) AS bend",
        "false AS is_whole_file",
    )


def _symbols(views: Views) -> DataFrame:
    """The symbols that a file defines or mentions, and those that they implement: one reading for both."""
    own = "array(struct(symbol_id AS node_id, symbol AS text))"
    others = f"transform({_IMPLEMENTED}, r -> struct(r.symbol_id AS node_id, r.symbol AS text))"
    return views[SCIP_SYMBOLS.name].selectExpr("file_id", f"inline(concat({own}, {others}))")


def implemented(views: Views) -> DataFrame:
    """file_id, symbol_id and the symbol that it implements."""
    return views[SCIP_SYMBOLS.name].selectExpr("file_id", "symbol_id", f"explode({_IMPLEMENTED}) AS implemented")


def _names(views: Views) -> list[DataFrame]:
    """The qualified names that a file knows of, and the modules that its imports name."""
    known = views[DIM_QUALIFIED_NAMES.name].selectExpr("file_id", "qname_id AS node_id", "qname AS text")
    modules = views[PY_IMPORTS_RESOLVED.name].where("module is not null")
    return [known, modules.selectExpr("file_id", f"{identity.QNAME.sql('module')} AS node_id", "module AS text")]


def _reached(views: Views) -> DataFrame:
    """Names and symbols that the file's relationships lead to, by the text that an export has of them."""
    prefixes = (identity.SYMBOL.prefix, identity.QNAME.prefix)
    is_global = " OR ".join(f"dst_id LIKE '{prefix}\\\\_%'" for prefix in prefixes)
    wanted = views[ALL_RULES.name].where(is_global).selectExpr("file_id", "dst_id AS node_id").distinct()
    structs = ", ".join(f"struct({text}_id AS node_id, {text} AS text)" for text in _TEXTS_OF_EXPORTS)
    texts = views[DIM_EXPORTED_DEFS.name].selectExpr(f"inline(array({structs}))")
    return wanted.join(texts.where("node_id is not null"), "node_id").select("file_id", "node_id", "text")


def _symbol_name() -> str:
    """The last part's name; the module's for `module/__init__:`, and a local's whole text."""
    name = f"if(last = '__init__' AND endswith(text, '/__init__:'), {_MODULE_OF_SYMBOL}, last)"
    bare = f"replace(regexp_replace({name}, '^`|`$', ''), '``', '`')"
    return f"if(text LIKE 'local %', text, {bare})"


def _last_name() -> str:
    """The part behind the last dot; one in angle brackets (a lambda, a script's path) may hold dots."""
    return "coalesce(nullif(regexp_extract(text, '(<[^<>]*>|[^.<>]*)$', 1), ''), text)"


def _quoted(texts: tuple[str, ...]) -> str:
    return ", ".join(f"'{text}'" for text in texts)
