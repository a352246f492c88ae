"""What may be odd about a VM with a firmware UUID, each of which forbids to change that."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid5

from demo.fleet import objects
from demo.fleet.objects import owner, owner_of
from exporter.facts.firmware import comparable
from reconcile.plan.remediations.identity import reassign_firmware_uuid, replace_invalid_uuid
from reconcile.plan.remediations.identity.reassign_firmware_uuid import ALLOWED

from .made import launched, started
from .people import vm
from .platform import Platform
from .world import Obj, World, meta_of, with_meta

__all__ = ["COPIED", "ODD", "OF_INVALID", "STATE_OF", "Odd", "around", "varied"]

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
