"""VMs whose firmware UUID is shared, not persisted, or another one than runs: how they begin, what people do to them,
and what has to hold of a write to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from exporter.demo import objects
from exporter.demo.objects import owner
from exporter.demo.surroundings import kubevirt
from exporter.model.firmware import group_id, legacy
from exporter.model.record import Ref
from reconcile.confirm import Hint

from .access import COMPLETED, Write
from .made import launched, started
from .network import LINK
from .people import migrate, recreate_vm, restored, start_or_stop, vm
from .platform import Platform
from .steward import hint_for
from .world import Change, Obj, World, meta_of, with_meta

__all__ = ["ACTS", "Firmware", "begin", "hint"]

_ONE, _TWO = "8a54ddf6-9bf3-4ee9-9f1c-0d4b1a6c2e11", "1f6a3c1e-4a67-4bb7-8a5b-6c0a3f0d9b22"
_THREE = "3b0a6a0e-7a2f-4f43-9d0c-5a0f3f7f3c33"
_STATES = ("shared", "shared", "shared", "not persisted", "mismatch", "mismatch")
_OLDEST, _OLD, _LATER = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"
_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
Act = Callable[[World, Platform, Random], Iterator[None]]


def begin(world: World, platform: Platform, rng: Random) -> None:
    """VM `db`, and VM `web` that may have the same UUID."""
    world.create(kubevirt("kubevirt", "kubevirt", rng.choice(("v1.5.2", "v1.7.1"))), "admin")
    state = rng.choice(_STATES)
    uuid = "" if state == "not persisted" else _ONE
    strategy = rng.choice(("Halted", "Halted", "Halted", "Always", "Manual"))
    made = _varied(vm("db", strategy, uuid=uuid, uid="u-db", created=_OLD), rng)
    made = world.create(made, "user")
    if strategy == "Always" or state == "mismatch" or rng.random() < 0.1:
        _run(world, made, _TWO if state == "mismatch" else uuid, foreign=rng.random() < 0.1)
    shared = _ONE if state == "shared" else rng.choice((_TWO, _THREE, _THREE))
    older = rng.choice((_OLDEST, _OLDEST, _LATER))  # the oldest keeps the UUID
    other = world.create(vm("web", rng.choice(("Always", "Halted")), uuid=shared, created=older), "user")
    if other["spec"]["runStrategy"] == "Always" and rng.random() < 0.7:
        _run(world, other, other["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"])
    if rng.random() < 0.1:
        _left_by_a_restore(world)
    world.born = {uid: since - 3600 for uid, since in world.born.items()}


def _varied(made: Obj, rng: Random) -> Obj:
    """Now and then with what forbids to change it."""
    kind = rng.choice(("pool", "saved", "state", "manifest", *([""] * 12)))
    if kind == "pool":
        return with_meta(made, ownerReferences=[owner("VirtualMachinePool", "p", "u-p", "pool.kubevirt.io/v1beta1")])
    if kind == "saved":
        return made | {"status": {"snapshotInProgress": "s1"}}
    if kind == "manifest":
        return with_meta(made, annotations={"kubectl.kubernetes.io/last-applied-configuration": f'"{_ONE}"'})
    if kind == "state":
        made["spec"]["template"]["spec"]["domain"]["devices"]["tpm"] = {"persistent": True}
    return made


def _run(world: World, made: Obj, uuid: str, *, foreign: bool = False) -> None:
    running = started(made)
    running["spec"]["domain"]["firmware"]["uuid"] = uuid or legacy(meta_of(made)["name"])
    running["status"]["phase"] = "Running"
    if foreign:
        running = with_meta(running, ownerReferences=[])
    running = world.create(running, "virt-controller")
    name = meta_of(made)["name"]
    pod = launched(running, f"virt-launcher-{name}-0", f"{name}.blue")
    world.create(pod | {"status": pod["status"] | {"phase": "Running"}}, "virt-controller")


def _left_by_a_restore(world: World) -> None:
    target = {"apiGroup": "kubevirt.io", "kind": _VM, "name": "db"}
    spec = {"target": target, "virtualMachineSnapshotName": "s"}
    status = {"complete": True, "restoreTime": world.ago(600)}
    world.create(objects.new("VirtualMachineRestore", "ns", "r0", spec=spec, status=status), "user")


def hint(world: World, rng: Random) -> tuple[str, Hint] | None:
    """What may have been found of VM `db`."""
    found = world.get(_VM, "db")
    if found is None:
        return None
    ref, uuid = Ref(_VM, "ns", "db", meta_of(found)["uid"]), uuid_of(found)
    if not uuid:
        return "persist_firmware_uuid", hint_for("firmware_vms", "NotPersisted", ref)
    running = world.get(_VMI, "db")
    if running is not None and running["spec"]["domain"]["firmware"]["uuid"] != uuid and rng.random() < 0.8:
        return "persist_firmware_uuid", hint_for("firmware_vms", "SpecRunMismatch", ref)
    reason = rng.choice(("Duplicate", "LatentDuplicate", "LatentDuplicate"))
    return "reassign_firmware_uuid", hint_for("firmware_duplicates", reason, ref, group_id(uuid))


def uuid_of(thing: Obj) -> str:
    spec = thing["spec"]["template"]["spec"] if thing["kind"] == _VM else thing["spec"]
    uuid: str = (spec["domain"].get("firmware") or {}).get("uuid") or ""
    return uuid


def _edited(world: World, name: str, uuid: str, by: str = "user") -> None:
    found = world.get(_VM, name)
    if found is None:
        return
    template = found["spec"]["template"]
    domain = template["spec"]["domain"] | {"firmware": {"uuid": uuid} if uuid else None}
    spec = found["spec"] | {"template": template | {"spec": template["spec"] | {"domain": domain}}}
    world.change(found, by, lambda now: now | {"spec": spec})


def edit_uuid(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    _edited(world, rng.choice(("db", "web")), rng.choice((_ONE, _TWO, "")))


def restart(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """`kubectl delete vmi`: virt-controller makes another one by the VM's spec."""
    yield
    if world.get(_VMI, "db") is not None:
        world.delete((_VMI, "ns", "db"), "user")


def delete_other(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    if world.get(_VM, "web") is not None:
        world.delete((_VM, "ns", "web"), "user")


def snapshot(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    found = world.get(_VM, "db")
    if found is not None:
        world.change(found, "virt-controller", lambda now: now | {"status": {"snapshotInProgress": "s2"}})


def copy_vm(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Another VM comes with a UUID that is there already, be it the one that would be given next."""
    yield
    found = world.get(_VM, "db")
    if found is not None and world.get(_VM, "copy") is None:
        world.create(vm("copy", "Halted", uuid=uuid_of(found) or _ONE), "user")


ACTS: tuple[Act, ...] = (
    edit_uuid,
    edit_uuid,
    restart,
    restart,
    start_or_stop,
    start_or_stop,
    delete_other,
    snapshot,
    copy_vm,
    migrate,
    recreate_vm,
    restored,
)


@dataclass
class Firmware:
    """What has to hold of a write to a VM's firmware."""

    world: World
    seen: float = 3 * LINK
    _ran: dict[str, tuple[str, float]] = field(default_factory=dict)  # what ran last, and until when, by VM
    _had: list[tuple[str, str, float]] = field(default_factory=list)  # VM or VMI, the UUID that it lost, and when

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch)

    def _watch(self, change: Change) -> None:
        if change.key[0] not in (_VM, _VMI) or change.before is None:
            return
        had = uuid_of(change.before)
        if change.after is None or uuid_of(change.after) != had:
            self._had.append((change.key[2], had, self.world.now))
        if change.key[0] == _VMI and change.after is None:
            self._ran[change.key[2]] = had, self.world.now

    def of(self, write: Write) -> Iterator[tuple[str, str]]:
        before, after = write.before, write.after
        if before is None or after is None:
            return
        meta, running = meta_of(before), self.world.get(_VMI, meta_of(before)["name"])
        if meta.get("ownerReferences"):
            yield "made by nobody else", f"{meta['ownerReferences'][0]['kind']} makes it from a template"
        if meta.get("deletionTimestamp"):
            yield "nothing moves", "it is being deleted"
        yield from self._saved(before)
        assert write.plan is not None
        if write.plan.remediation == "persist_firmware_uuid":
            yield from self._persisted(before, after, running)
        else:
            yield from self._reassigned(before, after, running)

    def _saved(self, before: Obj) -> Iterator[tuple[str, str]]:
        name = meta_of(before)["name"]
        if (before.get("status") or {}).get("snapshotInProgress"):
            yield "nothing is restored", "a snapshot of it is being taken"
        for each in self.world.all("VirtualMachineRestore"):
            if not each["status"]["complete"] and self.world.age(each) > self.seen:
                yield "nothing is restored", f"restore {meta_of(each)['name']} is under way"
        for each in self.world.all("VirtualMachineInstanceMigration"):
            moves = each["spec"]["vmiName"] == name and each["status"]["phase"] not in COMPLETED
            if moves and self.world.age(each) > self.seen:
                yield "nothing moves", f"migration {meta_of(each)['name']} is {each['status']['phase']}"

    def _persisted(self, before: Obj, after: Obj, running: Obj | None) -> Iterator[tuple[str, str]]:
        name, now = meta_of(before)["name"], uuid_of(after)
        if running is not None:
            if uuid_of(running) != now:
                yield "identity in use", f"it gets {now}, and runs with {uuid_of(running)}"
            if not meta_of(running).get("ownerReferences"):
                yield "identity in use", "what runs under its name is not its own"
            return
        uuid, until = self._ran.get(name, ("", 0.0))
        just_now = uuid == now and self.world.now - until < self.seen
        if now != (uuid_of(before) or legacy(name)) and not just_now:
            yield "identity in use", f"it gets {now}, and would have started with {uuid_of(before) or legacy(name)}"
        if meta_of(before).get("annotations") and uuid_of(before):
            yield "identity in use", "a manifest sets the UUID that it had"
        for each in self.world.all("VirtualMachineRestore"):
            if each["status"].get("restoreTime"):
                yield "nothing is restored", "it was restored a moment ago"

    def _reassigned(self, before: Obj, after: Obj, running: Obj | None) -> Iterator[tuple[str, str]]:
        old, name = uuid_of(before), meta_of(before)["name"]
        if running is not None:
            yield "identity in use", f"its VMI is {running['status']['phase']}"
        for pod in self.world.all("Pod"):
            launches = meta_of(pod)["annotations"].get("kubevirt.io/domain") == name
            if launches and pod["status"]["phase"] not in COMPLETED and self.world.age(pod) > self.seen:
                yield "identity in use", f"its launcher pod {meta_of(pod)['name']} runs"
        if before["spec"].get("runStrategy") not in ("Halted", "Manual"):
            yield "identity in use", f"it starts by itself: {before['spec'].get('runStrategy')}"
        if before["spec"]["template"]["spec"]["domain"]["devices"].get("tpm"):
            yield "state is kept", "it loses its persistent TPM"
        others = [each for each in (*self.world.all(_VM), *self.world.all(_VMI)) if meta_of(each)["name"] != name]
        if any(uuid_of(each) == uuid_of(after) for each in others):
            yield "its own", f"another one has {uuid_of(after)} too"
        if not any(uuid_of(each) == old for each in others) and not self._shared_just_now(old, name):
            yield "its own", f"nobody else has {old}"

    def _shared_just_now(self, uuid: str, name: str) -> bool:
        """By a VM that was there a moment ago."""
        return any(by != name and had == uuid and self.world.now - until < self.seen for by, had, until in self._had)
