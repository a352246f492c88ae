"""VMIs that the settings of the KubeVirt object leave as they are."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..record import Record

__all__ = ["LEFT", "OUTDATED", "UNMOVABLE"]

OUTDATED, UNMOVABLE = "outdated", "unmovable"


def _left(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstanceMigration):
        return (OUTDATED,) if record.updates and not record.finished else ()
    if not isinstance(record, VirtualMachineInstance) or record.final or not record.node:
        return ()
    old = (OUTDATED,) if record.outdated else ()
    return (*old, UNMOVABLE) if record.migratable == "False" and not record.strategy else old


# Those in launchers of an earlier release, with the migrations by which KubeVirt replaces them; and those that can't be
# live-migrated, and whose eviction strategy is the cluster's default.
LEFT = Index("VMIs that are left as they are", _left, of=(VirtualMachineInstance, VirtualMachineInstanceMigration))
