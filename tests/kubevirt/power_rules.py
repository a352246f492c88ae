"""What has to hold of a write to a VM, by the VM itself: nobody has paused it, saves it, or wants it off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Place, Taken
from tests.manifests import Object

__all__ = ["ENDED", "NODES", "PODS", "READ", "SIDECARS", "VMIS", "VMS", "kept_off", "notes", "paused", "saved"]

READ = 6.0  # seconds
VMS: Place = ("kubevirt.io", "virtualmachines")
VMIS: Place = ("kubevirt.io", "virtualmachineinstances")
PODS: Place = ("", "pods")
NODES: Place = ("", "nodes")
ENDED = ("Succeeded", "Failed")
SIDECARS = "system:serviceaccount:kubevirt:steward-reconcile"
PAUSED = "steward.kubevirt-steward.io/paused"


def paused(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    """`plan.vm` or the object itself: both were paused before anything was read."""
    for key in {(*VMS, write.key[2], plan.vm), write.key}:
        if history.lasted(key, write.at, READ, lambda each: notes(each).get(PAUSED, "false") != "false"):
            yield f"is of {key[1]} {key[3]}, which is paused"


def saved(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    for field in ("snapshotInProgress", "restoreInProgress"):
        if history.lasted((*VMS, write.key[2], plan.vm), write.at, READ, partial(_has, field)):
            yield f"is of VM {plan.vm}, which has a {field}"


def kept_off(node: Object | None) -> bool:
    spec = (node or {}).get("spec") or {}
    return bool(spec.get("unschedulable")) or any("drain" in each["key"] for each in spec.get("taints") or ())


def _has(field: str, vm: Object | None) -> bool:
    return bool(((vm or {}).get("status") or {}).get(field))


def notes(thing: Object | None) -> dict[str, str]:
    return ((thing or {}).get("metadata") or {}).get("annotations") or {}
