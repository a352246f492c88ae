"""A VM is started as it was, once nothing is left of its drain."""

from __future__ import annotations

import json
from collections.abc import Iterator

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import ENDED, NODES, PODS, READ, SIDECARS, VMIS, kept_off, notes
from tests.manifests import Object

__all__ = ["RULE"]

OFF = ("Halted", "Manual")


def started(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after, name = write.before or {}, write.after or {}, write.key[3]
    note = json.loads(notes(before).get(STOPPED_FOR_DRAIN) or "{}")
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
    return str(json.loads(notes(vm).get(STOPPED_FOR_DRAIN) or "{}").get("vmi", ""))


RULE = started
