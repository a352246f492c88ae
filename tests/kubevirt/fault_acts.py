"""What goes wrong in a namespace and can be repaired, one act each, for each repair that loses nothing."""

from __future__ import annotations

import contextlib
import copy
import uuid
from collections.abc import Callable

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN, DrainStop, text_of
from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED
from reconcile.plan.requests import MANAGER
from tests.cluster import fleet
from tests.cluster.client import ApiError
from tests.cluster.resources import IPAM_CLAIMS, PDBS, VMS
from tests.kubevirt.faulty import IDLE, STRANGER, Act, Faulty
from tests.kubevirt.installation import NODES
from tests.kubevirt.repairs import request_to_leave
from tests.kubevirt.sizes import INSTANCETYPE, KINDS
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["FAULTS", "QUICK_FAULTS", "WHILE_AWAY", "pdb_is_left_over"]

COLLECTOR, COPIER = "kube-controller-manager", "virt-controller"
DEALT_WITH = 60  # seconds that the sidecar has for what nobody else may see first


def asked_to_leave(at: Faulty) -> None:
    """By an eviction of which nothing is left: the drain was given up."""
    request_to_leave(at.stage, at.dice.choice(NODES), at.name())


def node_is_gone(at: Faulty) -> None:
    """That it was asked to leave: only a migration takes that back."""
    request_to_leave(at.stage, "gone", at.dice.choice(("web", "db", "batch", "gpu")))


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


def garbage_is_left(at: Faulty) -> None:
    """`claims_of_others` while garbage collection is away; the VM that is to come does so sooner or later."""
    with at.stage.control_plane.without(COLLECTOR):
        gone, late = claims_of_others(at)
        if at.dice.random() < 0.5:
            wait_until(lambda: _deleted(at, gone), DEALT_WITH, f"the IPAMClaim of {gone} is deleted", every=0.5)
        stopped = fleet.vm(at.namespace, late, {"blue": "blue"})
        stopped["spec"]["runStrategy"] = "Halted"
        at.stage.client.create(stopped)
        wait_until(lambda: _deleted(at, gone), DEALT_WITH, f"the IPAMClaim of {gone} is deleted", every=0.5)


def claims_of_others(at: Faulty) -> tuple[str, str]:
    """IPAMClaims of VMs with other UIDs: one is gone, one is to come, as an import or a restore creates it, and in the
    place of one there is another of its name. Answers with the names of the first two.
    """
    gone, late = f"gone-{at.next()}", f"late-{at.next()}"
    _forget(at, IDLE)
    for name in (IDLE, late, gone):
        owner = fleet.vm(at.namespace, name, {"blue": "blue"})
        owner["metadata"]["uid"] = str(uuid.uuid4())
        at.stage.client.make(_claim(at, owner))
    return gone, late


def _forget(at: Faulty, vm: str) -> None:
    """The IPAMClaim that is left of an earlier time."""
    with contextlib.suppress(ApiError):
        at.stage.client.patch(IPAM_CLAIMS, at.namespace, f"{vm}.blue", {"metadata": {"finalizers": None}})
        at.stage.client.delete(IPAM_CLAIMS, at.namespace, f"{vm}.blue")


def _deleted(at: Faulty, vm: str) -> bool:
    claim = at.stage.client.get(IPAM_CLAIMS, at.namespace, f"{vm}.blue")
    return "deletionTimestamp" in claim["metadata"]


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
    with contextlib.suppress(ApiError):
        at.stage.client.create(forged)
    at.sizes.lose(lost or "")


def stopped_for_a_drain(at: Faulty) -> None:
    """As `stop_blocked_vmi` stops one, of a node that takes VMs again sooner or later."""
    name = at.dice.choice(("old", "batch", "web"))
    vm, vmi = at.vm(name), at.stage.vmi(name)
    assert vmi is not None
    strategy = vm["spec"]["runStrategy"]
    assert strategy != "Halted"
    node = vmi["status"]["nodeName"]
    stop = DrainStop(vm["metadata"]["uid"], vmi["metadata"]["uid"], node, strategy, MANAGER)
    seen = {field: vm["metadata"][field] for field in ("uid", "resourceVersion")}
    change = {
        "metadata": {**seen, "annotations": {STOPPED_FOR_DRAIN: text_of(stop)}},
        "spec": {"runStrategy": "Halted"},
    }
    path, kind = VMS.path(at.namespace, name), "application/merge-patch+json"
    at.stage.client.connection.request("PATCH", path, change, query={"fieldManager": MANAGER}, content_type=kind)


def copy_is_not_made(at: Faulty) -> None:
    """`size_without_copy` until the instancetype is guarded."""
    with at.stage.control_plane.without(COPIER):
        size = size_without_copy(at)

        def guarded() -> bool:
            return bool(at.stage.client.get(KINDS[INSTANCETYPE], at.namespace, size)["metadata"].get("finalizers"))

        wait_until(guarded, DEALT_WITH, f"{size} is guarded", every=0.5)


def size_without_copy(at: Faulty) -> str:
    """A VM is created while virt-controller is away, which would copy its instancetype; the name of that."""
    size = at.sizes.small(f"size-{at.next()}", kind=INSTANCETYPE)
    note = {"metadata": {"annotations": {ALLOWED: "true"}}}
    at.stage.client.patch(KINDS[INSTANCETYPE], at.namespace, size["name"], note)
    at.stage.vm(f"kept-{at.next()}", strategy="Halted", instancetype=size)
    return str(size["name"])


QUICK_FAULTS: tuple[Act, ...] = (
    *(asked_to_leave, node_is_gone, firmware_is_replaced, uuid_is_edited, copy_is_lost, copy_is_left_over),
    *(pdb_is_left_over, claim_lost_metadata, copy_from_a_stranger, stopped_for_a_drain),
)
FAULTS: tuple[Act, ...] = (
    *(*QUICK_FAULTS, asked_to_leave, node_is_gone, firmware_is_replaced, stopped_for_a_drain, stopped_for_a_drain),
    *(garbage_is_left, copy_is_not_made),
)
WHILE_AWAY: dict[str, Callable[[Faulty], object]] = {COLLECTOR: claims_of_others, COPIER: size_without_copy}
"""What goes wrong, and lasts, while a program does not run."""
