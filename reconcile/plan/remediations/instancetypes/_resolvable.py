"""Whether KubeVirt finds the instancetype and the preference of a VM: without, it neither starts nor stops it."""

from __future__ import annotations

from exporter.domain.instancetypes.matching import ROLES, MatcherRole
from exporter.domain.instancetypes.resolving import Unresolved, resolve, undecodable
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...plan import Refused
from ...remediation import Scene

RESOLVABLE = {
    "resolvable": "its instancetype and preference can be found: else the request is accepted and not carried out"
}
_NOT_FOUND = ("FailedFindInstancetype", "FailedFindPreference")


def unresolved(vm: VirtualMachine, scene: Scene, kubevirt: KubeVirt | None, what: str) -> Refused | None:
    """Why KubeVirt would accept a start or a stop, whichever `what` says, and not carry it out; None where it would.

    The remediation reads the kinds of `_sources.KINDS` and ControllerRevisions.
    """
    later = f"KubeVirt would accept the {what}, and do it whenever that is repaired"
    for role in ROLES:
        if why := _lost(vm, role, scene, kubevirt):
            return Refused("resolvable", f"{why}: {later}")
    if vm.failure in _NOT_FOUND:
        return Refused("resolvable", f"VM {vm.name} has the condition {vm.failure}: {later}")
    return None


def _lost(vm: VirtualMachine, role: MatcherRole, scene: Scene, kubevirt: KubeVirt | None) -> str:
    """Why KubeVirt can't get the VM's instancetype or preference; empty where it can. The VM's condition is not enough:
    KubeVirt sets it only when something else changes in the VM.
    """
    found = resolve(vm, role, scene.named, kubevirt)
    if found is None:
        return ""
    what = f"{role.value} {found.reference.name} of VM {vm.name}"
    if found.failure is Unresolved.REVISION:
        return f"ControllerRevision {found.revision_name} of VM {vm.name} does not exist"
    if found.failure is Unresolved.KIND:
        return f"{what} is of kind {found.reference.kind}, which KubeVirt does not know"
    if found.failure is Unresolved.OBJECT:
        return f"{what} does not exist"
    release = kubevirt.release if kubevirt is not None else (0, 0)
    why = undecodable(found.revision, role, release) if found.revision is not None else ""
    return f"ControllerRevision {found.revision_name} of VM {vm.name} can't be decoded: {why}" if why else ""
