"""What has to hold of a write to a VM, by the VM itself: nobody has paused it, saves it, or wants it off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from exporter.domain.drains.drain_stop import STOPPED_FOR_DRAIN
from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Place, Taken
from tests.manifests import Object

__all__ = ["ENDED", "NODES", "PODS", "READ", "SIDECARS", "VMIS", "VMS", "kept_off", "paused", "saved", "started"]

READ = 6.0  # seconds
VMS: Place = ("kubevirt.io", "virtualmachines")
VMIS: Place = ("kubevirt.io", "virtualmachineinstances")
PODS: Place = ("", "pods")
NODES: Place = ("", "nodes")
ENDED = ("Succeeded", "Failed")
SIDECARS = "system:serviceaccount:kubevirt:steward-reconcile"
OFF = ("Halted", "Manual")
PAUSED = "steward.kubevirt-steward.io/paused"
WITH_SAVED = ("delete_orphan_pdb", "guard_instancetype")  # they don't ask whether a VM is saved


def paused(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    """`plan.vm` or the object itself: both were paused before anything was read."""
    for key in {(*VMS, write.key[2], plan.vm), write.key}:
        if history.lasted(key, write.at, READ, lambda each: _notes(each).get(PAUSED, "false") != "false"):
            yield f"is of {key[1]} {key[3]}, which is paused"


def saved(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if plan.remediation in WITH_SAVED:
        return
    for field in ("snapshotInProgress", "restoreInProgress"):
        if history.lasted((*VMS, write.key[2], plan.vm), write.at, READ, partial(_has, field)):
            yield f"is of VM {plan.vm}, which has a {field}"


def started(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after, name = write.before or {}, write.after or {}, write.key[3]
    note = json.loads(_notes(before).get(STOPPED_FOR_DRAIN) or "{}")
    if note.get("vm") != before["metadata"]["uid"]:
        yield f"starts VM {name}, which was not stopped for a drain"
        return
    if after.get("spec", {}).get("runStrategy") != note["runStrategy"]:
        yield f"sets another run strategy of VM {name} than {note['runStrategy']}, which it had"
    if _decided(write, history):
        yield f"starts VM {name}, whose run strategy somebody has set since"
    if history.lasted((*VMIS, *write.key[2:]), write.at, READ, lambda each: each is not None):
        yield f"starts VM {name}, which has a VMI"
    if history.lasted((*NODES, "", note["node"]), write.at, READ, kept_off):
        yield f"starts VM {name}, and the drain of {note['node']} is not over"
    for pod in history.there(PODS, write.key[2], write.at, for_seconds=READ):
        of_vm = (pod["metadata"].get("labels") or {}).get("vm.kubevirt.io/name") == name
        if of_vm and pod.get("status", {}).get("phase") not in ENDED:
            yield f"starts VM {name}, of which pod {pod['metadata']['name']} is left"


def _decided(write: Taken, history: AuditHistory) -> bool:
    """Whether the VM has had another run strategy since it was stopped last, but for what the sidecar set: each stop
    names the VMI that it ended.
    """
    last = _stopped(write.before)
    for each in reversed([each for each in history.states(write.key) if each.since < write.at]):
        if _stopped(each.thing) != last:
            return False
        if each.by != SIDECARS and ((each.thing or {}).get("spec") or {}).get("runStrategy") not in OFF:
            return True
    return False


def _stopped(vm: Object | None) -> str:
    """The UID of the VMI that was stopped for a drain; empty for none."""
    return str(json.loads(_notes(vm).get(STOPPED_FOR_DRAIN) or "{}").get("vmi", ""))


def kept_off(node: Object | None) -> bool:
    spec = (node or {}).get("spec") or {}
    return bool(spec.get("unschedulable")) or any("drain" in each["key"] for each in spec.get("taints") or ())


def _has(field: str, vm: Object | None) -> bool:
    return bool(((vm or {}).get("status") or {}).get(field))


def _notes(thing: Object | None) -> dict[str, str]:
    return ((thing or {}).get("metadata") or {}).get("annotations") or {}
