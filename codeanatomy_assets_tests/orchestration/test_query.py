"""`query`: SQL over the datasets of a built commit, and `status --commit` for SQL elsewhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets import catalog, cli
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.query import query, table_versions
from codeanatomy_assets_tests.histories import History

DEFINED = "SELECT qualified_name FROM cpg_nodes WHERE node_kind = 'CST_DEF' ORDER BY qualified_name"


def names(history: History, sql: str, commit: str | None = None) -> list[str]:
    rows = query(history.built.settings, sql, commit).rows
    found: list[str] = rows.column(0).to_pylist()
    return found


def test_a_query_sees_the_commit_it_asks_for(history: History) -> None:
    assert names(history, DEFINED, history.commits[0]) == [
        "app.main.old_name",
        "app.main.run",
        "app.other.helper",
        "app.tools.helper",
    ]
    assert "app.main.new_name" in names(history, DEFINED)
    assert "app.main.old_name" not in names(history, DEFINED, "HEAD")


@pytest.mark.parametrize("table", catalog.read_tables(), ids=lambda table: table.name)
def test_every_dataset_is_there_with_its_own_rows_and_columns(history: History, table: Table) -> None:
    asked = query(history.built.settings, f"SELECT * FROM {table.name}").rows
    assert asked.schema == table.arrow_schema()
    assert sorted(map(str, asked.to_pylist())) == sorted(map(str, history.built.rows(table.name)))


def test_rules_that_share_a_table_can_be_joined(history: History) -> None:
    sql = (
        "SELECT DISTINCT n.qualified_name FROM rel_calls c JOIN rel_callsite_symbol s ON s.via_id = c.via_id"
        " JOIN cpg_nodes n ON n.node_id = c.dst_id ORDER BY 1"
    )
    assert names(history, sql) == ["app.main.run", "app.other.helper"]


def test_the_ledger_is_a_table_too(history: History) -> None:
    assert names(history, 'SELECT "commit" FROM graph_commits ORDER BY sequence') == history.commits


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT * FROM cst_deffs", "cst_deffs' not found"),
        ("SELECT nme FROM cst_defs", "No field named nme"),
        ("SELECT FROM WHERE", "the query failed"),
        ("SELECT 1; SELECT 2", "single SQL statement"),
        ("SELECT 1 / 0", "Divide by zero"),
    ],
)
def test_what_the_engine_refuses_is_said_with_the_known_datasets(history: History, sql: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        query(history.built.settings, sql)
    assert "cst_defs, " in str(refused.value)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO cst_defs VALUES (1)",
        "-- SELECT\nCOPY cst_defs TO 'out.csv'",
        "/* SELECT */ DROP VIEW cst_defs",
        "EXPLAIN ANALYZE COPY cst_defs TO 'out.csv'",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "",
    ],
)
def test_what_is_no_query_is_refused(
    history: History, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="only queries"):
        query(history.built.settings, sql)
    assert list(tmp_path.iterdir()) == []


def test_the_command_answers_as_table_json_and_csv(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT path, change_kind, stages_touched FROM inc_file_changes WHERE change_kind = 'modified' LIMIT 1"
    state = ["--state", str(history.state)]
    assert cli.main(["query", sql, *state]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["path", "change_kind", "stages_touched"]
    assert cli.main(["query", sql, "--json", *state]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["commit"] == history.commits[-1] and told["rows"][0]["change_kind"] == "modified"
    assert cli.main(["query", sql, "--csv", *state]) == 0
    heading, row = csv.reader(capsys.readouterr().out.splitlines())
    assert heading == told["columns"] and json.loads(row[2]) == told["rows"][0]["stages_touched"]
    assert cli.main(["query", "SELECT * FROM nowhere", *state]) == 2
    assert "datasets at" in capsys.readouterr().err


def test_status_names_versions_that_spark_sql_travels_to(history: History, spark: SparkSession) -> None:
    for commit, name in ((history.commits[0], "old_name"), (history.commits[1], "new_name")):
        found = table_versions(history.built.settings, commit)
        defs, calls = found["tables"]["cst_defs"], found["tables"]["rel_calls"]
        rows = spark.sql(f"SELECT name FROM delta.`{defs['path']}` VERSION AS OF {defs['version']}").collect()
        assert name in {row[0] for row in rows}
        sql = f"SELECT count(*) FROM delta.`{calls['path']}` VERSION AS OF {calls['version']} WHERE {calls['where']}"
        assert spark.sql(sql).collect()[0][0] == len(history.built.rows("rel_calls", commit))


def test_status_of_a_commit_lists_every_dataset(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["status", "--commit", "HEAD~1", "--state", str(history.state)]
    assert cli.main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["at"]
    assert told["commit"] == history.commits[2]
    assert set(told["tables"]) == {table.name for table in catalog.read_tables()}
    assert {told["tables"][name]["where"] for name in ("rel_calls", "cpg_nodes")} == {"rule = 'rel_calls'", "true"}
    assert cli.main(arguments) == 0
    assert "where rule = 'rel_calls'" in capsys.readouterr().out
