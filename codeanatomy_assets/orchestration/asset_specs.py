"""What Dagster shows of a dataset before it was ever built: its spec and checks, from the contract."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from codeanatomy_assets.contracts.checks import Violation, checks_of
from codeanatomy_assets.contracts.table import Stage, Table

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


def asset_spec(table: Table, deps: Sequence[str]) -> dg.AssetSpec:
    return dg.AssetSpec(
        table.name,
        deps=list(deps),
        description=f"{table.doc}\n\nKey: {', '.join(table.key)}. Example row: `{table.example}`",
        group_name=table.stage.value,
        kinds=KINDS[table.stage],
        owners=OWNERS,
        skippable=True,
        code_version=table.fingerprint()[:16],
        metadata={"dagster/column_schema": column_schema(table), "dagster/table_name": table.name},
    )


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
