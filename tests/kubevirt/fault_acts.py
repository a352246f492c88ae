"""What goes wrong in a namespace within an hour, one thing at a time, and what people and platforms do meanwhile.

Each act may fail as it may for a person (the object changed, KubeVirt refuses): then nothing has happened.
"""

from __future__ import annotations

import contextlib
import copy
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from reconcile.remediations.guard_instancetype import ALLOWED
from tests.cluster import fleet
from tests.cluster.client import ApiError
from tests.cluster.resources import IPAM_CLAIMS, PDBS, VMS
from tests.kubevirt.installation import NODES
from tests.kubevirt.repairs import request_to_leave
from tests.kubevirt.sizes import INSTANCETYPE, KINDS, SNAPSHOT_API, Sizes
from tests.kubevirt.stage import Stage
from tests.manifests import Object

__all__ = ["ACTS", "STRANGER", "Faulty", "begin", "happen"]

STRANGER = "stranger"
PAUSED = "steward.kubevirt-steward.io/paused"
DRAIN = "medik8s.io/drain"
VM_NAMES = ("web", "db", "old", "batch", "gpu")
ERRORS = (ApiError, TimeoutError, KeyError, StopIteration, AssertionError, ValueError)


@dataclass
class Faulty:
    """A namespace with VMs to which things happen."""

    stage: Stage
    sizes: Sizes
    dice: Random
    small: Object = field(default_factory=dict)
    number: int = 0
    done: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def namespace(self) -> str:
        return self.stage.namespace

    def name(self) -> str:
        return self.dice.choice(VM_NAMES)

    def vm(self, name: str) -> Object:
        return self.stage.client.get(VMS, self.namespace, name)

    def next(self) -> int:
        self.number += 1
        return self.number


Act = Callable[[Faulty], None]


def begin(at: Faulty) -> None:
    """A NAD, an instancetype that may be guarded, and VMs of each sort."""
    at.stage.client.create(fleet.nad(at.namespace, "blue", f"net-{at.namespace}"))
    at.small = at.sizes.small(kind=INSTANCETYPE)
    for name in VM_NAMES:
        _create(at, name)
    at.stage.act("batch", "start")
    for name in VM_NAMES:
        at.stage.wait_running(name)


def _create(at: Faulty, name: str) -> None:
    how = {"eviction": "LiveMigrate"} if name != "old" else {}
    sized = {"instancetype": at.small} if name in ("db", "gpu") else {}
    strategy = "Manual" if name == "batch" else "Always"
    at.stage.vm(name, strategy=strategy, **how, **sized)  # type: ignore[arg-type]


def happen(at: Faulty) -> str:
    """One act, drawn; its name."""
    act = at.dice.choice(ACTS)
    try:
        act(at)
        at.done[act.__name__] += 1
    except ERRORS:
        at.failed[act.__name__] += 1
    return act.__name__


# Faults that there is a repair for.


def asked_to_leave(at: Faulty) -> None:
    """By an eviction of which nothing is left: the drain was given up, or the node is gone."""
    request_to_leave(at.stage, at.dice.choice((*NODES, "gone")), at.name())


def firmware_is_replaced(at: Faulty) -> None:
    """By a tool that writes the whole VM from a manifest."""
    thing = copy.deepcopy(at.vm(at.name()))
    thing["spec"]["template"]["spec"]["domain"].pop("firmware", None)
    at.stage.client.update(thing)


def uuid_is_edited(at: Faulty) -> None:
    """By a person, for the next restart."""
    value = {"firmware": {"uuid": str(uuid.uuid4())}}
    at.stage.client.patch(VMS, at.namespace, at.name(), {"spec": {"template": {"spec": {"domain": value}}}})


def copy_is_lost(at: Faulty) -> None:
    lost = at.sizes.ref(at.dice.choice(("db", "gpu")))
    assert lost
    at.sizes.lose(lost)


def copy_is_left_over(at: Faulty) -> None:
    used = at.sizes.revision(at.sizes.ref("db") or "")
    assert used is not None
    meta = {"namespace": at.namespace, "name": f"left-{at.next()}", "labels": used["metadata"]["labels"]}
    at.stage.client.create({**used, "metadata": meta})


def pdb_is_left_over(at: Faulty) -> None:
    selector = {"matchLabels": {"kubevirt.io/created-by": str(uuid.uuid4())}}
    meta = {"namespace": at.namespace, "name": f"kubevirt-disruption-budget-{at.next()}"}
    spec = {"minAvailable": 1, "selector": selector}
    at.stage.client.create(
        {"apiVersion": PDBS.api_version, "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}
    )


def claim_is_left_over(at: Faulty) -> None:
    gone = fleet.vm(at.namespace, f"gone-{at.next()}", {"blue": "blue"})
    gone["metadata"]["uid"] = str(uuid.uuid4())
    at.stage.client.make(_claim(at, gone))


def claim_comes_before_its_vm(at: Faulty) -> None:
    """As an import or a restore does it: the VM has another UID then."""
    name = f"late-{at.next()}"
    early = fleet.vm(at.namespace, name, {"blue": "blue"})
    early["metadata"]["uid"] = str(uuid.uuid4())
    at.stage.client.make(_claim(at, early))
    late = fleet.vm(at.namespace, name, {"blue": "blue"})
    late["spec"]["runStrategy"] = "Halted"
    at.stage.client.create(late)


def claim_lost_metadata(at: Faulty) -> None:
    """Its owner, its finalizer or its label."""
    name = f"kept-{at.next()}"
    thing = fleet.vm(at.namespace, name, {"blue": "blue"})
    thing["spec"]["runStrategy"] = "Halted"
    made = _claim(at, at.stage.client.create(thing))
    made["metadata"].pop(at.dice.choice(("ownerReferences", "finalizers", "labels")), None)
    at.stage.client.make(made)


def _claim(at: Faulty, owner: Object) -> Object:
    return fleet.claim(owner, f"net-{at.namespace}", f"10.0.{at.dice.randrange(250)}.{at.dice.randrange(1, 250)}/16")


def copy_from_a_stranger(at: Faulty) -> None:
    """Who may write ControllerRevisions of another namespace supplies another size under the same name."""
    lost = at.sizes.ref("gpu")
    used = at.sizes.revision(lost or "")
    assert used is not None
    forged = copy.deepcopy(used)
    forged["metadata"] = {"namespace": STRANGER, "name": lost, "labels": used["metadata"]["labels"]}
    forged["data"]["spec"]["cpu"] = {"guest": 64}
    with contextlib.suppress(ApiError):
        at.stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STRANGER}})
    at.stage.client.create(forged)
    at.sizes.lose(lost or "")


# What happens anyway.


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
    _create(at, name)


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


def guard_is_allowed(at: Faulty) -> None:
    note = {"metadata": {"annotations": {ALLOWED: "true"}}}
    at.stage.client.patch(KINDS[INSTANCETYPE], at.namespace, at.small["name"], note)


def claim_is_released(at: Faulty) -> None:
    """By its owner, who takes the finalizer off and deletes it."""
    found: list[Object] = at.stage.client.list(IPAM_CLAIMS, at.namespace)["items"]
    name = at.dice.choice([each["metadata"]["name"] for each in found])
    at.stage.client.patch(IPAM_CLAIMS, at.namespace, name, {"metadata": {"finalizers": None}})
    at.stage.client.delete(IPAM_CLAIMS, at.namespace, name)


FAULTS: tuple[Act, ...] = (
    *(asked_to_leave, firmware_is_replaced, uuid_is_edited, copy_is_lost, copy_is_left_over, pdb_is_left_over),
    *(claim_is_left_over, claim_comes_before_its_vm, claim_lost_metadata, copy_from_a_stranger),
)
LIFE: tuple[Act, ...] = (
    *(restarted, stopped_and_started, migrated, evicted, made_again, cordoned, uncordoned, tainted),
    *(migration_fails, migration_hangs, saved, saved_and_restored, paused, resumed, claim_is_released),
    guard_is_allowed,
)
ACTS: tuple[Act, ...] = (*FAULTS, *FAULTS, *LIFE, uncordoned, resumed)
