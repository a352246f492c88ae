"""How interleavings begin: what there is of a VM and its IPAMClaim, drawn at random."""

from __future__ import annotations

from random import Random

from demo.fleet import objects, pods
from demo.fleet.objects import IPAM_FINALIZER, owner, owner_of
from demo.fleet.surroundings import deployment, nad, webhook
from exporter.facts.record import Ref
from reconcile.decide.repair import Hint
from reconcile.plan.remediations.networks._releasing import ALLOWED

from . import missing
from .made import launched, started
from .odd_claims import STATES_OF, Odd, around, networks_of, varied
from .people import stand_still, vm
from .platform import Platform
from .steward import hint_for
from .world import Obj, World, meta_of, with_meta

__all__ = ["begin", "claim_hint", "claim_in", "surroundings"]

_STATES = (
    *("orphan", "orphan", "stuck", "stuck", "stuck", "blocked", "blocked", "replaced", "live", "running"),
    *("ownerless", "ownerless", "unprotected", "unlabelled", "left", "lost pod", "nameless", "foreign owner"),
    *("stopping", "waiting", "brought"),
    *("replaced", "handed on", "handed on", "deleted by hand", "deleted by hand", "leaked"),
    *("missing", "missing", "missing", "missing"),
)
_TERMINATING = (
    *("stuck", "replaced", "lost pod", "nameless", "foreign owner", "blocked", "stopping", "waiting"),
    *("deleted by hand", "leaked"),
)
_WITH_VM = (
    *("live", "running", "ownerless", "unprotected", "unlabelled", "blocked", "stopping"),
    *("deleted by hand", "leaked"),
)
_WITH_OTHERS = ("unprotected", "replaced", "handed on", "deleted by hand", "leaked")
_MISLABELLED = ("replaced", "handed on", "deleted by hand", "leaked")
_IPS = ["10.0.0.5/16"]
_OLD = "2026-06-01T00:00:00Z"
_ODD = 0.2  # of the interleavings


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


def begin(world: World, platform: Platform, rng: Random) -> None:
    """VM `db` with IPAMClaim `db.blue`, in one of the states."""
    state = rng.choice(_STATES)
    if state == "missing":
        missing.begin(world, platform, rng)
        world.born = {uid: since - 3600 for uid, since in world.born.items()}
        return
    odd = rng.choice((*STATES_OF,)) if rng.random() < _ODD else ""
    if odd:
        state = rng.choice(STATES_OF[odd])
    ips = _IPS if rng.random() < 0.9 else []
    platform.pool.update(ips)
    platform.collecting = state not in ("orphan", "left", "brought", "handed on")
    made = _vm_in(state, odd, world, rng)
    meta = _metadata(state, world, rng)
    if made is not None:
        owners = [owner_of(made), *meta["owners"][1:]]
        meta["owners"] = [] if state == "ownerless" else owners
    world.create(pods.claim("ns", "db.blue", _network(state, rng), ips or None, **meta), "ipam-extensions")
    if state in ("lost pod", "running") or odd == "migrates":
        _running(world, platform, ips, alone=state == "lost pod")
    if state in ("stopping", "waiting"):
        _pending(world, made)
    around(world, odd, ips)
    if state in ("waiting", "stopping") or (state in ("blocked", "stuck") and rng.random() < 0.6):
        stand_still(world, platform)
    world.born = {uid: since - 3600 for uid, since in world.born.items()}


def claim_in(world: World, platform: Platform, state: str) -> Obj:
    """The IPAMClaim of a plain state, still to be created; of one that lives with its VM."""
    platform.pool.update(_IPS)
    meta: Obj = {"created": _OLD, "vm": "db", "owners": [owner("VirtualMachine", "db", "u-db")]}
    if state in ("live", "unprotected"):
        meta["owners"] = [owner_of(world.create(vm("db", "Halted", uid="u-db", created=_OLD), "user"))]
    if state == "unprotected":
        meta["finalizers"] = []
    if state in ("given up", "replaced"):  # a VM that is stopped, and may get another address
        uid: Obj = {"uid": "u-db", "created": _OLD} if state == "given up" else {}
        world.create(vm("db", "Halted", annotations={ALLOWED: "true"}, **uid), "user")
    if state in ("stuck", "held", "given up", "replaced"):
        meta["deleting"] = world.ago(700)
    if state == "held":
        meta["finalizers"] = ["example.org/keep", IPAM_FINALIZER, "example.org/too"]
    return pods.claim("ns", "db.blue", "tenantblue", _IPS, **meta)


def _network(state: str, rng: Random) -> str:
    """Now and then the VM was moved to another network since."""
    moved = state in ("ownerless", "unprotected", "unlabelled") and rng.random() < 0.2
    return "tenantred" if moved else "tenantblue"


def _vm_in(state: str, odd: Odd, world: World, rng: Random) -> Obj | None:
    allowed: Obj = {"annotations": {ALLOWED: "true"} if rng.random() < 0.8 else {}}
    if state in ("replaced", "handed on"):
        world.create(vm("db", rng.choice(("Always", "Halted", "Halted")), **allowed), "user")
    if state not in _WITH_VM:
        return None
    strategy = "Always" if state == "running" or odd == "migrates" else "Halted"
    networks = {"red": "blue"} if state == "leaked" else networks_of(odd)
    noted = allowed if state == "deleted by hand" else {}
    made = vm("db", strategy, uid="u-db", created=_OLD, networks=networks, **noted)
    if state in ("blocked", "stopping") or (state in ("ownerless", "unprotected") and rng.random() < 0.2):
        made = with_meta(made, deletionTimestamp=world.ago(700), finalizers=["foregroundDeletion"])
    if state == "blocked" and rng.random() < 0.2:
        made["status"] = {"snapshotInProgress": "s1"}
    return world.create(varied(made, odd, world), "user")


def _metadata(state: str, world: World, rng: Random) -> Obj:
    finalizers = rng.choice(([IPAM_FINALIZER], [IPAM_FINALIZER], ["example.org/keep", IPAM_FINALIZER]))
    owners = [owner("VirtualMachine", "db", "u-db")]
    others = state in _WITH_OTHERS and rng.random() < 0.2
    if state == "foreign owner" or others:
        owners.append(owner("Import", "import", "i1", "example.org/v1"))
    if state in ("ownerless", "nameless", "left") or (state == "stuck" and rng.random() < 0.3):
        owners = []
    created = world.ago(rng.choice((600, 3000, 3700))) if state == "brought" else _OLD
    found: Obj = {"created": created, "owners": owners, "finalizers": [] if state == "unprotected" else finalizers}
    found["vm"] = None if state in ("unlabelled", "nameless") else "db"
    if state in _MISLABELLED and rng.random() < 0.1:
        found["vm"] = "web"
    if state in _TERMINATING:
        found["deleting"] = world.ago(rng.choice((700, 700, 700, 3000, 590)))
    return found


def _pending(world: World, made: Obj | None) -> None:
    """A VMI without a pod, as while the webhook of ipam-extensions does not answer."""
    running = started(made if made is not None else vm("db", "Always", uid="u-db"))
    world.create(running, "virt-controller")


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


def claim_hint(world: World, rng: Random) -> tuple[str, Hint] | None:
    """A remediation, and what may be found of the IPAMClaim as it is."""
    claim = world.get("IPAMClaim", "db.blue")
    if claim is None:
        return missing.found(world)
    meta = meta_of(claim)
    ref = Ref("IPAMClaim", "ns", meta["name"], meta["uid"])
    found = world.get("VirtualMachine", "db")
    owners = [each["uid"] for each in meta.get("ownerReferences") or ()]
    if found is not None and owners and meta_of(found)["uid"] not in owners and rng.random() < 0.8:
        return "adopt_ipam_claim", hint_for("ipam_claims", "OwnerUidMismatch", ref)
    lives = found is not None and not meta_of(found).get("deletionTimestamp")
    if meta.get("deletionTimestamp") and lives and rng.random() < 0.8:
        return "reclaim_ipam_claim", hint_for("ipam_claims", "StuckTerminatingDeletedByHand", ref)
    if meta.get("deletionTimestamp"):
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
