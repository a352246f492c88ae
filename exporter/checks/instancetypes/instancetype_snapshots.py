"""Snapshots of VMs whose instancetype or preference a restore would not find.

The saved spec of an online snapshot names a ControllerRevision that KubeVirt created for the snapshot. The saved spec
of a VM whose own spec names one, as all do up to KubeVirt 1.4, names that ControllerRevision. A restore reads only the
named ControllerRevision, and fails without it. From 1.5 on, VMs refer to their ControllerRevisions by their status,
which a snapshot of a stopped VM does not save. A VM that is restored from such a snapshot gets the live object as it is
then. A restore into the same VM keeps the VM's status, and with it the ControllerRevision (pkg/storage/snapshot of
kubevirt/kubevirt).

A finding's group says whether it is about the instancetype or the preference.

Not seen here: changes of the live object after a snapshot without a ControllerRevision was taken, exports and backups.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.instancetypes.indexes import REVISION, SAVED, SAVED_COPY, SAVED_OBJECT
from ...domain.instancetypes.resolving import LIVE, backs, reference, target
from ...facts.matching import ROLES, MatcherReference, MatcherRole
from ...findings.check import Check, Lookup, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import VM
from ...store.kinds.controller_revision import START, ControllerRevision
from ...store.kinds.instancetypes import CLUSTER_WIDE, INSTANCETYPES, RESOURCES
from ...store.kinds.snapshots import VirtualMachineSnapshotContent
from ...store.kinds.virtual_machine import VirtualMachine

TEXTS = Texts("instancetype_snapshots")


def find(view: View) -> Iterator[Finding | None]:
    for content in view.all(VirtualMachineSnapshotContent):
        if content.deleting is None:
            for role in ROLES:
                yield from view.apart(_missing(view, content, role))


def _missing(view: View, content: VirtualMachineSnapshotContent, role: MatcherRole) -> Iterator[Finding]:
    wanted = reference(content, role)
    if wanted is None:
        return
    if not wanted.pin:
        yield from _object_missing(view, content, role, wanted)
    elif not wanted.pin.startswith(START) and view.named(ControllerRevision, content.namespace, wanted.pin) is None:
        yield _finding(
            content,
            "SnapshotRevisionMissing",
            Severity.WARNING,
            TEXTS.message(
                "SnapshotRevisionMissing",
                revision=wanted.pin,
                role=role.value,
                object=wanted.name,
                snapshot=_called(content),
            ),
            {"role": role.value, "object": wanted.name, "revision": wanted.pin},
        )


def _object_missing(
    view: View, content: VirtualMachineSnapshotContent, role: MatcherRole, wanted: MatcherReference
) -> Iterator[Finding]:
    kind, namespace, name = target(content.namespace, role, wanted)
    if not kind or not name or view.named(LIVE[kind], namespace, name) is not None:
        return
    vm = view.named(VirtualMachine, content.namespace, content.source)
    backed = vm is not None and vm.deleting is None and backs(vm, role, wanted, view.named)
    message = TEXTS.message(
        "SnapshotObjectMissing",
        "backed" if backed else "",
        kind=kind,
        name=name,
        snapshot=_called(content),
        vm=content.source,
    )
    facts = {"role": role.value, "object": name, "objectKind": kind, "resource": RESOURCES[kind]}
    severity = Severity.INFO if backed else Severity.WARNING
    yield _finding(content, "SnapshotObjectMissing", severity, message, facts)


def _called(content: VirtualMachineSnapshotContent) -> str:
    return f"VirtualMachineSnapshot {content.snapshot}" if content.snapshot else "the snapshot"


def _finding(
    content: VirtualMachineSnapshotContent, reason: str, severity: Severity, message: str, facts: dict[str, str]
) -> Finding:
    return Finding(
        reason=reason,
        severity=severity,
        subject=content.ref,
        message=message,
        evidence={"snapshot": content.snapshot, "source": content.source, **facts},
        group=facts["role"],
    )


CHECK = Check(
    id="instancetype_snapshots",
    title="Snapshots whose instancetype or preference is missing",
    reads=(VirtualMachineSnapshotContent.KIND, VirtualMachine.KIND, *INSTANCETYPES, ControllerRevision.KIND),
    scope=Scope("one snapshot", SAVED),
    looks_up=(
        SAVED_OBJECT,
        Lookup(REVISION, changes_of=(ControllerRevision,), concerns=SAVED_COPY),
        Lookup(VM, changes_of=(VirtualMachine,)),
    ),
    reasons=reasons_of("instancetype_snapshots"),
    find=find,
    fields_read=(VirtualMachine.KIND,),
    requires=(VirtualMachineSnapshotContent.KIND, *CLUSTER_WIDE),
)
