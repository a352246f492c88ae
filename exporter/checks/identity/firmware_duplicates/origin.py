"""UUIDs that KubeVirt derived from a VM's name."""

from __future__ import annotations

from collections.abc import Iterator

from ....domain.identity.firmware import derived, group_id
from ....domain.identity.identity import effective, owned
from ....findings.check import View
from ....findings.finding import Finding, Severity
from ....store.indexes.identities import LEGACY_NAME
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from ....store.text.naming import the
from .evidence import hints
from .members import Member, SharedValue


def legacy_derived(view: View, group: SharedValue) -> Iterator[Finding | None]:
    """Of each member that has the UUID now, where it derives from its own or another VM's name.

    Not of one whose spec has no UUID: of that NotPersisted says that it is derived from the name, and to write it.
    """
    names = {_name(record) for record in view.sharing(LEGACY_NAME, view.partition)}
    for member in group.members:
        own = derived(view.partition, member.record.name)
        if (own or names) and not (own and _derives(member)) and not member.deleting and _has(view, member):
            of = member.record.name if own else min(names)
            yield Finding(
                reason="LegacyDerived",
                severity=Severity.INFO,
                subject=member.ref,
                group=group_id(view.partition),
                message=_own(member) if own else _others(member, of),
                next="" if own else f"Give it a UUID of its own before it runs beside {of}.",
                evidence=_facts(view, group, member, of),
            )
        yield None


def _name(record: object) -> str:
    if isinstance(record, VirtualMachineSnapshotContent):
        return record.source
    return record.name if isinstance(record, VirtualMachine) else ""


def _derives(member: Member) -> bool:
    """Whether KubeVirt derives it at each start."""
    return member.vm is not None and not member.vm.uuid.strip()


def _has(view: View, member: Member) -> bool:
    """Whether this is what it has now, and not only what it starts with next."""
    if member.vm is None:
        return True
    vmi = view.named(VirtualMachineInstance, member.vm.namespace, member.vm.name)
    return effective(member.vm, owned(vmi, member.vm)) == view.partition


def _own(member: Member) -> str:
    return (
        f"{the(member.ref.kind)}'s firmware UUID is derived from its name alone: any VM called {member.record.name}, "
        "in another namespace or cluster, may have the same"
    )


def _others(member: Member, of: str) -> str:
    return (
        f"{the(member.ref.kind)}'s firmware UUID is derived from the name {of}, not from its own: it was restored or "
        "copied from there"
    )


def _facts(view: View, group: SharedValue, member: Member, of: str) -> dict[str, object]:
    found: dict[str, object] = {"uuid": member.written or view.partition, "of": of, "hints": hints(view, group, member)}
    if member.vm is not None and not member.vm.serial:
        found["serial"] = "missing: it is older than KubeVirt 1.5.3, or its firmware was replaced without one"
    return {name: fact for name, fact in found.items() if fact}
