"""What may be odd about an IPAMClaim or its VM, each of which forbids a repair that would else be made."""

from __future__ import annotations

from demo.fleet import pods
from demo.fleet.objects import owner, owner_of

from .made import NETWORK, started
from .people import vm
from .world import Obj, World, with_meta

__all__ = ["STATES_OF", "Odd", "around", "networks_of", "varied"]

Odd = str
_LACKING = ("ownerless", "unprotected", "unlabelled")
STATES_OF: dict[Odd, tuple[str, ...]] = {
    "VM in deletion": ("ownerless",),
    "VMI of a predecessor": ("ownerless",),
    "VMI alone": ("ownerless",),
    "name of another": (*_LACKING, "orphan", "stuck", "deleted by hand"),
    "interface gone": _LACKING,
    "network unknown": _LACKING,
    "migrates": _LACKING,
    "address of another": ("orphan", "stuck"),
}
"""The states in which it makes a difference."""


def networks_of(odd: Odd) -> dict[str, str]:
    """Of VM `db`: NADs by the names of its interfaces."""
    return {"red": "blue"} if odd == "interface gone" else {"blue": "blue"}


def varied(made: Obj, odd: Odd, world: World) -> Obj:
    """VM `db` as it is to be created."""
    if odd == "VM in deletion":  # which somebody's finalizer holds
        return with_meta(made, deletionTimestamp=world.ago(700), finalizers=["example.org/keep"])
    return made


def around(world: World, odd: Odd, ips: list[str]) -> None:
    """What else there is of it, once it exists."""
    if odd in ("VMI of a predecessor", "VMI alone"):
        _lingers(world, alone=odd == "VMI alone")
    elif odd == "name of another":  # whose network `_` adds nothing to the name of the IPAMClaim
        world.create(vm("db.blue", "Halted", networks={"_": "blue"}), "user")
    elif odd == "network unknown":
        _unknown(world)
    elif odd == "migrates":
        _migrating(world)
    elif odd == "address of another":
        made = world.create(vm("web", "Halted", uid="u-web"), "user")
        meta: Obj = {"vm": "web", "owners": [owner_of(made)]}
        world.create(pods.claim("ns", "web.blue", NETWORK, ips or None, **meta), "user")


def _lingers(world: World, *, alone: bool) -> None:
    """A VMI in deletion that is not of the VM: somebody's finalizer holds it."""
    gone = [] if alone else [owner("VirtualMachine", "db", "u-gone")]
    running = started(vm("db", "Always", uid="u-gone"))
    held: Obj = {"deletionTimestamp": world.ago(700), "finalizers": ["example.org/keep"]}
    running = with_meta(running, ownerReferences=gone, **held)
    world.create(running | {"status": running["status"] | {"phase": "Running"}}, "virt-controller")


def _unknown(world: World) -> None:
    """The NAD can't be read, and the IPAMClaim is of a network without a name."""
    nad, claim = world.get("NetworkAttachmentDefinition", "blue"), world.get("IPAMClaim", "db.blue")
    assert nad is not None
    assert claim is not None
    world.change(nad, "admin", lambda now: now | {"spec": {"config": "{"}})
    world.change(claim, "admin", lambda now: now | {"spec": now["spec"] | {"network": ""}})


def _migrating(world: World) -> None:
    """By its own status: the migration itself was deleted."""
    running = world.get("VirtualMachineInstance", "db")
    assert running is not None
    moved = {"migrationState": {"startTimestamp": world.ago(60)}}
    world.change(running, "virt-handler", lambda now: now | {"status": now["status"] | moved})
