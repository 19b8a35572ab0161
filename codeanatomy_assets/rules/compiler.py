"""From a rule to what runs: checked, completed, canonical, with lineage, fingerprint, and Spark SQL for any scope.

Everything is done on the syntax tree; text comes out of it once, at the end. Nothing is compiled when this module is
loaded, and a rule is compiled once in a process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from codeanatomy_assets.contracts import exports, names, relationships, repository, symbols, syntax
from codeanatomy_assets.contracts.table import Layout, Table
from codeanatomy_assets.contracts.types import Type
from codeanatomy_assets.rules.rule import AUTHORED, Rule, RuleError

if TYPE_CHECKING:
    from sqlglot import exp

    from codeanatomy_assets.contracts.lookups import Lookup
    from codeanatomy_assets.rules.lineage import Origin
    from codeanatomy_assets.rules.parsing import Reader

# What rules may read: the datasets of the stages before theirs whose rows belong to a file.
SOURCES: tuple[Table, ...] = tuple(
    table
    for module in (repository, syntax, names, symbols, exports)
    for table in module.TABLES
    if table.layout is Layout.BY_FILE
)
BODY = "found"


@dataclass(frozen=True)
class CompiledRule:
    """A rule that passed all checks. `canonical_sql` is what it means: aliases, case, comments and spaces are gone."""

    rule: Rule
    canonical_sql: str
    fingerprint: str
    lineage: Mapping[str, tuple[Origin, ...]]
    depends_on: frozenset[Origin]
    _tree: exp.Query = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """The columns it looks at, by table: a change in any other column changes no row of it."""
        read = self.depends_on.union(*self.lineage.values())
        return {table: tuple(sorted(c for t, c in read if t == table)) for table in sorted({t for t, _ in read})}

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that must be at hand when it runs."""
        return tuple(self.reads)

    @cached_property
    def lookups(self) -> frozenset[Lookup]:
        """The rows of other files that it needs beside the owner files' slices."""
        from codeanatomy_assets.rules.lookups import lookups_of

        return lookups_of(self._tree, {table.name: table for table in SOURCES})

    @property
    def tree(self) -> str:
        """The canonical tree as JSON, for the plan's records."""
        from sqlglot import serde

        return json.dumps(serde.dump(self._tree))

    def spark_sql(self, scoped: bool = False) -> str:
        """What Spark runs. Scoped: only rows of the files in `scope_files(file_id)`."""
        from codeanatomy_assets.rules.canonical import text_of

        return text_of(self._in_scope(scoped))

    def template(self, scoped: bool = False) -> str:
        """The same with tables in braces, as `spark.sql(template, **dataframes)` takes it."""
        from codeanatomy_assets.rules.canonical import template_of

        return template_of(self._in_scope(scoped))

    def _in_scope(self, scoped: bool) -> exp.Query:
        from codeanatomy_assets.rules.scoping import scoped as in_scope

        return in_scope(self._tree, "file_id") if scoped else self._tree


def compile_rule(rule: Rule, tables: Iterable[Table] = SOURCES) -> CompiledRule:
    """The rule compiled against these contracts, or a RuleError that says what is wrong and where."""
    return _compiled(rule, tuple(tables))


@cache
def _compiled(rule: Rule, tables: tuple[Table, ...]) -> CompiledRule:
    from codeanatomy_assets.rules.canonical import canonical, fingerprint, text_of
    from codeanatomy_assets.rules.expression_types import Types
    from codeanatomy_assets.rules.lineage import Lineage
    from codeanatomy_assets.rules.parsing import Reader

    by_name = {table.name: table for table in tables}
    reader = Reader(rule, by_name)
    body = reader.read()
    _check_outputs(body, dict(Types(body, by_name, reader).outputs[id(body)]), reader)
    _check_owner(body, reader)
    tree = canonical(_completed(rule, body))
    lineage = Lineage(tree)
    return CompiledRule(
        rule=rule,
        canonical_sql=text_of(tree),
        fingerprint=fingerprint(tree),
        lineage={name: tuple(sorted(origins)) for name, origins in lineage.outputs().items()},
        depends_on=lineage.depends_on(),
        _tree=tree,
    )


def _check_outputs(body: exp.Query, given: Mapping[str, Type], reader: Reader) -> None:
    """The author's columns, all of them and no others, each of its contract's type."""
    from codeanatomy_assets.rules.expression_types import fits

    missing = [name for name in AUTHORED if name not in given]
    unknown = [name for name in given if name not in AUTHORED]
    if missing or unknown:
        said = [f"does not select {', '.join(missing)}"] if missing else []
        said += [f"selects {', '.join(unknown)}, which no relationship has"] if unknown else []
        raise RuleError(reader.rule.name, f"{' and '.join(said)}; a rule selects {', '.join(AUTHORED)}")
    selects = dict(zip(given, body.selects, strict=True))
    for column in relationships.COLUMNS:
        if column.name in given and not fits(given[column.name], column.type):
            raise reader.refuse(
                selects[column.name], f"{column.name} is {given[column.name].ddl}, the contract says {column.type.ddl}"
            )


def _check_owner(body: exp.Query, reader: Reader) -> None:
    """Every branch's `file_id` is an owner table's: otherwise an update could not say which rows are whose."""
    from codeanatomy_assets.rules.lineage import owner_references

    owners = {(table.name, table.owner_column) for table in reader.rule.owners}
    found = {origin for _, _, origin in owner_references(body, "file_id")}
    for _, projection, origin in owner_references(body, "file_id"):
        if origin not in owners:
            listed = ", ".join(f"{table}.{column}" for table, column in sorted(owners))
            raise reader.refuse(projection, f"file_id must be the owner's: {listed}")
    unused = sorted(table for table, column in owners if (table, column) not in found)
    if unused:
        raise RuleError(reader.rule.name, f"no branch takes its file_id from its owner {', '.join(unused)}")


def _completed(rule: Rule, body: exp.Query) -> exp.Query:
    """The contract's columns in its order, around the author's: the rule's name and the id added, the types cast."""
    from sqlglot import exp

    from codeanatomy_assets.rules.parsing import DIALECT, id_expression

    def authored(name: str) -> exp.Expr:
        return exp.Literal.string(rule.name) if name == "rule" else exp.column(name, table=BODY)

    def selected(name: str, ddl: str) -> exp.Expr:
        if name == "file_id":
            return exp.column(name, table=BODY).as_(name)
        if name == "rel_id":
            recipe = relationships.RELATIONSHIP
            return id_expression(recipe, {part: authored(part) for part in recipe.parts}).as_(name)
        return exp.cast(authored(name), ddl, dialect=DIALECT).as_(name)

    with_ = body.args.get("with_")
    if with_ is not None:
        body.set("with_", None)
    whole = exp.select(*(selected(column.name, column.type.ddl) for column in relationships.COLUMNS))
    whole = whole.from_(body.subquery(BODY, copy=False), copy=False)
    whole.set("with_", with_)
    return whole
