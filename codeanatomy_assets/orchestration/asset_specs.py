"""What Dagster shows of a dataset before it was ever built: its spec and checks, from the contract."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import dagster as dg

from codeanatomy_assets.contracts.checks import Violation, checks_of
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.code_references import code_references
from codeanatomy_assets.orchestration.fingerprints import code_version
from codeanatomy_assets.orchestration.lineage import Lineage
from codeanatomy_assets.rules import registry

OWNERS = ["team:codeanatomy"]
KINDS = {
    Stage.REPOSITORY: {"python", "delta"},
    Stage.SYNTAX: {"python", "spark", "delta"},
    Stage.SYMBOLS: {"python", "spark", "delta", "scip"},
    Stage.IMPACT: {"python", "delta"},
    Stage.RELATIONSHIPS: {"sqlglot", "spark", "delta"},
    Stage.GRAPH: {"spark", "delta"},
    Stage.LEDGER: {"delta"},
}
CHECK = "contract"


def asset_spec(table: Table, deps: Sequence[str], lineage: Lineage | None = None) -> dg.AssetSpec:
    metadata: dict[str, Any] = {
        "dagster/column_schema": column_schema(table),
        "dagster/table_name": table.name,
        "dagster/code_references": code_references(table),
    }
    if lineage:
        metadata["column_origins"] = dg.MetadataValue.md(_origins(lineage))
    return dg.AssetSpec(
        table.name,
        deps=list(deps),
        description=f"{table.doc}\n\nKey: {', '.join(table.key)}. Example row, in part: `{_example(table)}`",
        group_name=group_of(table.stage),
        kinds=KINDS[table.stage],
        owners=OWNERS,
        tags={"codeanatomy/stage": table.stage.value, "codeanatomy/rows": table.layout.value},
        skippable=True,
        code_version=code_version(table),
        metadata=metadata,
    )


def _example(table: Table) -> str:
    return json.dumps(_of_rule(table) or table.example, ensure_ascii=False)


def _of_rule(table: Table) -> dict[str, object] | None:
    """What a rule's own first example says comes of it."""
    if table.stage is not Stage.RELATIONSHIPS:
        return None
    expected = [example.expected[0] for example in registry.rule(table.name).examples if example.expected]
    return dict(expected[0]) if expected else None


def _origins(lineage: Lineage) -> str:
    """The column lineage to be read: the open-source UI draws none."""
    rows = [
        f"| `{column}` | {', '.join(f'`{table}.{name}`' for table, name in origins) or 'no column'} |"
        for column, origins in lineage.items()
    ]
    return "\n".join(["| column | made of |", "| --- | --- |", *rows])


def group_of(stage: Stage) -> str:
    """The stage's group: numbered, because Dagster lists groups by name."""
    return f"{list(Stage).index(stage) + 1}_{stage.value}"


def check_spec(table: Table) -> dg.AssetCheckSpec:
    """All that the contract promises of the dataset's rows, as one check that blocks what comes after."""
    listed = "\n".join(f"- `{check.name}`: {check.doc}" for check in checks_of(table))
    return dg.AssetCheckSpec(CHECK, asset=table.name, blocking=True, description=f"Over what was written:\n{listed}")


def check_result(table: Table, broken: Sequence[Violation]) -> dg.AssetCheckResult:
    told: dict[str, dg.MetadataValue | str | int] = {"checks": len(checks_of(table))}
    told |= {each.check: f"{each.rows} rows, e.g. {each.example}" for each in broken}
    return dg.AssetCheckResult(
        passed=not broken,
        asset_key=table.name,
        check_name=CHECK,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata=told,
    )


def column_schema(table: Table) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.type.ddl,
                description=column.doc,
                constraints=dg.TableColumnConstraints(nullable=column.nullable, unique=table.key == (column.name,)),
            )
            for column in table.columns
        ]
    )
