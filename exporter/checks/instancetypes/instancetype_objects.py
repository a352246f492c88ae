"""Instancetypes and preferences that VMs depend on while they can be deleted or changed, and deprecated ones.

KubeVirt doesn't prevent the deletion of an object in use (kubevirt/kubevirt#8142). A VM with a ControllerRevision of
the object continues to work. A VM without one fails.

Deprecated fields come from staging/src/kubevirt.io/api/instancetype/v1beta1/types.go, each from the release on that
deprecates it.

Not seen here: names of objects for VMs that are created later. Labels of PVCs, DataSources, DataVolumes and
VolumeSnapshots, by which KubeVirt's webhook infers an instancetype or a preference, count only while a VM is created.
VirtualMachineTemplates, and the dataImportCronTemplates of HyperConverged, which put such labels on DataSources, name
objects too. PVCs are as many as disks, and none of these is listed. `kubectl get datasources,persistentvolumeclaims -A
-l instancetype.kubevirt.io/default-instancetype` shows the objects that would miss a deleted instancetype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from operator import attrgetter

from ...domain.instancetypes.indexes import OBJECT, UNVERSIONED, USERS, object_key
from ...domain.instancetypes.resolving import ReferenceMode, resolve, takes_any, target
from ...facts.matching import ROLES, MatcherRole
from ...facts.naming import NAMED, counted, kind_word, named
from ...facts.record import Ref
from ...findings.causes import Cause
from ...findings.check import Check, Lookup, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import INSTANCETYPES, RESOURCES, Kept, Sizing, Tuning
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.reader import ClusterView

TEXTS = Texts("instancetype_objects")


def find(view: View) -> Iterator[Finding | None]:
    for kind in INSTANCETYPES:
        for predicate in (_deletable, _deprecated, _fields):
            yield from view.apart(_found(view, kind.record, predicate))


def _found(view: View, kind: type[Kept], predicate: Callable[[View, Kept], Finding | None]) -> Iterator[Finding | None]:
    yield from (predicate(view, kept) for kept in view.all(kind))


def without_copy(view: ClusterView, kept: Kept) -> list[VirtualMachine]:
    """The VMs that depend on the live object, since they have no copy of it."""
    policy = min((each.reference_policy for each in view.all(KubeVirt)), default="reference")
    return _vms(view, kept, unversioned=True) if policy == "reference" else []


def _vms(view: ClusterView, kept: Kept, *, unversioned: bool) -> list[VirtualMachine]:
    key = object_key(type(kept).__name__, kept.namespace, kept.name)
    found = view.sharing(UNVERSIONED if unversioned else USERS, key)
    vms = [vm for vm in found if isinstance(vm, VirtualMachine)]
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    if unversioned and takes_any(kubevirt):
        return [vm for vm in vms if any(_live(view, vm, role, kubevirt, key) for role in ROLES)]
    return vms


def _live(view: ClusterView, vm: VirtualMachine, role: MatcherRole, kubevirt: KubeVirt | None, key: str) -> bool:
    """Whether this release gives the VM this object as it is now, which the index does not know."""
    found = resolve(vm, role, view.named, kubevirt)
    if found is None or found.mode is not ReferenceMode.UNVERSIONED or not found.kind:
        return False
    return object_key(*target(vm.namespace, role, found.reference)) == key


def _deletable(view: View, kept: Kept) -> Finding | None:
    vms = without_copy(view, kept)
    if not vms:
        return None
    first = _first(vms)
    going = kept.deleting is not None
    return Finding(
        reason="DeletableInUse",
        severity=Severity.CRITICAL if going else Severity.WARNING,
        subject=kept.ref,
        related=tuple(first),
        message=TEXTS.message("DeletableInUse", "deleting" if going else "", **_users(kept, vms, first)),
        since=kept.deleting,
        since_source=Since.DELETION if going else Since.FIRST_SEEN,
        evidence=_facts(kept) | {"vms": len(vms)},
    )


def _first(vms: list[VirtualMachine]) -> list[Ref]:
    """A few of what may be tens of thousands."""
    return [vm.ref for vm in nsmallest(NAMED, vms, key=attrgetter("namespace", "name"))]


def _users(kept: Kept, vms: list[VirtualMachine], first: list[Ref]) -> dict[str, str]:
    names = named([vm.path for vm in first], len(vms))
    return {"kind": kind_word(kept.ref.kind), "vms": counted(len(vms), "VM"), "names": names}


def _deprecated(view: View, kept: Kept) -> Finding | None:
    vms = _vms(view, kept, unversioned=False) if kept.deprecated else []
    if not vms:
        return None
    first = _first(vms)
    return Finding(
        reason="DeprecatedInUse",
        severity=Severity.INFO,
        subject=kept.ref,
        related=tuple(first),
        message=TEXTS.message("DeprecatedInUse", **_users(kept, vms, first)),
        evidence=_facts(kept) | {"vms": len(vms)},
    )


def _fields(view: View, kept: Kept) -> Finding | None:
    release = min((each.release for each in view.all(KubeVirt)), default=(0, 0))
    known = [f"{old} (use {new})" for since, old, new in _replaced(kept) if release >= since]
    if not known:
        return None
    return Finding(
        reason="DeprecatedFields",
        severity=Severity.INFO,
        subject=kept.ref,
        message=TEXTS.message("DeprecatedFields", kind=kind_word(kept.ref.kind), fields=", ".join(known)),
        evidence=_facts(kept) | {"fields": known},
    )


def _replaced(kept: Kept) -> Iterator[tuple[tuple[int, int], str, str]]:
    """Release that deprecates it, field or value, and what replaces it."""
    if isinstance(kept, Sizing) and kept.gives.launch_security is not None:
        yield (1, 9), "launchSecurity", "a preference's preferredLaunchSecurity"
    if not isinstance(kept, Tuning):
        return
    cpu, firmware = kept.prefers.cpu, kept.prefers.firmware
    topology = (cpu.preferred_cpu_topology or "") if cpu is not None else ""
    if topology.startswith("prefer"):
        yield (1, 4), f"cpu.preferredCPUTopology {topology}", topology.removeprefix("prefer").lower()
    if firmware is not None and firmware.preferred_use_efi is not None:
        yield (1, 5), "firmware.preferredUseEfi", "firmware.preferredEfi"
    if firmware is not None and firmware.preferred_use_secure_boot is not None:
        yield (1, 5), "firmware.preferredUseSecureBoot", "firmware.preferredEfi.secureBoot"


def _facts(kept: Kept) -> dict[str, object]:
    return {"resource": RESOURCES[type(kept).__name__]}


CHECK = Check(
    id="instancetype_objects",
    title="Instancetypes and preferences in use that can be deleted or are deprecated",
    reads=(*INSTANCETYPES, VirtualMachine.KIND, ControllerRevision.KIND, KubeVirt.KIND),
    scope=Scope("one instancetype or preference", OBJECT),
    looks_up=(Lookup(UNVERSIONED, concerns=OBJECT), Lookup(USERS, concerns=OBJECT)),
    cause=Cause.SUBJECT,
    reasons=reasons_of("instancetype_objects"),
    find=find,
    fields_read=(VirtualMachine.KIND, KubeVirt.KIND),
    requires=(VirtualMachine.KIND, *INSTANCETYPES[1::2]),
)
