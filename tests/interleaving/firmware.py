"""VMs whose firmware UUID is shared, not persisted, or another one than runs: how they begin, and what people do to
them. What has to hold of a write to one is in `identity`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from uuid import uuid5

from demo.apiserver.errors import ApiError
from demo.fleet import objects
from demo.fleet.objects import owner, owner_of
from demo.fleet.surroundings import kubevirt
from exporter.facts.firmware import comparable, group_id, legacy
from exporter.facts.record import Ref
from reconcile.decide.repair import Hint
from reconcile.plan.remediations.identity import reassign_firmware_uuid, replace_invalid_uuid
from reconcile.plan.remediations.identity.reassign_firmware_uuid import ALLOWED

from .identity import PLACEHOLDER, domain_of, identifies, uuid_of
from .made import launched, started
from .people import delete_namespace, migrate, recreate_vm, restored, start_or_stop, vm
from .platform import Platform
from .stashing import started_with
from .steward import hint_for
from .world import Obj, World, meta_of, with_meta

__all__ = ["ACTS", "COPIED", "ODD", "OF_INVALID", "STATE_OF", "Odd", "around", "begin", "hint", "varied"]

# What may be odd about a VM with a firmware UUID, each of which forbids to change that.

Odd = str
COPIED = "8a54ddf6-9bf3-4ee9-9f1c-0d4b1a6c2e11"
"""The UUID of VM `db`, if its spec has one."""

_TPM = {"tpm": {"persistent": True}}
_EFI = {"bootloader": {"efi": {"persistent": True}}}
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ARGO = "argocd.argoproj.io/tracking-id"
_ANY = ("of a pool", "being saved", "being deleted", "being restored", "of Git")
STATE_OF = {
    "manifest": "mismatch",
    "placeholder": "not persisted",
    "not its own": "not persisted",
    "without a domain": "not persisted",
    "restored": "not persisted",
    "receives": "not persisted",
    **dict.fromkeys(("TPM", "EFI", "TPM by preference", "preference gone", "critical", "elsewhere"), "shared"),
    **dict.fromkeys(("snapshot", "given before", "lost pod", "waits", "asked to start", "starting"), "shared"),
}
"""In which state it makes a difference; of any other odd thing in all of them."""

OF_INVALID = tuple(odd for odd, state in STATE_OF.items() if state == "shared" and odd not in ("critical", "elsewhere"))
"""What makes a difference where its UUID identifies nobody, too."""
ODD: tuple[Odd, ...] = (*_ANY, *STATE_OF)
_KEEPS_STATE = ("TPM", "EFI", "TPM by preference", "preference gone")
_STRATEGY = {
    "receives": "WaitAsReceiver",
    **dict.fromkeys(("manifest", "placeholder", "not its own", "waits"), "Always"),
    **dict.fromkeys(("asked to start", "starting"), "Manual"),
}
"""Of VM `db`; else it is halted."""


def varied(made: Obj, odd: Odd, world: World) -> Obj:
    """VM `db` as it is to be created."""
    if odd in STATE_OF:
        made["spec"]["runStrategy"] = _STRATEGY.get(odd, "Halted")
    change = _VARIED.get(odd)
    return made if change is None else change(made, world)


def _template(made: Obj, **fields: object) -> Obj:
    made["spec"]["template"]["spec"] |= fields
    return made


def _domain(made: Obj, **fields: object) -> Obj:
    domain = made["spec"]["template"]["spec"]["domain"]
    for name, value in fields.items():
        domain[name] = (domain.get(name) or {}) | value  # type: ignore[operator] # maps all
    return made


def _domainless(made: Obj, _: World) -> Obj:
    del made["spec"]["template"]["spec"]["domain"]
    return made


def _preferring(made: Obj, _: World) -> Obj:
    made["spec"]["preference"] = {"kind": "VirtualMachinePreference", "name": "sealed"}
    return made


def _waiting(made: Obj, _: World) -> Obj:
    """For its disks, which is why it does not start."""
    return made | {"status": {"printableStatus": "Provisioning"}}


def _asked(made: Obj, _: World) -> Obj:
    return made | {"status": {"printableStatus": "Provisioning", "stateChangeRequests": [{"action": "Start"}]}}


_POOL = owner("VirtualMachinePool", "p", "u-p", "pool.kubevirt.io/v1beta1")
_CRITICAL = "system-cluster-critical"
_VARIED: dict[Odd, Callable[[Obj, World], Obj]] = {
    "of a pool": lambda made, _: with_meta(made, ownerReferences=[_POOL]),
    "being saved": lambda made, _: made | {"status": {"snapshotInProgress": "s1"}},
    "being deleted": lambda made, world: with_meta(
        made, deletionTimestamp=world.ago(700), finalizers=["example.org/keep"]
    ),
    "of Git": lambda made, _: with_meta(made, annotations={_ARGO: "shop:kubevirt.io/VirtualMachine:ns/db"}),
    "manifest": lambda made, _: with_meta(made, annotations={_APPLIED: f'"{COPIED}"'}),
    "without a domain": _domainless,
    "TPM": lambda made, _: _domain(made, devices=_TPM),
    "EFI": lambda made, _: _domain(made, firmware=_EFI),
    "TPM by preference": _preferring,
    "preference gone": _preferring,
    "critical": lambda made, _: with_meta(_template(made, priorityClassName=_CRITICAL), annotations={ALLOWED: "true"}),
    "waits": _waiting,
    "asked to start": _asked,
}


def around(world: World, platform: Platform, made: Obj, odd: Odd) -> None:
    """What else there is of it, once it exists."""
    if odd in _KEEPS_STATE:
        _state_of(world, made)
    if odd in _AROUND:
        _AROUND[odd](world, made)


def _state_of(world: World, made: Obj) -> None:
    """Where KubeVirt keeps the state of its TPM and its EFI variables."""
    meta = {"namespace": "ns", "name": "persistent-state-for-db", "ownerReferences": [owner_of(made)]}
    world.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}, "virt-controller")


def _preference(world: World, _: Obj) -> None:
    spec = {"devices": {"preferredTPM": {"persistent": True}}}
    world.create(objects.new("VirtualMachinePreference", "ns", "sealed", spec=spec), "admin")


def _restore(world: World, *, complete: bool) -> None:
    """One that has ended ten minutes ago, or goes on since two hours."""
    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "db"}
    spec = {"target": target, "virtualMachineSnapshotName": "s"}
    status = {"complete": complete} | ({"restoreTime": world.ago(600)} if complete else {})
    made = objects.new("VirtualMachineRestore", "ns", "r0", created=world.ago(7200), spec=spec, status=status)
    world.create(made, "user")


def _snapshot(world: World, _: Obj) -> None:
    """Taken before VM `db` had a UUID in its spec."""
    saved = {"metadata": {"name": "db", "namespace": "ns"}, "spec": vm("db", "Halted")["spec"]}
    spec = {"source": {"virtualMachine": saved}, "virtualMachineSnapshotName": "s"}
    world.create(objects.new("VirtualMachineSnapshotContent", "ns", "vmsnapshot-content-s", spec=spec), "user")


def _elsewhere(world: World, _: Obj) -> None:
    """In another namespace somebody has created a VM with the same UUID, before this one."""
    far = vm("far", "Halted", uuid=COPIED, created="2026-01-01T00:00:00Z")
    world.create(with_meta(far, namespace="tenant"), "tenant")


def _given_before(world: World, made: Obj) -> None:
    """It has had a new UUID and was copied then, and a restore has brought the old one back."""
    old = made["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]
    given = reassign_firmware_uuid if old == COPIED else replace_invalid_uuid
    world.create(
        vm("copy", "Halted", uuid=str(uuid5(given._NAMESPACE, f"{meta_of(made)['uid']} {comparable(old)}"))), "user"
    )


def _lost_pod(world: World, made: Obj) -> None:
    """On a node that nobody reaches; its VMI was deleted by force, and nobody collects it."""
    pod = launched(with_meta(started(made), uid="u-vmi"), "virt-launcher-db-0", "db.blue")
    pod = with_meta(pod, ownerReferences=[]) | {"status": pod["status"] | {"phase": "Running"}}
    world.create(pod, "virt-controller")


_AROUND: dict[Odd, Callable[[World, Obj], None]] = {
    "TPM by preference": _preference,
    "being restored": lambda world, _: _restore(world, complete=False),
    "restored": lambda world, _: _restore(world, complete=True),
    "snapshot": _snapshot,
    "elsewhere": _elsewhere,
    "given before": _given_before,
    "lost pod": _lost_pod,
}


_FOUR = "7c1c36b4-0b1c-4a56-9d6e-5f1d2c3b4a55"
_TWO, _THREE = "1f6a3c1e-4a67-4bb7-8a5b-6c0a3f0d9b22", "3b0a6a0e-7a2f-4f43-9d0c-5a0f3f7f3c33"
_ODD = 0.4  # of the interleavings
_STATES = ("shared", "shared", "shared", "not persisted", "mismatch", "mismatch", "edited", "invalid", "invalid")
_INVALID = (PLACEHOLDER, PLACEHOLDER, "DB-server")
_OLDEST, _OLD, _LATER = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"
_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
Act = Callable[[World, Platform, Random], Iterator[None]]


def begin(world: World, platform: Platform, rng: Random) -> None:
    """VM `db`, and VM `web` that may have the same UUID; often with something that is odd about them."""
    world.create(kubevirt("kubevirt", "kubevirt", rng.choice(("v1.5.2", "v1.7.1"))), "admin")
    platform.keeping = True
    odd = rng.choice(ODD) if rng.random() < _ODD else ""
    state = STATE_OF.get(odd) or rng.choice(_STATES)
    if odd in OF_INVALID and rng.random() < _ODD:
        state = "invalid"
    made = _db(world, state, odd, rng)
    _run_db(world, platform, made, state, odd, rng)
    if state == "edited":
        _edited(world, "db", _FOUR)
    _web(world, state, odd, rng)
    around(world, platform, made, odd)
    world.born = {uid: since - 3600 for uid, since in world.born.items()}


def _db(world: World, state: str, odd: Odd, rng: Random) -> Obj:
    strategy = rng.choice(("Halted", "Halted", "Halted", "Always", "Manual"))
    uuid = {"not persisted": "", "invalid": rng.choice(_INVALID)}.get(state, COPIED)
    made = vm("db", strategy, uuid=uuid, uid="u-db", created=_OLD)
    fields: Obj = {"f:spec": {"f:template": {"f:spec": {"f:domain": {"f:firmware": {"f:uuid": {}}}}}}}
    write = {"manager": "kubectl-create", "operation": "Update", "time": _OLD, "fieldsV1": fields}
    made = with_meta(made, managedFields=[write])  # before its VMI was created
    return world.create(varied(made, odd, world), "user")


def _run_db(world: World, platform: Platform, made: Obj, state: str, odd: Odd, rng: Random) -> None:
    strategy, uuid = made["spec"]["runStrategy"], uuid_of(made)
    runs = strategy == "Always" or state in ("mismatch", "edited") or rng.random() < 0.1
    if odd == "starting":  # without the webhook of ipam-extensions it gets no launcher pod
        platform.controller_up = False
        world.create(started(made), "virt-controller")
    elif odd in ("placeholder", "not its own"):
        _run(world, made, PLACEHOLDER if odd == "placeholder" else _TWO, foreign=odd == "not its own")
    elif (runs and odd not in STATE_OF) or state == "mismatch":
        _run(world, made, _TWO if state == "mismatch" else uuid)


def _web(world: World, state: str, odd: Odd, rng: Random) -> None:
    """The oldest keeps the UUID, if none of the two runs."""
    shared = COPIED if state == "shared" and odd != "elsewhere" else rng.choice((_TWO, _THREE, _THREE))
    older = rng.choice((_OLDEST, _OLDEST, _LATER))
    strategy = rng.choice(("Always", "Halted"))
    if odd in STATE_OF:
        older = _OLDEST
    if odd == "starting":
        strategy = "Always"
    other = vm("web", strategy, uuid=shared, created=older)
    if odd == "critical":
        other["spec"]["template"]["spec"]["priorityClassName"] = "system-cluster-critical"
    other = world.create(other, "user")
    if strategy == "Always" and (odd == "starting" or rng.random() < 0.7):
        _run(world, other, shared)


def _run(world: World, made: Obj, uuid: str, *, foreign: bool = False) -> None:
    running = started_with(world, made, started(made))
    running["spec"]["domain"]["firmware"]["uuid"] = uuid or legacy(meta_of(made)["name"])
    running["status"]["phase"] = "Running"
    if foreign:
        running = with_meta(running, ownerReferences=[])
    running = world.create(running, "virt-controller")
    name = meta_of(made)["name"]
    pod = launched(running, f"virt-launcher-{name}-0", f"{name}.blue")
    world.create(pod | {"status": pod["status"] | {"phase": "Running"}}, "virt-controller")


def hint(world: World, rng: Random) -> tuple[str, Hint] | None:
    """What may have been found of VM `db`."""
    found = world.get(_VM, "db")
    if found is None:
        return None
    ref, uuid = Ref(_VM, "ns", "db", meta_of(found)["uid"]), uuid_of(found)
    if not uuid:
        return "persist_firmware_uuid", hint_for("firmware_vms", "NotPersisted", ref)
    if not identifies(uuid):
        return "replace_invalid_uuid", hint_for("firmware_vms", "InvalidUUID", ref, group_id(comparable(uuid)))
    running = world.get(_VMI, "db")
    if running is not None and uuid_of(running) != uuid and rng.random() < 0.8:
        return "persist_firmware_uuid", hint_for("firmware_vms", "SpecRunMismatch", ref)
    reason = rng.choice(("Duplicate", "LatentDuplicate", "LatentDuplicate"))
    return "reassign_firmware_uuid", hint_for("firmware_duplicates", reason, ref, group_id(uuid))


def _edited(world: World, name: str, uuid: str, by: str = "user") -> None:
    found = world.get(_VM, name)
    if found is None:
        return
    template = found["spec"]["template"]
    firmware = {key: value for key, value in (domain_of(found).get("firmware") or {}).items() if key != "uuid"}
    domain = domain_of(found) | {"firmware": firmware | ({"uuid": uuid} if uuid else {}) or None}
    spec = found["spec"] | {"template": template | {"spec": template["spec"] | {"domain": domain}}}
    world.change(found, by, lambda now: now | {"spec": spec})


def edit_uuid(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    _edited(world, rng.choice(("db", "web")), rng.choice((COPIED, _TWO, "")))


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
    """Another VM comes with a UUID that is there already."""
    yield
    found = world.get(_VM, "db")
    if found is not None and world.get(_VM, "copy") is None:
        world.create(vm("copy", "Halted", uuid=uuid_of(found) or COPIED), "user")


def disks_ready(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """What a VM has waited for is there: it starts, if it is to."""
    found = world.get(_VM, "db")
    yield
    if found is not None:
        status = {**(found.get("status") or {}), "printableStatus": "Stopped"}
        with suppress(ApiError):
            world.change(found, "virt-controller", lambda now: now | {"status": status})


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
    disks_ready,
    delete_namespace,
)
