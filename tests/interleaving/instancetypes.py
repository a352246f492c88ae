"""VMs with an instancetype of which the copy is lost, left over, or not made yet: how they begin, and what people do.

What has to hold of a write is in `copies`. VM `db` is of instancetype `small`; VM `web` has it too. Not here: versions
of KubeVirt that keep no reference in the status, preferences, and pools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

from demo.apiserver.errors import ApiError
from demo.fleet import objects
from demo.fleet.instancetypes import copy, copy_name, refer
from demo.fleet.surroundings import kubevirt
from exporter.facts.record import Ref
from reconcile.decide.repair import Hint
from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED

from .made import started
from .people import delete_namespace, delete_vm, migrate, recreate_vm, start_or_stop, vm
from .platform import Platform
from .saving import backup, clone, restore, restored_from_outside, snapshot
from .stashing import COPY, SIZE, named_by, started_with
from .steward import hint_for
from .strangers import forge, forged_copy, replace, replaced_copy
from .world import Obj, World, meta_of, with_meta

__all__ = ["ACTS", "begin", "hint", "small"]

_VM = "VirtualMachine"
_STATES = ("lost", "lost", "lost", "lost", "left over", "left over", "without a copy")
_OLD, _DAY = "2026-06-01T00:00:00Z", 86_400.0
_ODD = ("", "", "", "", "pinned", "sets its CPUs", "being deleted", "policy", "of 1.4", "managed", "held", "of another")
Act = Callable[[World, Platform, Random], Iterator[None]]


def small(generation: int, uid: str = "t1", name: str = "small") -> Obj:
    """Each generation of it has another number of CPUs."""
    number = generation + sum(map(ord, uid)) % 7
    spec = {"cpu": {"guest": number}, "memory": {"guest": f"{number}Gi"}}
    return objects.new(SIZE, "", name, uid=uid, created=_OLD, generation=generation, spec=spec)


def begin(world: World, platform: Platform, rng: Random) -> None:
    state, odd = rng.choice(_STATES), rng.choice(_ODD)
    policy = {"instancetype": {"referencePolicy": "expandAll"}} if odd == "policy" else {}
    version = "v1.4.1" if odd == "of 1.4" else "v1.7.1"
    upgrades = "v1.8.0" if rng.random() < 0.05 else None
    world.create(kubevirt("kubevirt", "kubevirt", version, target=upgrades, configuration=policy), "admin")
    world.create(objects.new("Namespace", "", "tenant", status={"phase": "Active"}), "admin")
    platform.keeping, platform.stashing = True, state != "without a copy"
    had = small(1)
    live = world.create(_live(had, odd, rng), "admin")
    if rng.random() < 0.5:
        newer = with_meta(live, generation=2) | {"spec": small(2)["spec"]}
        world.change(live, "admin", lambda _: newer)
    made = _db(world, state, odd, had, rng)
    if state != "lost":
        left_over = state == "left over" or rng.random() < 0.6  # one that KubeVirt is about to take again
        _copied(world, made, had, odd, world.ago(rng.choice((2.0, 2.0, 0.3)) * _DAY), left_over=left_over)
    if odd != "sets its CPUs" and rng.random() < 0.4:
        _runs(world, made, had)
    if rng.random() < 0.3:
        other = world.create(refer(vm("web", "Halted", uid="u-web"), "instancetype", had, _named("web", had)), "user")
        world.create(copy(other, had), "virt-controller")
    if rng.random() < 0.3:
        forge(world, rng)
    if rng.random() < 0.3:
        replace(world)
    world.born = {uid: since - 2 * _DAY for uid, since in world.born.items()}


def _live(live: Obj, odd: str, rng: Random) -> Obj:
    notes = {ALLOWED: "true"} if rng.random() < 0.8 else {}
    labels = {"app.kubernetes.io/managed-by": "virt-operator"} if odd == "managed" else {}
    live = with_meta(live, annotations=notes, labels=labels)
    if odd == "being deleted":
        return with_meta(live, deletionTimestamp="2026-07-01T00:00:00Z", finalizers=["example.org/keep"])
    return live


def _named(name: str, of: Obj) -> str:
    return copy_name({"metadata": {"name": name}}, of)


def _db(world: World, state: str, odd: str, had: Obj, rng: Random) -> Obj:
    """Its copy is that of generation 1, or it has none; or it was given another object since."""
    made = vm("db", rng.choice(("Halted", "Halted", "Manual", "Always")), uid="u-db", created=_OLD)
    if odd == "sets its CPUs":
        made["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 2}
    if state == "left over" and rng.random() < 0.8:
        return world.create(made, "user")  # it has no instancetype any more
    revision = "" if state == "without a copy" else _named("db", had)
    made = refer(made, "instancetype", had, "" if odd == "pinned" else revision)
    if odd == "pinned" and revision:
        made["spec"]["instancetype"]["revisionName"] = revision
    return world.create(made, "user")


def _copied(world: World, made: Obj, had: Obj, odd: str, created: str, *, left_over: bool) -> None:
    if left_over or named_by(made):
        kept = copy(made, had, created=created)
        if odd == "held":
            kept = with_meta(kept, finalizers=["example.org/keep"])
        if odd == "of another":
            owners = [objects.owner("VirtualMachineSnapshot", "s", "s1", "snapshot.kubevirt.io/v1beta1")]
            kept = with_meta(kept, ownerReferences=owners)
        world.create(kept, "virt-controller")


def _runs(world: World, made: Obj, had: Obj) -> None:
    wants = bool(made["spec"].get("instancetype"))
    running = started_with(world, made, started(made), had if wants else None)
    running["status"]["phase"] = "Running"
    world.create(running, "virt-controller")


def hint(world: World, rng: Random) -> tuple[str, Hint] | None:
    """What may have been found."""
    found = world.get(_VM, "db")
    if found is not None and found["spec"].get("instancetype") and rng.random() < 0.8:
        name = named_by(found)
        if name and world.get(COPY, name) is None:
            ref = Ref(_VM, "ns", "db", meta_of(found)["uid"])
            return "restash_missing_revision", hint_for("instancetype_vms", "RevisionMissing", ref, "instancetype")
        live = world.get(SIZE, "small", "")
        if not name and live is not None and rng.random() < 0.6:
            ref = Ref(SIZE, "", "small", meta_of(live)["uid"])
            return "guard_instancetype", hint_for("instancetype_objects", "DeletableInUse", ref)
    copies = [each for each in world.all(COPY) if not meta_of(each)["name"].startswith("revision-start")]
    if not copies:
        return None
    meta = meta_of(rng.choice(copies))
    ref = Ref(COPY, meta["namespace"], meta["name"], meta["uid"])
    return "delete_orphan_revision", hint_for("instancetype_revisions", "OrphanedRevision", ref)


def _quietly(call: Callable[[], object]) -> None:
    with suppress(ApiError):
        call()


def edit(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """A new generation of the instancetype."""
    found = world.get(SIZE, "small", "")
    yield
    if found is not None:
        meta = meta_of(found)
        newer = small(meta["generation"] + 1, meta["uid"])
        changed = with_meta(found, generation=meta["generation"] + 1) | {"spec": newer["spec"]}
        _quietly(lambda: world.change(found, "admin", lambda _: changed))


def delete(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    _quietly(lambda: world.delete((SIZE, "", "small"), "admin"))


def delete_guarded(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    """As soon as something holds it."""
    while not meta_of(world.get(SIZE, "small", "") or {"metadata": {"finalizers": ["gone"]}}).get("finalizers"):
        yield
    yield from delete(world, platform, rng)


def make_anew(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    """Another one of the name."""
    yield from delete(world, platform, rng)
    yield
    _quietly(lambda: world.create(small(1, f"t{world.version}"), "admin"))


def lose(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Somebody deletes the copy of VM `db`."""
    found = world.get(_VM, "db")
    yield
    if found is not None and named_by(found):
        _quietly(lambda: world.delete((COPY, "ns", named_by(found)), "user"))


def lose_and_bring_back(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    found = world.get(_VM, "db")
    kept = world.get(COPY, named_by(found)) if found is not None else None
    yield from lose(world, platform, rng)
    for _ in range(rng.choice((1, 10, 40))):
        yield
    if kept is not None:
        again = {name: value for name, value in meta_of(kept).items() if name not in ("uid", "creationTimestamp")}
        _quietly(lambda: world.create(kept | {"metadata": again}, "user"))


def resize(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """To another instancetype, to none, or back to the first one; or the spec is pinned to a copy that there is."""
    if world.get(SIZE, "large", "") is None:
        world.create(small(5, "t5", "large"), "admin")
    for _time in range(rng.choice((1, 2))):
        found = world.get(_VM, "db")
        yield
        if found is None:
            return
        copies = [meta_of(each)["name"] for each in world.all(COPY) if meta_of(each).get("labels")]
        pin = {"revisionName": rng.choice(copies)} if copies and rng.random() < 0.4 else {}
        matcher = {"kind": SIZE, "name": "small" if pin else rng.choice(("small", "large"))} | pin
        spec = {name: value for name, value in found["spec"].items() if name != "instancetype"}
        spec |= {"instancetype": matcher} if rng.random() < 0.8 else {}
        _quietly(lambda found=found, spec=spec: world.change(found, "user", lambda now: now | {"spec": spec}))  # type: ignore[misc]


def controller_back(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    yield
    platform.stashing = True


ACTS: tuple[Act, ...] = (
    *(
        edit,
        delete,
        delete_guarded,
        delete_guarded,
        make_anew,
        lose,
        lose,
        lose_and_bring_back,
        resize,
        resize,
        resize,
        controller_back,
    ),
    *(forged_copy, replaced_copy, snapshot, restore, restored_from_outside, clone, backup),
    *(start_or_stop, delete_vm, recreate_vm, migrate, delete_namespace),
)
