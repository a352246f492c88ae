"""What an instancetype or a preference brings to a VM: no edit of the VM's template takes that out of it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ...domain.features.configuration import chosen
from ...domain.features.requests import bringers
from ...domain.instancetypes.resolving import ReferenceMode, Resolution, resolve
from ...facts.rule import Request
from ...findings.check import View
from ...findings.finding import Finding
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine


def with_bringers(view: View, finding: Finding, vm: VirtualMachine, requests: Collection[Request]) -> Finding:
    """The finding of these requests of the VM with what brings all of them, and where they can be taken out; as it is
    where the VM's template makes one of them itself.
    """
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, KubeVirt) else None
    roles = bringers(vm, view.named, known, requests)
    found = [each for role in roles if (each := resolve(vm, role, view.named, known)) is not None]
    if not found:
        return finding
    names = [_name(each) for each in found]
    revisions = [each.revision_name for each in found if each.revision_name]
    return msgspec.structs.replace(
        finding,
        message=f"{finding.message} The request comes from {' and '.join(names)}.",
        evidence={
            **finding.evidence,
            "broughtBy": names,
            **({"broughtFrom": revisions} if revisions else {}),
            "remove": [_source(each) for each in found],
        },
    )


def _name(found: Resolution) -> str:
    return f"{found.kind or found.role.value} {found.reference.name}"


def _source(found: Resolution) -> str:
    """Where it can be taken out."""
    role = found.role.value
    if found.mode is ReferenceMode.PINNED:
        return (
            f"The VM's spec pins ControllerRevision {found.revision_name}. Refer the VM to another {role}, without "
            "this revisionName."
        )
    if found.mode is ReferenceMode.REVISION:
        return f"Refer the VM to another {role}: an edit of {_name(found)} doesn't change the VM's ControllerRevision."
    return f"Edit {_name(found)}, which other VMs might use too, or refer the VM to another {role}."
