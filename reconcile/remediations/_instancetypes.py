"""What the remediations of instancetypes, preferences and their ControllerRevisions share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.model.kinds import virtual_machine
from exporter.model.kinds.kube_virt import KubeVirt
from exporter.model.kinds.namespace import Namespace
from exporter.model.record import Ref

from ..plan import Refused
from ..remediation import Scene

__all__ = ["LABEL", "ending", "kubevirt_of", "saving", "table"]

LABEL = "instancetype.kubevirt.io/object-"
"""What the labels begin with by which KubeVirt knows what a ControllerRevision is of."""


def table(value: Any) -> Mapping[str, Any]:
    """A map as it is; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def ending(scene: Scene, ref: Ref, whole: Mapping[str, Any]) -> Refused | None:
    """Refuses for an object that is being deleted, or whose namespace is."""
    if table(whole.get("metadata")).get("deletionTimestamp"):
        return Refused("not_being_deleted", f"{ref} is being deleted")
    if ref.namespace:
        namespace = scene.named(Namespace, ref.namespace, ref.namespace)
        if namespace is None or namespace.terminating:
            return Refused("namespace_active", f"namespace {ref.namespace} is being deleted")
    return None


def saving(scene: Scene, namespace: str, vm: str) -> Refused | None:
    """Refuses while a snapshot of a VM, or a restore into it, is in progress."""
    status = table((scene.whole(virtual_machine.KIND, namespace, vm) or {}).get("status"))
    for field, what in (("snapshotInProgress", "snapshot"), ("restoreInProgress", "restore")):
        if status.get(field):
            return Refused("no_snapshot_or_restore", f"{what} {status[field]} of VM {vm} is in progress")
    return None


def kubevirt_of(scene: Scene) -> KubeVirt | None:
    return min(scene.all(KubeVirt), key=lambda each: each.ref, default=None)
