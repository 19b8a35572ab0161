"""What builds do, counted: Delta commits, documents, slices, files, rows shuffled, JVMs. Times are no test's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets_tests.states import BuiltState

MODULES = 12
FILES = {
    "app/core.py": "def base(x):\n    return x\n",
    **{
        f"app/m{number}.py": f"from app.core import base\n\n\ndef f{number}(x):\n    return base(x)\n"
        for number in range(MODULES)
    },
    "README.md": "read me\n",
}


@dataclass(frozen=True)
class Work:
    """What one update did."""

    commits: int
    documents: int
    rebuilt: int
    slices: int
    data_files: int
    shuffled: int


@pytest.fixture
def built(built_with: Callable[[dict[str, str]], BuiltState]) -> BuiltState:
    return built_with(FILES)


def work_of(built: BuiltState, files: dict[str, str]) -> Work:
    """Of the update to a commit with these files. Each Delta commit is one version more."""
    before, earlier = built.versions(), shuffles(built.engine.session())
    report = built.commit(files)
    after = built.versions()
    pruned = [row for row in built.rows("pruning_metrics") if row["commit"] == report["commit"]]
    assert all(row["files_scanned"] <= row["files_present"] for row in pruned)
    return Work(
        commits=sum(after[name] - before[name] for name in after),
        documents=built.last().summary.get("indexed", {}).get("files", 0),
        rebuilt=report["impacted"],
        slices=sum(row["slices"] for row in pruned),
        data_files=sum(row["files_scanned"] for row in pruned),
        shuffled=rows_shuffled_since(earlier, built.engine.session()),
    )


def shuffles(spark: SparkSession) -> dict[int, int]:
    """Rows that each stage of this session handed on through a shuffle. Spark remembers the last thousand stages."""
    gateway: Any = spark.sparkContext._gateway
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    nothing, no_quantiles = gateway.jvm.java.util.ArrayList(), gateway.new_array(gateway.jvm.double, 0)
    stages = context.statusStore().stageList(nothing, False, False, no_quantiles, nothing)
    found = [stages.apply(place) for place in range(stages.size())]
    return {stage.stageId(): stage.shuffleWriteRecords() for stage in found}


def rows_shuffled_since(earlier: dict[int, int], spark: SparkSession) -> int:
    """By the stages since then alone: of those before, some may be forgotten by now."""
    last = max(earlier, default=-1)
    return sum(rows for stage, rows in shuffles(spark).items() if stage > last)


# A hook sees every process that the command starts: none is too short-lived for it.
COUNTING_JVMS = """
import sys
started = []
def look(event, details):
    if event == "subprocess.Popen" and str(details[0]).rpartition("/")[2] == "java":
        started.append(details[0])
sys.addaudithook(look)
from codeanatomy_assets.cli import main
code = main(sys.argv[1:])
print(len(started), file=sys.stderr)
sys.exit(code)
"""


def jvms_started(built: BuiltState) -> tuple[str, int]:
    """How a build by the command went, in a process of its own, and the JVMs that it started."""
    arguments = ("build", built.repo.folder, "--state", built.settings.state, "--json")
    done = subprocess.run(
        [sys.executable, "-c", COUNTING_JVMS, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["mode"], int(done.stderr.split()[-1])


def test_a_body_edit_in_a_leaf_is_one_document_and_few_commits(built: BuiltState) -> None:
    edited = FILES["app/m3.py"].replace("return base(x)", "y = base(x)\n    return y")
    work = work_of(built, {"app/m3.py": edited})
    assert (work.documents, work.rebuilt) == (1, 1)
    assert work.commits <= 17
    assert work.slices <= 12
    assert work.data_files <= 12
    assert work.shuffled <= 60


def test_a_signature_change_indexes_those_that_name_it(built: BuiltState) -> None:
    work = work_of(built, {"app/core.py": "def base(x, y=None):\n    return [x, y]\n"})
    assert (work.documents, work.rebuilt) == (MODULES + 1, MODULES + 1)
    assert work.commits <= 20
    assert work.data_files <= 12
    assert work.shuffled <= 50 * (MODULES + 1)


def test_a_text_file_is_one_slice_of_one_table(built: BuiltState) -> None:
    work = work_of(built, {"README.md": "again\n"})
    assert (work.documents, work.rebuilt, work.slices) == (0, 0, 1)
    assert work.commits <= 5
    assert work.shuffled <= 4


def test_a_shuffle_is_counted(spark: SparkSession) -> None:
    earlier = shuffles(spark)
    assert rows_shuffled_since(earlier, spark) == 0
    assert spark.range(20).repartition(2).count() == 20
    assert rows_shuffled_since(earlier, spark) >= 20


def test_a_cold_update_starts_one_jvm_and_a_noop_none(built: BuiltState) -> None:
    built.repo.commit_files({"app/m2.py": FILES["app/m2.py"] + "\n\nx = f2(1)\n"})
    assert jvms_started(built) == ("incremental", 1)
    assert jvms_started(built) == ("noop", 0)
