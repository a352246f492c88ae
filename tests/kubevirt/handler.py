"""Stands in for virt-handler on all nodes, and for the guests: VMIs run, migrate and end, in their status alone.

It writes as virt-handler's service account, from the node in question, since KubeVirt's webhooks take changes of a
status from nobody else. One round takes a VMI one step on, so that virt-controller sees each of them.

With a migration a guest gets the CPUs and the memory that were plugged, and the disks that its volumes were moved to.

Not here: disks, addresses of guests, guest agents, plugged disks, memory dumps, migrations between clusters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.cluster.client import Client
from tests.kubevirt.orders import World, condition, key, now
from tests.manifests import Object

__all__ = ["Handler"]

NOT_SHARED = "cannot migrate VMI: PVC disk is not shared, live migration requires that all PVCs must be shared"
ORDERED = "migration out job: ordered to fail"
MISMATCH = "guest CPU doesn't match specification: missing features: vmx-apicv-xapic"
REQUEST, SOURCE = "evacuationNodeName", "kubevirt.io/eviction-source"
PORTS = {"49152": 0}
OUTDATED = "kubevirt.io/outdatedLauncherImage"
# What was asked for and takes effect with a migration, and the labels with it (hotplugCPU, hotplugMemory and
# removeMigratedVolumes in pkg/virt-handler/migration-target.go).
CHANGES = ("HotVCPUChange", "HotMemoryChange", "VolumesChange")
CHANGE_LABELS = tuple(
    f"kubevirt.io/{name}"
    for name in ("vmi-pod-cpu-resource-limits", "vmi-pod-memory-resource-requests", "memory-hotplug-overhead-ratio")
)


class Handler:
    """`clients` gives the one to write with from a node."""

    def __init__(self, clients: Callable[[str], Client]) -> None:
        self._clients = clients

    def steps(self, world: World) -> Iterator[Callable[[], None]]:
        """What there is to look into; each can be done or fail on its own."""
        for vmi in world.vmis:
            if node := vmi.get("status", {}).get("nodeName"):
                yield partial(self._look_after, vmi, node, world)

    def _look_after(self, vmi: Object, node: str, world: World) -> None:
        changed = copy.deepcopy(vmi)
        writer = _step(changed, world)
        if changed != vmi:
            self._clients(writer or node).update(changed)


def _step(vmi: Object, world: World) -> str | None:
    """Changes the VMI to what it is next. Answers with the node that says so, if it is not the guest's."""
    status, orders = vmi["status"], world.orders
    if status["phase"] not in ("Scheduled", "Running"):
        return None
    if status["nodeName"] not in world.handled:
        return _prepare_target(status, world)
    if key(vmi) in orders.crashes:
        status["phase"] = "Failed"
    elif key(vmi) in orders.powers_off or _must_end(vmi, world):
        status["phase"] = "Succeeded"
    elif status["phase"] == "Scheduled":
        _start(status)
    if status["phase"] != "Running":
        return None
    _report_whether_it_can_migrate(status, key(vmi) not in orders.fixed)
    return _migrate(vmi, world)


def _must_end(vmi: Object, world: World) -> bool:
    """Whether somebody deletes it, or the pod that it runs in: the launcher shuts the guest down."""
    if "deletionTimestamp" in vmi["metadata"]:
        return True
    node = vmi["status"]["nodeName"]
    here = [pod for pod in world.pods_of(vmi) if pod["spec"].get("nodeName") == node]
    return vmi["status"]["phase"] == "Running" and any("deletionTimestamp" in pod["metadata"] for pod in here)


def _start(status: Object) -> None:
    status.update(phase="Running", selinuxContext="none")
    stamps = status.setdefault("phaseTransitionTimestamps", [])
    stamps.append({"phase": "Running", "phaseTransitionTimestamp": now()})
    _set(status, condition("Ready"))


def _set(status: Object, row: Object) -> None:
    """Puts the condition there, unless it says so already."""
    rows = status.setdefault("conditions", [])
    old = next((each for each in rows if each["type"] == row["type"]), None)
    if old is None or (old["status"], old.get("reason")) != (row["status"], row.get("reason")):
        status["conditions"] = [*(each for each in rows if each is not old), row]


def _report_whether_it_can_migrate(status: Object, can: bool) -> None:
    if can:
        row = condition("LiveMigratable")
    else:
        row = condition("LiveMigratable", "False", reason="DisksNotLiveMigratable", message=NOT_SHARED)
    _set(status, row)
    status["migrationMethod"] = "LiveMigration" if can else "BlockMigration"


def _prepare_target(status: Object, world: World) -> str | None:
    """The target of a migration that virt-controller has set up listens, if there is one; answers with its node."""
    state: Object = status.get("migrationState") or {}
    target = state.get("targetNode")
    if target not in world.handled or not state.get("targetPod") or state.get("targetNodeAddress") or _is_over(state):
        return None
    state.update(targetNodeAddress="10.0.0.1", targetDirectMigrationNodePorts=PORTS)
    return str(target)


def _is_over(state: Object) -> bool:
    return bool(state.get("endTimestamp") or state.get("failed"))


def _migrate(vmi: Object, world: World) -> str | None:
    """One step of a migration. Answers with the target's node, if that takes it."""
    if target := _prepare_target(vmi["status"], world):
        return target
    state: Object = vmi["status"].get("migrationState") or {}
    if not state.get("targetNodeAddress") or _is_over(state) or state["targetNode"] not in world.handled:
        return None
    if not state.get("startTimestamp"):
        state.update(startTimestamp=now(), mode="PreCopy")
    elif state.get("abortRequested"):
        _fail(state, "Live migration has been aborted", abortStatus="Succeeded")
    elif key(vmi) in world.orders.fails:
        _fail(state, f"Live migration failed error: operation failed: {ORDERED}")
    elif key(vmi) in world.orders.mismatches:
        _fail(state, f"Live migration failed error: operation failed: {MISMATCH}")
    elif key(vmi) not in world.orders.holds:
        _arrive(vmi, state, requested=key(vmi) in world.orders.stay_requested)
        return str(state["targetNode"])
    return None


def _fail(state: Object, why: str, **more: Any) -> None:
    state.update(failed=True, failureReason=why, endTimestamp=now(), **more)


def _arrive(vmi: Object, state: Object, *, requested: bool) -> None:
    """As the target's virt-handler sees it in: with that, an evacuation request has had its effect and goes.

    An eviction that is asked for in that very moment may make it again: it is then for the node that it left.
    """
    moment = now()
    state.update(targetNodeDomainDetected=True, targetNodeDomainReadyTimestamp=moment)
    state.update(endTimestamp=moment, completed=True)
    labels, status = vmi["metadata"].setdefault("labels", {}), vmi["status"]
    labels["kubevirt.io/nodeName"] = state["targetNode"]
    labels.pop(OUTDATED, None)
    vmi["metadata"].get("annotations", {}).pop(SOURCE, None)
    status["nodeName"] = state["targetNode"]
    status.pop("launcherContainerImageVersion", None)
    _apply_changes(vmi, labels)
    if not requested:
        status.pop(REQUEST, None)


def _apply_changes(vmi: Object, labels: Object) -> None:
    """What was asked for while the guest ran is so from now on."""
    domain, status = vmi["spec"]["domain"], vmi["status"]
    status["conditions"] = [row for row in status["conditions"] if row["type"] not in CHANGES]
    for label in CHANGE_LABELS:
        labels.pop(label, None)
    status.pop("migratedVolumes", None)
    if cpu := domain.get("cpu"):
        status["currentCPUTopology"] = {each: cpu.get(each, 1) for each in ("sockets", "cores", "threads")}
    if guest := (domain.get("memory") or {}).get("guest"):
        status["memory"] |= {"guestCurrent": guest, "guestRequested": guest}
