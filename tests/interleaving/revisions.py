"""VMs whose copy nobody owns, is pinned without labels, is named by their status alone, or is yet to be made.

VM `db` is of instancetype `small`; what has to hold of a write is in `belonging`. Not here: preferences and pools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

from demo.apiserver.errors import ApiError
from demo.fleet import objects
from demo.fleet.instancetypes import copy, copy_name, refer, reference
from demo.fleet.objects import owner, owner_of
from demo.fleet.surroundings import kubevirt
from exporter.facts.record import Ref
from reconcile.decide.repair import Hint

from .belonging import ended_at_start
from .instancetypes import controller_back, edit, lose, lose_and_bring_back, resize, small
from .made import started
from .people import delete_namespace, delete_vm, recreate_vm, start_or_stop, vm
from .platform import Platform
from .saving import backup, clone, restore, restored_from_outside, snapshot
from .stashing import COPY, LABEL, named_by, started_with, with_ref
from .steward import hint_for
from .world import Obj, World, meta_of, with_meta

__all__ = ["ACTS", "begin", "hint"]

_VM, _CHECK = "VirtualMachine", "instancetype_vms"
_STATES = (
    *("no owner", "no owner", "earlier owner", "no labels", "no labels", "no copy", "no copy"),
    *("no matcher", "no matcher", "no matcher"),
    *(
        "owned elsewhere",
        "of a snapshot",
        "of another name",
        "of an old version",
        "of an unknown object",
        "wrong label",
    ),
)
_ODD = {
    "no matcher": ("", "", "", "runs with it", "saved with it", "unnoted", "noted just now"),
    "no copy": ("", "", "", "fails", "crashes", "crashes", "name taken"),
}
"""What forbids a repair that would else be made, by state."""
_PINNED = ("no labels", "of an old version", "of an unknown object", "wrong label")
_RELEASES = {"of an old version": "v1.6.5", "crashes": "v1.7.0", "runs with it": "v1.7.1", "saved with it": "v1.7.1"}
_OLD, _DAY = "2026-06-01T00:00:00Z", 86_400.0
Act = Callable[[World, Platform, Random], Iterator[None]]


def begin(world: World, platform: Platform, rng: Random) -> None:
    state = rng.choice(_STATES)
    odd = rng.choice(_ODD.get(state, ("",)))
    policy = {"instancetype": {"referencePolicy": "expand"}} if rng.random() < 0.05 else {}
    upgrades = "v1.8.0" if rng.random() < 0.05 else None
    version = _RELEASES.get(state, "") or _RELEASES.get(odd, "") or rng.choice(("v1.7.0", "v1.7.1"))
    world.create(kubevirt("kubevirt", "kubevirt", version, target=upgrades, configuration=policy), "admin")
    world.create(objects.new("Namespace", "", "tenant", status={"phase": "Active"}), "admin")
    platform.keeping = platform.noting = True
    platform.stashing = state not in (*_PINNED, "no copy") and rng.random() < 0.8
    had = world.create(small(1), "admin")
    if rng.random() < 0.3:
        newer = with_meta(had, generation=2) | {"spec": small(2)["spec"]}
        world.change(had, "admin", lambda _: newer)
    made = _db(world, state, odd, had, rng)
    if state == "owned elsewhere":
        world.create(with_meta(vm("db", "Halted", uid="u-there"), namespace="tenant"), "tenant")
    if state == "of a snapshot":
        source = {"apiGroup": "kubevirt.io", "kind": _VM, "name": "db"}
        spec, status = {"source": source}, {"phase": "Succeeded"}
        saved = objects.new("VirtualMachineSnapshot", "ns", "s", uid="s1", created=_OLD, spec=spec, status=status)
        world.create(saved, "user")
    if odd == "name taken":  # by what somebody else has put there
        live = world.get(had["kind"], "small", "") or had
        world.create(copy(made, live | {"spec": {"cpu": {"guest": 64}, "memory": {"guest": "1Gi"}}}), "tenant")
    if state != "no copy":
        world.create(_kept(made, had, state), "virt-controller")
    _had(world, made, had, odd, rng)
    if rng.random() < 0.2:
        _shares(world, made, had, rng)
    world.born = {uid: since - 2 * _DAY for uid, since in world.born.items()}


def _had(world: World, made: Obj, had: Obj, odd: str, rng: Random) -> None:
    """What runs of VM `db`, and what is saved of it, maybe of when it had the instancetype."""
    before = refer(made | {"spec": {**made["spec"]}}, "instancetype", had)
    if odd == "runs with it" or rng.random() < 0.3:
        running = started_with(world, before if odd == "runs with it" else made, started(made), had)
        running["status"]["phase"] = "Running"
        world.create(running, "virt-controller")
    if odd == "saved with it":
        saved = {"metadata": {"name": "db", "namespace": "ns"}, "spec": before["spec"]}
        spec: Obj = {"source": {"virtualMachine": saved}, "virtualMachineSnapshotName": "before"}
        kept = objects.new("VirtualMachineSnapshotContent", "ns", "before", spec=spec, status={})
        world.create(kept, "virt-controller")


def _db(world: World, state: str, odd: str, had: Obj, rng: Random) -> Obj:
    made = vm("db", rng.choice(("Halted", "Manual", "Always")), uid="u-db", created=_OLD)
    if odd == "fails":  # by which KubeVirt says why it makes no copy
        made["status"] = {"conditions": [objects.condition("Failure", holds=True, reason="FailedCreate")]}
    if odd == "crashes":
        gone = {"kind": "VirtualMachineClusterPreference", "name": "linux"}
        made["status"] = {"preferenceRef": gone | {"controllerRevisionRef": {"name": "gone"}}}
    name = "sizes" if state == "of another name" else copy_name(made, had)
    if state == "no matcher":
        return world.create(_noted(with_ref(made, reference(had, name)), odd, world), "user")
    made = refer(made, "instancetype", had, "" if state in (*_PINNED, "no copy") else name)
    if state in _PINNED:
        made["spec"]["instancetype"]["revisionName"] = "kept"
    return world.create(made, "user")


def _noted(made: Obj, odd: str, world: World) -> Obj:
    """With what virt-controller has written into the status of a VM that ran after its spec was changed last."""
    made["status"]["desiredGeneration"] = 0 if odd == "unnoted" else 1
    fields: Obj = {"f:status": {"f:desiredGeneration": {}}}
    time = world.ago(600) if odd == "noted just now" else _OLD
    entry = {"manager": "virt-controller", "operation": "Update", "subresource": "status", "time": time}
    return with_meta(made, managedFields=[entry | {"fieldsV1": fields}])


def _kept(made: Obj, had: Obj, state: str) -> Obj:
    if state in _PINNED:
        labels = {f"{LABEL}uid": "other"} if state == "wrong label" else {}
        version = "v1alpha2" if state == "of an old version" else "v1beta1"
        pinned = copy(made, had, name="kept", labels=labels, version=version, created=_OLD)
        if state == "of an unknown object":
            del pinned["data"]["metadata"]["uid"]
        return pinned
    name = "sizes" if state == "of another name" else ""
    kept = with_meta(copy(made, had, name=name, created=_OLD), ownerReferences=_owners(made, state))
    if not _owners(made, state):
        del kept["metadata"]["ownerReferences"]
    return kept


def _owners(made: Obj, state: str) -> list[Obj]:
    others = {
        "earlier owner": [owner(_VM, "db", "u-earlier")],
        "owned elsewhere": [owner(_VM, "db", "u-there")],
        "of a snapshot": [owner("VirtualMachineSnapshot", "s", "s1", "snapshot.kubevirt.io/v1beta1")],
    }
    return [] if state in ("no owner", "of another name") else others.get(state, [owner_of(made)])


def _shares(world: World, made: Obj, had: Obj, rng: Random) -> None:
    """VM `web` refers to the copy of VM `db`."""
    name = named_by(made) or copy_name(made, had)
    web = refer(vm("web", "Halted", uid="u-web"), "instancetype", had, name)
    if rng.random() < 0.5:
        web["spec"]["instancetype"]["revisionName"] = name
    world.create(web, "user")


def hint(world: World, _: Random) -> tuple[str, Hint] | None:
    """What may have been found."""
    found = world.get(_VM, "db")
    if found is None:
        return None
    ref, matcher = Ref(_VM, "ns", "db", meta_of(found)["uid"]), found["spec"].get("instancetype")
    kept = world.get(COPY, named_by(found)) if named_by(found) else None
    if not matcher:
        reason = "CrashingReference" if ended_at_start(world) else "StaleReference"
        return ("drop_stale_reference", _found(reason, ref)) if named_by(found) else None
    if kept is None:
        return None if named_by(found) else ("nudge_unversioned_vm", _found("Unversioned", ref))
    if matcher.get("revisionName") and f"{LABEL}version" not in (meta_of(kept).get("labels") or {}):
        return "label_pinned_revision", _found("LabellessPin", ref)
    owners = [each["uid"] for each in meta_of(kept).get("ownerReferences") or ()]
    return None if owners == [ref.uid] else ("adopt_revision", _found("RevisionNotOwned", ref))


def _found(reason: str, ref: Ref) -> Hint:
    return hint_for(_CHECK, reason, ref, "instancetype")


def _quietly(call: Callable[[], object]) -> None:
    with suppress(ApiError):
        call()


def _change(world: World, thing: Obj | None, by: str, change: Callable[[Obj], Obj]) -> None:
    if thing is not None:
        _quietly(lambda: world.change(thing, by, change))


def _copy_of_db(world: World) -> Obj | None:
    found = world.get(_VM, "db")
    return world.get(COPY, named_by(found)) if found is not None and named_by(found) else None


def share(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Somebody has another VM refer to the copy."""
    found, had = world.get(_VM, "db"), world.get("VirtualMachineClusterInstancetype", "small", "")
    for _turn in range(rng.choice((0, 1, 10))):
        yield
    if found is not None and had is not None and world.get(_VM, "web") is None:
        _quietly(lambda: _shares(world, found, had, rng))


def own(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Somebody makes a snapshot, another VM or the VM itself its owner, or nobody."""
    kept = _copy_of_db(world)
    found = world.get(_VM, "db")
    snapshots = "snapshot.kubevirt.io/v1beta1"
    owners = [[], [owner(_VM, "web", "u-web")], [owner("VirtualMachineSnapshot", "s", "s1", snapshots)]]
    owners += [[owner_of(found)]] if found is not None else []
    yield
    chosen = rng.choice(owners)
    _change(world, kept, "user", lambda now: with_meta(now, ownerReferences=chosen))


def relabel(world: World, _: Platform, rng: Random) -> Iterator[None]:
    kept = _copy_of_db(world)
    yield
    labels = {f"{LABEL}uid": rng.choice(("t1", "other"))}
    _change(world, kept, "user", lambda now: with_meta(now, labels={**(meta_of(now).get("labels") or {}), **labels}))


def take_matcher(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """It goes, and comes back after a while."""
    found = world.get(_VM, "db")
    yield
    spec = {name: value for name, value in (found or {"spec": {}})["spec"].items() if name != "instancetype"}
    _change(world, found, "user", lambda now: now | {"spec": spec})
    for _turn in range(rng.choice((1, 10, 40))):
        yield
    if found is not None and found["spec"].get("instancetype"):
        matcher = {"instancetype": found["spec"]["instancetype"]}
        _change(world, world.get(_VM, "db"), "user", lambda now: now | {"spec": now["spec"] | matcher})


def give_matcher(world: World, _: Platform, rng: Random) -> Iterator[None]:
    had = world.get("VirtualMachineClusterInstancetype", "small", "")
    for _turn in range(rng.choice((0, 1, 10))):
        yield
    if had is not None:
        matcher = {"instancetype": {"kind": had["kind"], "name": "small"}}
        _change(world, world.get(_VM, "db"), "user", lambda now: now | {"spec": now["spec"] | matcher})


def pin(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """The pin is taken off, or set to any copy."""
    found = world.get(_VM, "db")
    copies = [meta_of(each)["name"] for each in world.all(COPY) if "metadata" in each["data"]]
    yield
    if found is None or not found["spec"].get("instancetype"):
        return
    matcher = {name: value for name, value in found["spec"]["instancetype"].items() if name != "revisionName"}
    matcher |= {"revisionName": rng.choice(copies)} if copies and rng.random() < 0.4 else {}
    _change(world, found, "user", lambda now: now | {"spec": now["spec"] | {"instancetype": matcher}})


ACTS: tuple[Act, ...] = (
    *(share, share, own, own, relabel, take_matcher, give_matcher, pin, pin, resize),
    *(controller_back, controller_back, edit, lose, lose_and_bring_back),
    *(snapshot, restore, restored_from_outside, clone, backup),
    *(start_or_stop, delete_vm, recreate_vm, recreate_vm, delete_namespace),
)
