"""The codeanatomy command in a process that kills itself, or its whole group, at a named place.

    python -m codeanatomy_assets_tests.crashes.killed_command PLACE MODE WAY DELAY MARKS build REPO --state DIR

A place is `KIND` or `KIND:WHERE`; `ARMED` lists them. MODE is `group` or `alone`: the Python process without its JVM,
indexer and git. WAY is `light`, or `spark`: the tables that the place is about are written by Spark, few rows or not.
DELAY is for `inside`: seconds after the stage began. MARKS is a file that tells how far it came.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from deltalake import write_deltalake

from codeanatomy_assets.cli import main
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.extraction.checkout import Checkout
from codeanatomy_assets.extraction.private_store import PrivateStore
from codeanatomy_assets.orchestration import project, stages, vacuum
from codeanatomy_assets.orchestration import resources as run_resources
from codeanatomy_assets.orchestration.assets import ledger as ledger_assets
from codeanatomy_assets.orchestration.assets import stage_assets
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import attempts, delta_store
from codeanatomy_assets.storage import ledger as ledger_module
from codeanatomy_assets.storage.delta_store import DeltaStore
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets.storage.stored_files import StoredFiles

GROUP, ALONE = "group", "alone"
LIGHT, SPARK = "light", "spark"
FOOTER = b"PAR1"
FILES_BEFORE_DEATH = 3

# Importing the project registers the bodies of its stages.
assert project.__name__


class Death:
    """The end, at the place it was meant for."""

    def __init__(self, place: str, mode: str, delay: float, marks: Path) -> None:
        self.kind, _, self.where = place.partition(":")
        self.place = place
        self.mode = mode
        self.delay = delay
        self._marks = marks.open("a", buffering=1)

    def mark(self, text: str) -> None:
        self._marks.write(f"{text}\n")

    def come(self, *_: Any, **__: Any) -> None:
        self.mark(f"killed at {self.place}")
        if self.mode == GROUP:
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def before(self, owner: Any, name: str, when: Callable[..., bool] = lambda *_, **__: True) -> None:
        """Die instead of a call."""
        original = getattr(owner, name)

        def called(*given: Any, **named: Any) -> Any:
            if when(*given, **named):
                self.come()
            return original(*given, **named)

        setattr(owner, name, called)

    def after(self, owner: Any, name: str, when: Callable[..., bool] = lambda *_, **__: True) -> None:
        """Die when a call returns."""
        original = getattr(owner, name)

        def called(*given: Any, **named: Any) -> Any:
            found = original(*given, **named)
            if when(*given, **named):
                self.come()
            return found

        setattr(owner, name, called)


def arm_stage(death: Death) -> None:
    """Before or after a stage, or some time after it began."""
    original = stages.run_stage

    def run_stage(run: Any, stage: Any, tables: Any) -> Any:
        death.mark(f"in {stage}")
        is_meant = stage.value == death.where
        if is_meant and death.kind == "before":
            death.come()
        if is_meant and death.kind == "inside":
            threading.Timer(death.delay, death.come).start()
        done = original(run, stage, tables)
        if is_meant and death.kind == "after":
            death.come()
        death.mark(f"after {stage}")
        return done

    setattr(stage_assets, original.__name__, run_stage)


def arm_data_files(death: Death) -> None:
    """When a table's data files lie there, and no entry of its log names them."""

    def watched(original: Callable[..., Any], address_of: Callable[..., str]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            folder = Path(address_of(*given).removeprefix("file://"))
            if folder.parent.name == death.where:
                known = set(folder.rglob("*.parquet"))
                threading.Thread(target=watch, args=(folder, known), daemon=True).start()
            return original(*given, **named)

        return called

    def watch(folder: Path, known: set[Path]) -> None:
        while not any(is_whole(file) for file in set(folder.rglob("*.parquet")) - known):
            time.sleep(0.0001)
        death.come()

    light = watched(write_deltalake, lambda handle, *_: str(handle.table_uri))
    spark = watched(DeltaStore._save_spark, lambda _, write, *__: str(write.ref.path))
    for owner, name, way in (
        (delta_store, "write_deltalake", light),
        (ledger_module, "write_deltalake", light),
        (DeltaStore, "_save_spark", spark),
    ):
        setattr(owner, name, way)


def is_whole(file: Path) -> bool:
    """Whether a Parquet file has been written to its end, rather than begun."""
    try:
        with file.open("rb") as content:
            content.seek(-len(FOOTER), os.SEEK_END)
            return content.read() == FOOTER
    except OSError:
        return False


def arm_half_manifest(death: Death) -> None:
    """In the middle of writing the checkout's manifest."""
    original = Checkout._save

    def save(self: Checkout, files: Any) -> None:
        original(self, files)
        text = self._manifest.read_text()
        self._manifest.write_text(text[: len(text) // 2])
        death.come()

    setattr(Checkout, original.__name__, save)


def arm_nth(owner: Any, name: str, times: int) -> Callable[[Death], None]:
    """When a call returns for the so-manyth time."""

    def arm(death: Death) -> None:
        done: list[int] = []

        def is_enough(*_: Any, **__: Any) -> bool:
            done.append(1)
            return len(done) == times

        death.after(owner, name, is_enough)

    return arm


ARMED: dict[str, Callable[[Death], None]] = {
    "before": arm_stage,
    "after": arm_stage,
    "inside": arm_stage,
    "written": lambda death: death.after(WritingRun, "replace", lambda _, table, *__: table.name == death.where),
    "data_files": arm_data_files,
    "locked": lambda death: death.before(attempts, "clear_work"),
    "fetched": lambda death: death.before(PrivateStore, "name_tree"),
    "restore": lambda death: death.before(DeltaStore, "restore"),
    "restored_one": arm_nth(DeltaStore, "restore", 1),
    "restored_three": arm_nth(DeltaStore, "restore", 3),
    "restored_all": lambda death: death.before(Ledger, "append"),
    "recovered": lambda death: death.after(attempts, "recover"),
    "checkout_emptied": lambda death: death.before(Checkout, "_remove"),
    "checkout_half": arm_nth(Checkout, "_write", 1),
    "checkout_manifest": arm_half_manifest,
    "profiles": lambda death: death.before(ledger_assets, "write_profiles"),
    "before_ledger": lambda death: death.before(Ledger, "append"),
    "after_ledger": lambda death: death.after(Ledger, "append"),
    "before_events": lambda death: death.after(run_resources.RunSession, "finish"),
    "reconciled": lambda death: death.after(ledger_assets, "reconcile"),
    "vacuum_row": lambda death: death.before(Ledger, "append"),
    "vacuum_files": arm_nth(StoredFiles, "delete", FILES_BEFORE_DEATH),
    "vacuum_ledger": lambda death: death.after(vacuum, "compact_ledger"),
}


def write_through_spark(death: Death) -> None:
    """Take the way of bulk for the table or stage that the place names, or for all."""
    original = DeltaStore.replace_files

    def replace_files(self: DeltaStore, state: Any, table: Table, *given: Any, **named: Any) -> Any:
        usual = self.limits
        is_meant = death.where in ("", table.storage_name, table.stage.value)
        self.limits = replace(usual, rows=0) if is_meant else usual
        try:
            return original(self, state, table, *given, **named)
        finally:
            self.limits = usual

    setattr(DeltaStore, original.__name__, replace_files)


def run(place: str, mode: str, way: str, delay: str, marks: str, *arguments: str) -> int:
    death = Death(place, mode, float(delay), Path(marks))
    ARMED[death.kind](death)
    if way == SPARK:
        write_through_spark(death)
    return main(arguments)


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
