"""Partitions: one key per Python file, and two control keys that a run expands when it runs."""

from __future__ import annotations

import dagster as dg

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.event_storage import delete_dynamic_partitions

IMPACTED = "__impacted__"
ALL = "__all__"
CONTROL_KEYS = (IMPACTED, ALL)
# Of a run on ALL that nobody asked for: the state needs it, unless another run has built it by then.
NEEDED_TAG = "codeanatomy/needed"
FILES = dg.DynamicPartitionsDefinition(name="file_id")


def keys_of(context: dg.AssetExecutionContext) -> list[str]:
    """The keys a run was started on; Dagster can't record checks of a run that was started on none."""
    if context.has_partition_key or context.has_partition_key_range:
        return list(context.partition_keys)
    raise BadInput(
        f"{context.job_name} was launched on no partition: choose {IMPACTED} for what changed, or {ALL} for everything"
    )


def chosen_files(keys: list[str]) -> frozenset[str] | None:
    """The files a run was started on; None when it was started on a control key."""
    if any(key in CONTROL_KEYS for key in keys):
        return None
    return frozenset(keys)


def reconcile(instance: dg.DagsterInstance, file_ids: set[str]) -> None:
    """Make the keys those of the snapshot: files come and go, control keys stay, first."""
    name = FILES.name
    assert name is not None
    known = set(instance.get_dynamic_partitions(name))
    missing = [key for key in CONTROL_KEYS if key not in known] + sorted(file_ids - known)
    if missing:
        instance.add_dynamic_partitions(name, missing)
    delete_dynamic_partitions(instance, name, sorted(known - file_ids - set(CONTROL_KEYS)))
