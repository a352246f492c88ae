"""What snapshots, restores, clones and backups do, each in calls that may be far apart; and which are under way.

KubeVirt's say in the VM's status that they go on, a while after their objects are there. Velero's restore brings
IPAMClaims first and VMs later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

from demo.apiserver.errors import ApiError
from demo.fleet import objects
from demo.fleet.objects import IPAM_FINALIZER, owner
from demo.fleet.pods import claim as made_claim

from .made import NETWORK
from .people import vm
from .platform import Platform
from .stashing import COPY, named_by
from .world import Obj, World, meta_of, with_meta

__all__ = ["SAVING", "backup", "begin", "clone", "restore", "restored_from_outside", "snapshot", "under_way"]

_VM, _NAME = "VirtualMachine", "db"
_REF = {"apiGroup": "kubevirt.io", "kind": _VM, "name": _NAME}
_BY = "virt-controller"


def under_way(world: World, name: str, seen: float) -> Iterator[str]:
    """What is being done with a VM, by the objects that say so; without what is younger than `seen` seconds."""
    for kind, of, ends in _SAVING:
        for each in world.all(kind):
            if name in of(each) and not ends(each["status"]) and world.age(each) > seen:
                yield f"{kind} {meta_of(each)['name']} is under way"


def _complete(status: Obj) -> bool:
    return bool(status.get("complete"))


def _ended(status: Obj) -> bool:
    return status.get("phase") in ("Succeeded", "Failed", "Completed", "PartiallyFailed")


def _done(status: Obj) -> bool:
    return any(each["type"] == "Done" and each["status"] == "True" for each in status.get("conditions") or ())


_SAVING: tuple[tuple[str, Callable[[Obj], tuple[str, ...]], Callable[[Obj], bool]], ...] = (
    ("VirtualMachineRestore", lambda each: (each["spec"]["target"]["name"],), _complete),
    ("VirtualMachineSnapshot", lambda each: (each["spec"]["source"]["name"],), _ended),
    ("VirtualMachineClone", lambda each: (each["spec"]["source"]["name"], each["spec"]["target"]["name"]), _ended),
    ("VirtualMachineBackup", lambda each: (each["spec"]["source"]["name"],), _done),
    ("Restore", lambda _: (_NAME,), _ended),
    ("Backup", lambda _: (_NAME,), _ended),
)


SAVING = tuple(kind for kind, _, _ in _SAVING)
"""What saves a VM, or brings it back."""
_BEGINNINGS: dict[str, tuple[str, str, Obj, Obj]] = {
    "VirtualMachineSnapshot": (
        "snapshot.kubevirt.io/v1beta1",
        "ns",
        {"source": _REF},
        {"phase": "InProgress", "readyToUse": False},
    ),
    "VirtualMachineRestore": (
        "snapshot.kubevirt.io/v1beta1",
        "ns",
        {"target": _REF, "virtualMachineSnapshotName": "s"},
        {"complete": False},
    ),
    "VirtualMachineClone": (
        "clone.kubevirt.io/v1beta1",
        "ns",
        {"source": _REF, "target": _REF | {"name": "copy"}},
        {"phase": "SnapshotInProgress"},
    ),
    "VirtualMachineBackup": ("backup.kubevirt.io/v1alpha1", "ns", {"source": _REF}, {}),
    "Backup": ("velero.io/v1", "velero", {"includedNamespaces": ["ns"]}, {"phase": "InProgress"}),
    "Restore": ("velero.io/v1", "velero", {"backupName": "b"}, {"phase": "InProgress"}),
}


def begin(world: World, kind: str, *, spec: Obj | None = None, status: Obj | None = None) -> Obj:
    """Creates the object that says what somebody wants."""
    group, namespace, usual, at_first = _BEGINNINGS[kind]
    by = "velero" if namespace == "velero" else "user"
    return _made(world, kind, group, by, usual | (spec or {}), at_first | (status or {}), namespace)


def _quietly(call: Callable[[], object]) -> None:
    with suppress(ApiError):
        call()


def _made(world: World, kind: str, group: str, by: str, spec: Obj, status: Obj, namespace: str = "ns") -> Obj:
    meta: Obj = {"namespace": namespace, "name": f"{kind.lower()}-{world.version}"}
    return world.create({"apiVersion": group, "kind": kind, "metadata": meta, "spec": spec, "status": status}, by)


def _status(world: World, thing: Obj, by: str, **status: Any) -> Obj:
    """It, with a status that nobody else writes."""
    now = world.get(thing["kind"], meta_of(thing)["name"], meta_of(thing)["namespace"]) or thing
    return world.change(now, by, lambda old: old | {"status": old["status"] | status}) or now


def _noted(world: World, field: str, value: str | None) -> None:
    """In the status of the VM, if there is one."""
    found = world.get(_VM, _NAME)
    if found is not None:
        status = {name: each for name, each in (found.get("status") or {}).items() if name != field}
        status |= {field: value} if value else {}
        _quietly(lambda: world.change(found, _BY, lambda now: now | {"status": status}))


def _while(rng: Random) -> Iterator[None]:
    for _ in range(rng.choice((1, 5, 20, 60))):
        yield


def snapshot(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    if world.get(_VM, _NAME) is None:
        return
    made = begin(world, "VirtualMachineSnapshot")
    yield from _while(rng)
    _noted(world, "snapshotInProgress", meta_of(made)["name"])
    yield from _while(rng)
    found = world.get(_VM, _NAME)
    if found is not None:
        _content(world, made, found)
    yield
    _noted(world, "snapshotInProgress", None)
    yield
    _status(world, made, _BY, phase="Succeeded", readyToUse=True)


def _content(world: World, made: Obj, found: Obj) -> None:
    """The VM as it is, with a copy of its instancetype that is the snapshot's."""
    spec, name = found["spec"], meta_of(made)["name"]
    kept = world.get(COPY, named_by(found))
    if kept is not None and spec.get("instancetype"):
        own = meta_of(kept)["name"].replace(_NAME, name, 1)
        owners = [owner("VirtualMachineSnapshot", name, meta_of(made)["uid"], made["apiVersion"])]
        meta = {"namespace": "ns", "name": own, "labels": meta_of(kept).get("labels", {}), "ownerReferences": owners}
        _quietly(lambda: world.create(kept | {"metadata": meta}, _BY))
        spec = spec | {"instancetype": spec["instancetype"] | {"revisionName": own}}
    saved = {"metadata": {"name": _NAME, "namespace": "ns"}, "spec": spec}
    content = {"source": {"virtualMachine": saved}, "virtualMachineSnapshotName": name}
    _made(world, "VirtualMachineSnapshotContent", made["apiVersion"], _BY, content, {})


def restore(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """KubeVirt's, into the VM as it stands, which keeps its UID; or it is created anew."""
    yield
    kept = world.all("VirtualMachineSnapshotContent")
    made = begin(world, "VirtualMachineRestore")
    yield from _while(rng)
    _noted(world, "restoreInProgress", meta_of(made)["name"])
    yield from _while(rng)
    saved = kept[-1]["spec"]["source"]["virtualMachine"]["spec"] if kept else vm(_NAME, "Halted")["spec"]
    found = world.get(_VM, _NAME)
    if found is None:
        again = vm(_NAME, "Halted")
        _quietly(lambda: world.create(again | {"spec": saved}, _BY))
    elif world.get("VirtualMachineInstance", _NAME) is None:
        _quietly(lambda: world.change(found, _BY, lambda now: now | {"spec": saved}))
    yield from _while(rng)
    _noted(world, "restoreInProgress", None)
    yield
    _status(world, made, _BY, complete=True, restoreTime=world.time())


def clone(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Into another VM, with its annotations, ours among them; KubeVirt makes a snapshot and restores that."""
    yield
    made = begin(world, "VirtualMachineClone")
    yield from _while(rng)
    found = world.get(_VM, _NAME)
    if found is not None:
        again = vm("copy", "Halted") | {"spec": found["spec"]}
        again = with_meta(again, annotations=dict(meta_of(found).get("annotations") or {}))
        _quietly(lambda: world.create(again, _BY))
    yield
    _status(world, made, _BY, phase="Succeeded")


def backup(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """KubeVirt's, or Velero's of the namespace."""
    yield
    if rng.random() < 0.5:
        made = begin(world, "VirtualMachineBackup")
        yield from _while(rng)
        _status(world, made, _BY, conditions=[objects.condition("Done", holds=True)])
        return
    made = begin(world, "Backup", spec={"includedNamespaces": [rng.choice(("ns", "*"))]})
    yield from _while(rng)
    _status(world, made, "velero", phase="Completed")


def restored_from_outside(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Velero's restore: what is not there is created, IPAMClaims long before VMs, with the owners that they had."""
    old = world.get("IPAMClaim", f"{_NAME}.blue")
    copies = [each for each in world.all(COPY) if not meta_of(each)["name"].startswith("revision-start")]
    was = world.get(_VM, _NAME)
    yield
    made = begin(world, "Restore", status={"phase": rng.choice(("New", "InProgress"))})
    yield from _while(rng)
    owners = [owner(_VM, _NAME, "u-lost")]
    ips = (old or {}).get("status", {}).get("ips")
    claim = made_claim("ns", f"{_NAME}.blue", NETWORK, ips, vm=_NAME, owners=owners, finalizers=(IPAM_FINALIZER,))
    _quietly(lambda: world.create(claim | {"status": claim.get("status") or {}}, "velero"))
    yield from _while(rng)
    for each in copies:
        again = {name: value for name, value in meta_of(each).items() if name in ("name", "namespace", "labels")}
        _quietly(lambda each=each, again=again: world.create(each | {"metadata": again}, "velero"))  # type: ignore[misc]
    again = vm(_NAME, rng.choice(("Always", "Halted")))
    _quietly(lambda: world.create(again | ({"spec": was["spec"]} if was is not None else {}), "velero"))
    yield from _while(rng)
    _status(world, made, "velero", phase="Completed")
