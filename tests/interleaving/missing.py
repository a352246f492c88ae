"""VM `db` runs and its IPAMClaim is gone: how that begins, and what has to hold of the write that has it made again."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from demo.fleet import pods
from demo.fleet.objects import owner
from exporter.facts.record import Ref
from reconcile.decide.repair import Hint
from reconcile.plan.remediations.networks._nudging import NUDGED

from .claims import SEEN, Claims
from .made import launched, started
from .odd_claims import around, varied
from .people import stand_still, vm
from .platform import Platform
from .steward import hint_for
from .world import Obj, World, meta_of, with_meta
from .writer import Write

__all__ = ["begin", "found", "recreated"]

_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_OLD = "2026-06-01T00:00:00Z"
_ODD = (
    *("", "", "", "run by another", "run by another", "VM in deletion", "name of another", "migrates"),
    *("NAD gone", "tried", "controller down", "alone"),
)
"""What may be odd about it, each of which forbids the repair, but for a VMI that stands alone."""


def begin(world: World, platform: Platform, rng: Random) -> None:
    odd = rng.choice(_ODD)
    platform.controller_up = False  # which would make it again
    networks = {"blue": "blue"} | ({"red": "gone"} if odd == "NAD gone" else {})
    made = vm("db", "Always", uid="u-db", created=_OLD, networks=networks)
    if odd != "alone":
        made = world.create(varied(made, odd, world), "user")
    running = with_meta(started(made), creationTimestamp=_OLD)
    if odd == "run by another":
        running = with_meta(running, ownerReferences=[owner(_VM, "db", "u-gone")])
    if odd == "alone":
        running = with_meta(running, ownerReferences=[])
    if odd == "tried":
        running = with_meta(running, annotations={**(meta_of(running).get("annotations") or {}), NUDGED: "db.blue"})
    running = world.create(running | {"status": running["status"] | {"phase": "Running"}}, "virt-controller")
    _attached(world, platform, running)
    around(world, odd, [])
    platform.controller_up = odd != "controller down"
    if odd == "controller down":
        stand_still(world, platform)


def _attached(world: World, platform: Platform, running: Obj) -> None:
    """Its pod has an address that no IPAMClaim keeps."""
    ips = ["10.0.0.5/16"]
    pod = launched(running, "virt-launcher-db-0", "db.blue")
    notes = {
        **meta_of(pod)["annotations"],
        **pods.attached([("ns/blue", "db.blue")], {"ns/blue": ips}, "10.244.0.9/24"),
    }
    pod = with_meta(pod, annotations=notes)
    pod = world.create(pod | {"status": pod["status"] | {"phase": "Running"}}, "virt-controller")
    platform.pool.update(ips)
    platform.held[meta_of(pod)["uid"]] = ips[0]


def found(world: World) -> tuple[str, Hint] | None:
    """What may be found of the VMI."""
    running = world.get(_VMI, "db")
    if running is None:
        return None
    return "recreate_ipam_claim", hint_for("ipam_vms", "MissingClaim", Ref(_VMI, "ns", "db", meta_of(running)["uid"]))


def recreated(claims: Claims, write: Write) -> Iterator[tuple[str, str]]:
    """KubeVirt's IPAM controller makes it, of the VM that there is by then: so that has to be the one that runs."""
    before, after = write.before or {}, write.after or {}
    meta, world = meta_of(before), claims.world
    name, claim = meta["name"], f"{meta['name']}.blue"
    yield from claims.works()
    yield from claims.saved(name)
    if meta.get("deletionTimestamp") or claims.ending(world.get("Namespace", "ns", "")):
        yield "what ends is left", "it is being deleted, or its namespace is"
    own = world.get(_VM, name)
    owners = [each["uid"] for each in meta.get("ownerReferences") or ()]
    if own is not None and claims.ending(own):
        yield "owner lives", f"VM {name} is being deleted"
    if own is not None and meta_of(own)["uid"] not in owners and world.age(own) > SEEN:
        yield "owner lives", f"what runs is not of VM {name}, which would get the IPAMClaim"
    if own is None and owners and claims.gone_for(name) > SEEN:
        yield "owner lives", "the VM that it runs for does not exist"
    for each in claims.interfaces_of(claim):
        if meta_of(each)["name"] != name:
            yield "owner is known", f"an interface of VM {meta_of(each)['name']} has an IPAMClaim of its name too"
    for each in before["spec"].get("networks") or ():
        nad = (each.get("multus") or {}).get("networkName")
        if nad and world.get("NetworkAttachmentDefinition", nad.rpartition("/")[2]) is None:
            yield "it is of use", f"without NAD {nad} no IPAMClaim of it is made"
    there = world.get("IPAMClaim", claim)
    if there is not None and world.age(there) > SEEN:
        yield "it is of use", f"IPAMClaim {claim} exists"
    if str((meta_of(after).get("annotations") or {}).get(NUDGED)).split().count(claim) > 1:
        yield "once is enough", f"it was annotated for {claim} before"
    if before["spec"] != after["spec"] or before["status"] != after["status"]:
        yield "nothing else changes", "something else than an annotation has changed"
