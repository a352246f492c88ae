"""What forbids a write whichever remediation plans it, and how whole objects are read without trusting their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.model.kind import ApiKind
from exporter.model.kinds.namespace import Namespace
from exporter.model.record import Record, Ref

from ..fresh import UnreadError
from ..plan import Refused
from ..remediation import Scene

__all__ = ["NO_SNAPSHOT_OR_RESTORE", "controller", "ending", "saving", "table", "tables", "texts", "wholes"]

NO_SNAPSHOT_OR_RESTORE = {"no_snapshot_or_restore": "neither a snapshot of the VM nor a restore into it is in progress"}


def table(value: Any) -> Mapping[str, Any]:
    """A map as it is; an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def tables(value: Any) -> list[Mapping[str, Any]]:
    """The maps of a list; none in place of anything else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def texts(value: Any) -> list[str]:
    """The texts of a list, such as finalizers; none in place of anything else."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def wholes(scene: Scene, kind: ApiKind[Any], records: Iterable[Record]) -> list[Mapping[str, Any]]:
    """The objects of the records, as far as they still exist; those still to be read are all read at once."""
    return [found for found in _each(scene, kind, records) if found is not None]


def _each(scene: Scene, kind: ApiKind[Any], records: Iterable[Record]) -> Iterator[Mapping[str, Any] | None]:
    unread: UnreadError | None = None
    for record in records:
        try:
            yield scene.whole(kind, record.namespace, record.name)
        except UnreadError as error:
            unread = error
    if unread is not None:
        raise unread


def ending(scene: Scene, ref: Ref, whole: Mapping[str, Any]) -> Refused | None:
    """Refuses for an object that is being deleted, or whose namespace is; the remediation reads namespaces."""
    if table(whole.get("metadata")).get("deletionTimestamp"):
        return Refused("not_being_deleted", f"{ref} is being deleted")
    if ref.namespace:
        namespace = scene.named(Namespace, ref.namespace, ref.namespace)
        if namespace is None or namespace.terminating:
            return Refused("namespace_active", f"namespace {ref.namespace} is being deleted")
    return None


def saving(vm: Mapping[str, Any]) -> Refused | None:
    """Refuses while the status of a VM, which is whole, names a snapshot or a restore: KubeVirt keeps it as it is."""
    status, name = table(vm.get("status")), table(vm.get("metadata")).get("name")
    for field, what in (("snapshotInProgress", "snapshot"), ("restoreInProgress", "restore")):
        if status.get(field):
            return Refused("no_snapshot_or_restore", f"{what} {status[field]} of VM {name} is in progress")
    return None


def controller(whole: Mapping[str, Any]) -> str:
    """Kind and name of the object that controls this one; empty where none does."""
    for owner in tables(table(whole.get("metadata")).get("ownerReferences")):
        if owner.get("controller") or owner.get("kind") == "VirtualMachinePool":
            return f"{owner.get('kind')} {owner.get('name')}"
    return ""
