"""The definitions as text that shows in review: every asset, check, job, sensor and schedule. Run it to write it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dagster as dg

from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.settings import Settings

PATH = Path(__file__).with_name("snapshots") / "definitions.json"


def snapshot(definitions: dg.Definitions) -> dict[str, Any]:
    repository = definitions.get_repository_def()
    specs = sorted(definitions.resolve_all_asset_specs(), key=lambda spec: spec.key.to_user_string())
    return {
        "assets": {spec.key.to_user_string(): _asset(repository, spec) for spec in specs},
        "checks": _checks(repository),
        "jobs": {job.name: _job(job) for job in repository.get_all_jobs() if not job.name.startswith("__")},
        "sensors": {
            sensor.name: {
                "jobs": _listed(target.job_name for target in sensor.targets),
                "minimum_interval_seconds": sensor.minimum_interval_seconds,
                "default_status": sensor.default_status.value,
            }
            for sensor in repository.sensor_defs
        },
        "schedules": {
            schedule.name: {"cron": schedule.cron_schedule, "job": schedule.job_name}
            for schedule in repository.schedule_defs
        },
        "resources": {name: _config(found) for name, found in sorted(repository.get_top_level_resources().items())},
    }


def _asset(repository: dg.RepositoryDefinition, spec: dg.AssetSpec) -> dict[str, str]:
    step = repository.assets_defs_by_key[spec.key].op
    return {
        "group": str(spec.group_name),
        "step": step.name,
        "deps": _listed(dep.asset_key.to_user_string() for dep in spec.deps),
        "kinds": _listed(spec.kinds),
        "owners": _listed(spec.owners),
        "tags": _listed(f"{name}={value}" for name, value in spec.tags.items() if name.startswith("codeanatomy/")),
        "columns": ", ".join(f"{column.name} {column.type}" for column in _columns(spec)),
        "partitions": _partitions(spec.partitions_def),
        "pools": _listed(step.pools),
    }


def _columns(spec: dg.AssetSpec) -> Iterable[dg.TableColumn]:
    schema = spec.metadata.get("dagster/column_schema")
    return schema.columns if isinstance(schema, dg.TableSchema) else ()


def _checks(repository: dg.RepositoryDefinition) -> dict[str, str]:
    """By asset and name: whether a failure keeps what comes after from running."""
    found = {
        f"{check.asset_key.to_user_string()}: {check.name}": "blocking" if check.blocking else "not blocking"
        for assets in repository.assets_defs_by_key.values()
        for check in assets.check_specs
    }
    return dict(sorted(found.items()))


def _job(job: dg.JobDefinition) -> dict[str, Any]:
    return {
        "assets": _listed(key.to_user_string() for key in job.asset_layer.selected_asset_keys),
        "steps": {node.name: _config(node.definition) for node in sorted(job.nodes, key=lambda node: node.name)},
        "tags": dict(sorted(job.tags.items())),
        "partitions": _partitions(job.partitions_def),
        "resources": _listed(job.get_required_resource_defs()),
    }


def _config(definition: Any) -> str:
    """The fields that a launchpad offers, with type and default."""
    schema = definition.config_schema.as_field() if definition.has_config_field else None
    fields = getattr(schema.config_type, "fields", {}) if schema else {}
    return _listed(f"{name}: {_type(field.config_type)}{_default(field)}" for name, field in fields.items())


def _type(config_type: Any) -> str:
    inner = getattr(config_type, "inner_type", None)
    return (
        f"{config_type.kind.name.lower()}({_type(inner)})" if inner else str(config_type.given_name or config_type.key)
    )


def _default(field: Any) -> str:
    return f" = {field.default_value!r}" if field.default_provided else ""


def _partitions(partitions: dg.PartitionsDefinition[str] | None) -> str:
    return str(partitions.name) if isinstance(partitions, dg.DynamicPartitionsDefinition) else str(partitions)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def render() -> str:
    return json.dumps(snapshot(build_definitions(Settings())), indent=1) + "\n"


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(render())
