"""What users and restores do, as sequences of atomic calls; each is one of the actors of an interleaving."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

from demo.apiserver.errors import ApiError
from demo.fleet import objects
from demo.fleet.objects import FINALIZERS, IPAM_FINALIZER, owner_of

from .made import claimed, lacking, launched
from .platform import Platform
from .world import Obj, World, meta_of, with_meta

__all__ = ["ACTS", "Act", "restored", "stand_still", "vm"]

Act = Callable[[World, Platform, Random], Iterator[None]]
_NAME = "db"


def vm(name: str, strategy: str, *, uuid: str = "", networks: Mapping[str, str] | None = None, **meta: Any) -> Obj:
    """A VM with one interface of a network with persistent addresses, or with NADs by the names of its interfaces."""
    firmware = {"firmware": {"uuid": uuid}} if uuid else {}
    spec = objects.vmi_spec(networks or {"blue": "blue"}, domain=firmware)
    finalizers = FINALIZERS["VirtualMachine"]
    return objects.vm("ns", name, spec, run_strategy=strategy, status={}, finalizers=finalizers, **meta)


def _refused(call: Callable[[], object]) -> None:
    with suppress(ApiError):
        call()


def create_vm(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    _refused(lambda: world.create(vm(_NAME, rng.choice(("Always", "Always", "Halted"))), "user"))


def delete_vm(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    _refused(lambda: world.delete(("VirtualMachine", "ns", _NAME), "user"))


def orphan_vm(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """`kubectl delete --cascade=orphan`: what runs goes on without its owner."""
    found = world.get("VirtualMachine", _NAME)
    yield
    if found is not None:
        for kind in ("VirtualMachineInstance", "IPAMClaim"):
            for thing in world.all(kind):
                kept = [each for each in meta_of(thing).get("ownerReferences") or () if each["uid"] != _uid(found)]
                _refused(partial(_owned, world, thing, kept))
                yield
        _refused(lambda: world.change(found, "user", lambda now: with_meta(now, finalizers=[])))
        _refused(lambda: world.delete(("VirtualMachine", "ns", _NAME), "user"))


def _owned(world: World, thing: Obj, owners: list[Obj]) -> None:
    world.change(thing, "user", lambda now: with_meta(now, ownerReferences=owners))


def recreate_vm(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    yield from delete_vm(world, platform, rng)
    for _ in range(30):
        if world.get("VirtualMachine", _NAME) is None:
            break
        yield
    yield from create_vm(world, platform, rng)


def start_or_stop(world: World, _: Platform, rng: Random) -> Iterator[None]:
    found = world.get("VirtualMachine", _NAME)
    yield
    strategy = rng.choice(("Always", "Halted"))
    if found is not None:
        _refused(
            lambda: world.change(found, "user", lambda now: now | {"spec": now["spec"] | {"runStrategy": strategy}})
        )


def migrate(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    made = objects.migration("ns", f"m{rng.random()}", _NAME, phase="Pending")
    _refused(lambda: world.create(made, "user"))


def annotate_claim(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Any write to it that changes nothing of its meaning."""
    found = world.get("IPAMClaim", f"{_NAME}.blue")
    yield
    if found is not None:
        _refused(
            lambda: world.change(found, "user", lambda now: with_meta(now, annotations={"note": str(rng.random())}))
        )


def delete_claim(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    _refused(lambda: world.delete(("IPAMClaim", "ns", f"{_NAME}.blue"), "user"))


def change_finalizers(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Somebody else's finalizer comes, or KubeVirt's goes."""
    found = world.get("IPAMClaim", f"{_NAME}.blue")
    yield
    if found is None:
        return
    wanted = rng.choice(([], ["example.org/keep"], ["example.org/keep", IPAM_FINALIZER]))
    if not meta_of(found).get("deletionTimestamp"):
        _refused(lambda: world.change(found, "user", lambda now: with_meta(now, finalizers=wanted)))


def adopt_claim(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    """A VM is created under the old name, and gets the IPAMClaim of its predecessor (whereabouts#207)."""
    yield from create_vm(world, platform, rng)
    made, found = world.get("VirtualMachine", _NAME), world.get("IPAMClaim", f"{_NAME}.blue")
    yield
    if made is not None and found is not None:
        owners = [owner_of(made)]
        _refused(lambda: world.change(found, "user", lambda now: with_meta(now, ownerReferences=owners)))


def restored(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    """A backup is restored: the VM, and its IPAMClaim with the addresses that it had."""
    old = world.get("IPAMClaim", f"{_NAME}.blue")
    yield
    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": _NAME}
    spec, name = {"target": target, "virtualMachineSnapshotName": "s"}, f"r{rng.random()}"
    restore = objects.new("VirtualMachineRestore", "ns", name, spec=spec, status={"complete": False})
    restore = world.create(restore, "user")
    for _ in range(rng.randrange(1, 20)):
        yield
    _refused(lambda: world.create(vm(_NAME, "Always"), "restore"))
    made = world.get("VirtualMachine", _NAME)
    yield
    if made is not None and world.get("IPAMClaim", f"{_NAME}.blue") is None:
        ips = (old or {}).get("status", {}).get("ips")
        _refused(lambda: world.create(claimed(made, ips), "restore"))
        yield
    world.change(restore, "restore", lambda now: now | {"status": {"complete": True}})


def refer_to_claim(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """A pod of somebody else that refers to the IPAMClaim, without any VM."""
    yield
    alone = {
        "kind": "VirtualMachineInstance",
        "apiVersion": "kubevirt.io/v1",
        "metadata": {"name": "own", "uid": "own"},
    }
    made = launched(alone, f"own-{rng.random()}", f"{_NAME}.blue")
    _refused(lambda: world.create(with_meta(made, ownerReferences=[], annotations=_referring(made)), "user"))


def _referring(pod: Obj) -> dict[str, str]:
    return {name: value for name, value in meta_of(pod)["annotations"].items() if name != "kubevirt.io/domain"}


def controller_down(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    yield
    stand_still(world, platform)
    for _ in range(rng.choice((5, 20, 80))):
        yield
    platform.restart_controller()
    _ready(world, 1)


def stand_still(world: World, platform: Platform) -> None:
    """ipam-extensions is down, and with it its webhook."""
    platform.controller_up = False
    _ready(world, 0)


def _ready(world: World, replicas: int) -> None:
    for each in world.all("Deployment"):
        conditions = [objects.condition("Available", replicas > 0, world.time())]
        status = {"replicas": 1, "readyReplicas": replicas, "conditions": conditions}
        world.change(each, "kubelet", lambda now, status=status: now | {"status": status})  # type: ignore[misc]


def delete_namespace(world: World, _: Platform, rng: Random) -> Iterator[None]:
    found = world.get("Namespace", "ns", "")
    yield
    if found is not None:
        status = {"phase": "Terminating"}
        ending = with_meta(found, deletionTimestamp=world.time(), finalizers=["kubernetes"])
        _refused(lambda: world.change(found, "user", lambda _: ending | {"status": status}))


def let_go(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Somebody takes a finalizer of his own off."""
    found = world.get("IPAMClaim", f"{_NAME}.blue")
    yield
    if found is not None:
        _refused(lambda: world.change(found, "user", lambda now: lacking(now, "example.org/keep")))


def _uid(thing: Obj) -> str:
    uid: str = meta_of(thing)["uid"]
    return uid


ACTS: tuple[Act, ...] = (
    create_vm,
    delete_vm,
    orphan_vm,
    recreate_vm,
    start_or_stop,
    migrate,
    annotate_claim,
    delete_claim,
    change_finalizers,
    adopt_claim,
    restored,
    refer_to_claim,
    controller_down,
    controller_down,
    delete_namespace,
    let_go,
)
