"""What people and platforms do in a namespace meanwhile, one act each: nothing of it is for the sidecar to repair."""

from __future__ import annotations

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.kubevirt.faulty import IDLE, VM_NAMES, Act, Faulty, create
from tests.kubevirt.installation import NODES
from tests.kubevirt.sizes import RESTORES, SNAPSHOT_API, SNAPSHOTS
from tests.manifests import Object

__all__ = ["LIFE"]

PAUSED = "steward.kubevirt-steward.io/paused"
DRAIN = "medik8s.io/drain"
KEPT = 12  # VMs besides those with a name of their own, snapshots, and IPAMClaims; more are cleared away


def restarted(at: Faulty) -> None:
    at.stage.act(at.name(), "restart")


def stopped_and_started(at: Faulty) -> None:
    name = at.name()
    at.stage.act(name, "stop")
    at.stage.wait_gone(name)
    at.stage.act(name, "start")


def migrated(at: Faulty) -> None:
    at.stage.act(at.name(), "migrate")


def evicted(at: Faulty) -> None:
    at.stage.evict(at.name())


def made_again(at: Faulty) -> None:
    """Deleted, and created under its name."""
    name = at.name()
    at.stage.client.delete(VMS, at.namespace, name)
    at.stage.wait_gone(name)
    create(at, name)


def cordoned(at: Faulty) -> None:
    at.stage.cordon(at.dice.choice(NODES[1:]))


def uncordoned(at: Faulty) -> None:
    for node in NODES:
        at.stage.uncordon(node)
        at.stage.untaint(node)


def tainted(at: Faulty) -> None:
    at.stage.taint(NODES[2], DRAIN)


def migration_fails(at: Faulty) -> None:
    order = at.stage.key(at.name())
    (at.stage.orders.fails.discard if order in at.stage.orders.fails else at.stage.orders.fails.add)(order)


def migration_hangs(at: Faulty) -> None:
    order = at.stage.key(at.name())
    (at.stage.orders.holds.discard if order in at.stage.orders.holds else at.stage.orders.holds.add)(order)


def saved(at: Faulty) -> None:
    """A snapshot that nobody waits for."""
    _snapshotted(at, "VirtualMachineSnapshot", {"source": _a_vm(at.name())})


def saved_and_restored(at: Faulty) -> None:
    name = at.dice.choice(("web", "old"))
    snapshot = f"s{at.next()}"
    at.sizes.snapshot(name, snapshot)
    at.stage.act(name, "stop")
    spec = {"target": _a_vm(name), "virtualMachineSnapshotName": snapshot}
    _snapshotted(at, "VirtualMachineRestore", spec)
    at.stage.wait_gone(name)
    at.stage.act(name, "start")


def _a_vm(name: str) -> Object:
    return {"apiGroup": VMS.group, "kind": "VirtualMachine", "name": name}


def _snapshotted(at: Faulty, kind: str, spec: Object) -> None:
    meta = {"namespace": at.namespace, "name": f"s{at.next()}"}
    at.stage.client.create({"apiVersion": SNAPSHOT_API, "kind": kind, "metadata": meta, "spec": spec})


def paused(at: Faulty) -> None:
    at.stage.client.patch(VMS, at.namespace, at.name(), {"metadata": {"annotations": {PAUSED: "by a person"}}})


def resumed(at: Faulty) -> None:
    for name in VM_NAMES:
        at.stage.client.patch(VMS, at.namespace, name, {"metadata": {"annotations": {PAUSED: None}}})


def claim_is_released(at: Faulty) -> None:
    """By its owner, who takes the finalizer off and deletes it."""
    found: list[Object] = at.stage.client.list(IPAM_CLAIMS, at.namespace)["items"]
    name = at.dice.choice([each["metadata"]["name"] for each in found])
    at.stage.client.patch(IPAM_CLAIMS, at.namespace, name, {"metadata": {"finalizers": None}})
    at.stage.client.delete(IPAM_CLAIMS, at.namespace, name)


def all_is_well(at: Faulty) -> None:
    """Nodes take VMs, migrations work, and what is missing or off is there and runs."""
    uncordoned(at)
    at.stage.orders.forget(at.namespace)
    there = {each["metadata"]["name"]: each for each in at.vms()}
    for name in VM_NAMES:
        if name not in there:
            create(at, name)
        elif STOPPED_FOR_DRAIN not in there[name]["metadata"].get("annotations", {}):
            at.stage.act(name, "start")


def cleared_away(at: Faulty) -> None:
    """The oldest of what others have left, so that an hour ends with no more than it began with."""
    for resource in (VMS, IPAM_CLAIMS, SNAPSHOTS, RESTORES):
        found = at.stage.client.list(resource, at.namespace)["items"]
        found.sort(key=lambda each: each["metadata"]["creationTimestamp"])
        names = [each["metadata"]["name"] for each in found]
        for name in [each for each in names if each not in (IDLE, *VM_NAMES)][:-KEPT]:
            if resource is IPAM_CLAIMS:
                at.stage.client.patch(resource, at.namespace, name, {"metadata": {"finalizers": None}})
            at.stage.client.delete(resource, at.namespace, name)


LIFE: tuple[Act, ...] = (
    *(restarted, stopped_and_started, migrated, evicted, made_again, cordoned, uncordoned, tainted),
    *(migration_fails, migration_hangs, saved, saved_and_restored, paused, resumed, claim_is_released),
    *(all_is_well, all_is_well, cleared_away, uncordoned, resumed),
)
