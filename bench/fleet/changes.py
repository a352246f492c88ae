"""What happens to a fleet while it is watched: a kind of change each, there and back again.

`CLAIM` opens and closes a finding that waits for nothing; it is what latencies are measured by. The others are what a
healthy fleet has all the time. Of the two of VMIs and of pods the second one changes nothing that the steward reads.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from demo.apiserver.resources import Obj

__all__ = ["CHANGES", "CLAIM", "LABEL", "MIX", "Change", "chosen"]

LABEL = "kubevirt.io/vm"


@dataclass(frozen=True)
class Change:
    """`apply` changes an object in place: there, or back."""

    kind: str
    meaning: str
    apply: Callable[[Obj, bool], None]

    def changed(self, obj: Obj, there: bool) -> Obj:
        made = copy.deepcopy(obj)
        self.apply(made, there)
        return made


def _vm(obj: Obj, there: bool) -> None:
    conditions = [each for each in obj["status"]["conditions"] if each["type"] != "RestartRequired"]
    if there:
        why = {"message": "a non-live-updatable field was changed in the template spec"}
        conditions.append({"type": "RestartRequired", "status": "True", **why})
    obj["status"]["conditions"] = conditions


def _vmi(obj: Obj, there: bool) -> None:
    for each in obj["status"]["conditions"]:
        if each["type"] == "LiveMigratable":
            each["status"] = "False" if there else "True"


def _vmi_unread(obj: Obj, there: bool) -> None:
    obj["status"]["memory"]["guestCurrent"] = "2097148Ki" if there else "2Gi"


def _pod(obj: Obj, there: bool) -> None:
    for each in obj["status"]["conditions"]:
        if each["type"] == "Ready":
            each["status"] = "False" if there else "True"


def _pod_unread(obj: Obj, there: bool) -> None:
    obj["status"]["containerStatuses"][0]["restartCount"] = int(there)


def _claim(obj: Obj, there: bool) -> None:
    labels = obj["metadata"].setdefault("labels", {})
    if there:
        labels.pop(LABEL, None)
    else:
        labels[LABEL] = obj["metadata"]["ownerReferences"][0]["name"]


def _node(obj: Obj, there: bool) -> None:
    time = f"2026-05-04T08:12:{31 if there else 41}Z"
    obj["metadata"]["annotations"]["kubevirt.io/heartbeat"] = time
    for each in obj["status"]["conditions"]:
        each["lastHeartbeatTime"] = time


CLAIM = "claim"
CHANGES = {
    "vm": Change("VirtualMachine", "a VM waits for a restart, or does no more", _vm),
    "vmi": Change("VirtualMachineInstance", "a VMI can't be migrated, or can again", _vmi),
    "vmi, unread": Change("VirtualMachineInstance", "its memory is ballooned", _vmi_unread),
    "pod": Change("Pod", "a launcher pod is not ready, or is again", _pod),
    "pod, unread": Change("Pod", "its container has started again", _pod_unread),
    CLAIM: Change("IPAMClaim", "a claim loses its label, or has it back: a finding opens or closes", _claim),
    "node": Change("Node", "the heartbeat of a node", _node),
}
MIX = {"vmi": 3, "vmi, unread": 3, "pod": 2, "pod, unread": 4, "vm": 2, "node": 4}  # beside the claims


def chosen(change: str, among: int, most: int) -> range:
    """The places of the objects that a change goes around: no two changes of one kind meet at an object."""
    return range(1 if change.endswith("unread") else 0, among, max(2, among // most))
