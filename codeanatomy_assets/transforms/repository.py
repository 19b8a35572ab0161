"""Changes of the snapshot → what the commit did to each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeanatomy_assets.contracts.repository import FILE_CHANGES
from codeanatomy_assets.contracts.table import Stage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

READ_OF_SNAPSHOT = ("sha256", "is_python", "skip_reason")
READING_STAGES = (Stage.SYNTAX, Stage.SYMBOLS)


def file_changes(snapshot_changes: DataFrame, renames: DataFrame, commit: str) -> DataFrame:
    """`inc_file_changes` of a commit, from the netted changes of `repo_snapshot` (its rows, and `delta`).

    `renames` (old_path, new_path) is git's opinion; a pair counts only when the feed agrees that the
    one went and the other came.
    """
    from pyspark.sql import functions as F

    old = snapshot_changes.where("delta < 0").alias("old")
    new = snapshot_changes.where("delta > 0").alias("new")
    both = old.join(new, F.col("old.file_id") == F.col("new.file_id"), "full")
    renamed = F.broadcast(_agreed(renames, old, new)).alias("rename")
    paired = both.join(renamed, F.col("rename.new_path") == F.col("new.path"), "left")
    came, went = F.col("old.file_id").isNull(), F.col("new.file_id").isNull()
    kind = (
        F.when(went, "deleted")
        .when(came & F.col("rename.old_path").isNotNull(), "renamed")
        .when(came, "added")
        .otherwise("modified")
    )
    return paired.select(
        F.lit(commit).alias("commit"),
        F.coalesce("new.file_id", "old.file_id").alias("file_id"),
        F.coalesce("new.path", "old.path").alias("path"),
        kind.alias("change_kind"),
        F.when(came, F.col("rename.old_path")).alias("old_path"),
        F.coalesce("old.sha256", "rename.sha256").alias("old_sha256"),
        F.col("new.sha256").alias("new_sha256"),
        _stages_touched().alias("stages_touched"),
    ).select(*FILE_CHANGES.column_names)


def _agreed(renames: DataFrame, old: DataFrame, new: DataFrame) -> DataFrame:
    """The renames that the feed bears out, each with the content that the old path had."""
    from pyspark.sql import functions as F

    went = old.select(F.col("old.path").alias("old_path"), F.col("old.sha256").alias("sha256"))
    came = new.select(F.col("new.path").alias("new_path"))
    return renames.join(went, "old_path").join(came, "new_path", "left_semi")


def _stages_touched() -> Column:
    """The stages that read something of the file that changed: only Python text goes past the first."""
    from pyspark.sql import functions as F

    python = F.coalesce("new.is_python", F.lit(False)) | F.coalesce("old.is_python", F.lit(False))
    same = F.lit(True)
    for column in READ_OF_SNAPSHOT:
        same = same & F.col(f"old.{column}").eqNullSafe(F.col(f"new.{column}"))
    repository = F.array(F.lit(Stage.REPOSITORY.value))
    reading = F.array(*(F.lit(stage.value) for stage in (Stage.REPOSITORY, *READING_STAGES)))
    return F.when(python & ~same, reading).otherwise(repository)
