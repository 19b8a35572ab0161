"""Jobs: what is run as one piece. Only update_job and full_refresh_job move the state to another commit."""

from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from pydantic import Field

from codeanatomy_assets.contracts import graph
from codeanatomy_assets.orchestration.assets.stage_assets import WRITER_POOL
from codeanatomy_assets.orchestration.export import FORMATS, export
from codeanatomy_assets.orchestration.failures import plain_failures
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.resources import FULL_REFRESH_JOB, UPDATE_JOB, BuiltCommits
from codeanatomy_assets.orchestration.revisions import built_commit
from codeanatomy_assets.orchestration.vacuum import report_as_text, retention_of, vacuum
from codeanatomy_assets.orchestration.verify import verify
from codeanatomy_assets.storage.state_folder import StateFolder

WRITES = {"codeanatomy/writes": "true"}
READS = {"codeanatomy/writes": "false"}

update_job = dg.define_asset_job(
    UPDATE_JOB,
    selection=dg.AssetSelection.all(),
    tags=WRITES,
    description="Bring the graph to HEAD, or to the commit that the configuration names. Choose the partition "
    "`__impacted__`: what the commit touches is rebuilt; on `__all__`, everything.",
)

full_refresh_job = dg.define_asset_job(
    FULL_REFRESH_JOB,
    selection=dg.AssetSelection.all(),
    tags=WRITES,
    description="Build everything anew at HEAD, whatever changed. Choose the partition `__all__`.",
)


class VerifyConfig(dg.Config):
    """How much is verified."""

    commits: int = Field(default=1, ge=1, description="How many of the last built commits, newest first.")


class PublishConfig(dg.Config):
    """What is published, and where."""

    commit: str = Field(
        default="", description="A built commit: its first digits, a branch or a tag; empty for the last."
    )
    folder: str = Field(default="", description="Folder to write to; empty for published/COMMIT in the state.")
    formats: list[str] = Field(default=["parquet"], description=f"Some of {', '.join(FORMATS)}.")


class VacuumConfig(dg.Config):
    """What is kept; nothing told is what the settings keep."""

    keep_commits: int | None = Field(default=None, ge=0, description="Keep the commits built last, so many.")
    keep_days: float | None = Field(default=None, ge=0, description="Keep what was built in the last days.")
    grace_hours: float = Field(default=1.0, ge=0, description="Keep what a reader may still be reading since.")
    dry_run: bool = Field(default=False, description="Only say what would go.")


@dg.op(required_resource_keys={"built"}, out=dg.Out(dg.Nothing))
def verify_commits(context: dg.OpExecutionContext, config: VerifyConfig) -> None:
    """Compare built commits with builds from scratch; fails with the first rows that differ."""
    built: BuiltCommits = context.resources.built
    with plain_failures(built.settings):
        found = list(verify(built.settings, built.spark.engine, built.progress, config.commits))
    lines = [line for each in found for line in each.lines()]
    if any(each.differences for each in found):
        raise dg.Failure(description="\n".join(lines), allow_retries=False)
    for line in lines:
        built.progress.say(line)
    context.add_output_metadata({"commits": len(found), "rows": sum(each.rows for each in found)})


@dg.op(required_resource_keys={"built"}, out=dg.Out(dg.Nothing))
def publish_graph(context: dg.OpExecutionContext, config: PublishConfig) -> None:
    """Write nodes, edges and props of a built commit as files."""
    built: BuiltCommits = context.resources.built
    with plain_failures(built.settings):
        row = built_commit(built.settings, config.commit or None)
        folder = Path(config.folder) if config.folder else StateFolder(built.settings.state).published / row.commit
        tables = [table.name for table in graph.TABLES]
        for line in export(built.settings, folder, row.commit, tables, config.formats):
            built.progress.say(line)
    context.add_output_metadata({"folder": dg.MetadataValue.path(str(folder)), "commit": short(row.commit)})


@dg.op(required_resource_keys={"built"}, out=dg.Out(dg.Nothing), pool=WRITER_POOL)
def vacuum_state(context: dg.OpExecutionContext, config: VacuumConfig) -> None:
    """Let go of commits past the retention, and free what only they needed."""
    built: BuiltCommits = context.resources.built
    with plain_failures(built.settings):
        retention = retention_of(built.settings, config.keep_commits, config.keep_days, config.grace_hours)
        done = vacuum(built.settings, built.progress, retention, config.dry_run)
    for line in report_as_text(done).splitlines():
        built.progress.say(line)
    context.add_output_metadata({"files": done["files"], "bytes": done["bytes"], "let_go": len(done["let_go"])})


@dg.job(tags=READS)
def verify_job() -> None:
    """Compare the last built commits, row by row, with builds from scratch in a temporary state."""
    verify_commits()


@dg.job(tags=READS)
def publish_job() -> None:
    """Write the graph of a built commit (`cpg_nodes`, `cpg_edges`, `cpg_props`) as files to a folder."""
    publish_graph()


@dg.job(tags=WRITES)
def vacuum_job() -> None:
    """Let go of built commits past the retention; the state stays at its commit."""
    vacuum_state()


JOBS: list[dg.JobDefinition | UnresolvedAssetJobDefinition] = [
    update_job,
    full_refresh_job,
    verify_job,
    vacuum_job,
    publish_job,
]
READING_JOBS = frozenset({verify_job.name, publish_job.name})
