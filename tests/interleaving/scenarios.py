"""How interleavings begin: what there is of a VM and its IPAMClaim, drawn at random."""

from __future__ import annotations

from random import Random

from exporter.demo import objects, pods
from exporter.demo.objects import IPAM_FINALIZER, owner, owner_of
from exporter.demo.surroundings import deployment, nad, webhook
from exporter.model.record import Ref
from reconcile.confirm import Hint

from .people import vm
from .platform import Platform, launched, started
from .steward import hint_for
from .world import Obj, World, meta_of, with_meta

__all__ = ["STATES", "begin", "claim_hint", "surroundings"]

STATES = (
    *("orphan", "orphan", "stuck", "stuck", "stuck", "blocked", "blocked", "replaced", "live", "running"),
    *("ownerless", "unprotected", "unlabelled", "lost pod", "nameless", "foreign owner"),
)
_IPS = ["10.0.0.5/16"]
_OLD = "2026-06-01T00:00:00Z"


def surroundings(world: World) -> None:
    """What IPAMClaims need, and another VM that runs on the same network."""
    world.create(objects.new("Namespace", "", "ns", status={"phase": "Active"}), "admin")
    made = nad("ns", "blue", "tenantblue", subnets="10.0.0.0/16", persistent=True, number=7, config=None)
    world.create(made, "admin")
    for namespace, name in (
        ("ovn-kubernetes", "ovnkube-control-plane"),
        ("kubevirt-ipam-controller-system", "kubevirt-ipam-controller-manager"),
    ):
        made = deployment(namespace, name, replicas=1, ready=1)
        made["status"]["readyReplicas"] = 1
        world.create(made, "admin")
    world.create(webhook("hook", "ipam-claims.k8s.cni.cncf.io"), "admin")


def begin(world: World, platform: Platform, state: str, rng: Random) -> None:
    """VM `db` with IPAMClaim `db.blue`, in one of the states."""
    ips = _IPS if rng.random() < 0.9 else []
    platform.pool.update(ips)
    platform.collecting = state not in ("orphan", "foreign owner")
    meta: Obj = {"created": _OLD, "vm": "db", "owners": [owner("VirtualMachine", "db", "u-db")]}
    deleting = rng.choice((700, 700, 700, 3000, 590))
    if state in ("stuck", "replaced", "lost pod", "nameless", "foreign owner", "blocked"):
        meta["deleting"] = world.ago(deleting)
    if state == "stuck" and rng.random() < 0.3:
        meta["owners"] = []
    if state in ("live", "running", "ownerless", "unprotected", "unlabelled", "blocked"):
        made = _alive(world, state)
        meta["owners"] = [owner_of(made)]
    elif state == "replaced":
        world.create(vm("db", rng.choice(("Always", "Halted"))), "user")
    if state in ("ownerless", "nameless"):
        meta["owners"] = []
    if state == "unlabelled" or state == "nameless":
        meta["vm"] = None
    if state == "foreign owner":
        meta["owners"].append(owner("Import", "import", "i1", "example.org/v1"))
    meta["finalizers"] = [] if state == "unprotected" else _finalizers(rng)
    claim = pods.claim("ns", "db.blue", "tenantblue", ips or None, **meta)
    world.create(claim, "ipam-extensions")
    if state in ("lost pod", "running"):
        _running(world, platform, ips, alone=state == "lost pod")


def _finalizers(rng: Random) -> list[str]:
    return rng.choice(([IPAM_FINALIZER], [IPAM_FINALIZER], ["example.org/keep", IPAM_FINALIZER]))


def _alive(world: World, state: str) -> Obj:
    made = vm("db", "Always" if state == "running" else "Halted", uid="u-db", created=_OLD)
    if state == "blocked":
        made = with_meta(made, deletionTimestamp=world.ago(700), finalizers=["foregroundDeletion"])
    return world.create(made, "user")


def _running(world: World, platform: Platform, ips: list[str], *, alone: bool) -> None:
    """With its VMI; or alone, as on a node that nobody reaches."""
    owned = world.get("VirtualMachine", "db") or vm("db", "Always", uid="u-db")
    running = started(owned)
    if not alone:
        running = world.create(running | {"status": running["status"] | {"phase": "Running"}}, "virt-controller")
    else:
        running = with_meta(running, uid="u-vmi")
    pod = launched(running, "virt-launcher-db-0", "db.blue")
    held = {"ns/blue": ips} if ips else None
    notes = {**meta_of(pod)["annotations"], **pods.attached([("ns/blue", "db.blue")], held, "10.244.0.9/24")}
    pod = with_meta(pod, annotations=notes)
    # Nobody collects it while its node does not answer.
    pod = with_meta(pod, ownerReferences=[]) if alone else pod
    pod = world.create(pod | {"status": pod["status"] | {"phase": "Running"}}, "virt-controller")
    if ips:
        platform.held[meta_of(pod)["uid"]] = ips[0]


def claim_hint(world: World, claim: Obj, rng: Random) -> tuple[str, Hint]:
    """A remediation, and what may have been found of the IPAMClaim when it was as it is given."""
    meta = meta_of(claim)
    ref = Ref("IPAMClaim", "ns", meta["name"], meta["uid"])
    if meta.get("deletionTimestamp"):
        found = world.get("VirtualMachine", "db")
        reasons = ["OwnerGone", "BlocksOwnerDeletion", "OwnerDeleting"]
        likely = reasons[0] if found is None else reasons[1 + (world.get("VirtualMachineInstance", "db") is not None)]
        reason = rng.choice((likely, likely, likely, likely, likely, rng.choice(reasons)))
        return "release_ipam_claim", hint_for("ipam_claims", f"StuckTerminating{reason}", ref)
    if IPAM_FINALIZER not in (meta.get("finalizers") or ()):
        return rng.choice(
            (
                ("repair_ipam_claim_metadata", hint_for("ipam_claims", "UnprotectedClaim", ref)),
                ("delete_orphan_ipam_claim", hint_for("ipam_claims", "OrphanClaim", ref)),
            )
        )
    if not meta.get("ownerReferences"):
        return "repair_ipam_claim_metadata", hint_for("ipam_claims", "OwnerlessClaim", ref)
    if not meta.get("labels", {}).get("kubevirt.io/vm"):
        return "repair_ipam_claim_metadata", hint_for("ipam_claims", "UnlabelledClaim", ref)
    return "delete_orphan_ipam_claim", hint_for("ipam_claims", "OrphanClaim", ref)
