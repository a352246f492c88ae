"""Whether a VM is the copy of one that keeps what both share, so that the copy may get another value.

The check says who is a copy, most likely, and who keeps the value. For a write that is not enough: a
VirtualMachineClone names a VM that may have been deleted and made anew since, and whoever restores from a backup into
an empty namespace brings back the VM that was there first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...annotations import PREFIX
from ...plan import Refused
from ...remediation import Scene
from .._grounds import table

ALLOWED = f"{PREFIX}copy-change-allowed"
THE_COPY = {
    "is_a_vm": "the subject is a VM: the spec of a VMI is immutable",
    "keeper_known": "the check says that the VM is a copy, and which VM keeps what both have",
    "surely_the_copy": "the VM was cloned, or restored from a snapshot, in the namespace of the VM that keeps it and "
    f'after that was created, or has the annotation {ALLOWED}: "true"',
}


def not_the_copy(finding: Finding, scene: Scene, vm: VirtualMachine, whole: Mapping[str, Any]) -> Refused | None:
    """Refuses unless the VM is the copy."""
    key = str(finding.evidence.get("keeper") or "")
    if not finding.evidence.get("copy") or not key:
        why = (
            "nothing tells which VM is the copy" if not finding.evidence.get("copy") else "all that share it are copies"
        )
        return Refused("keeper_known", f"{vm.ref} is left as it is: {why}")
    if table(table(whole.get("metadata")).get("annotations")).get(ALLOWED) == "true":
        return None
    if why := _unsure(scene, vm, key):
        return Refused("surely_the_copy", f'{why}; set annotation {ALLOWED}: "true" on {vm.ref} if it may be changed')
    return None


def _unsure(scene: Scene, vm: VirtualMachine, key: str) -> str:
    namespace, _, name = key.partition("/")
    if namespace != vm.namespace:
        return f"{key}, which should keep it, is in another namespace"
    if vm.origin != "restore":
        return f"{vm.ref} has no annotation of a clone or of a snapshot's restore"
    keeper = scene.named(VirtualMachine, namespace, name)
    if keeper is None or keeper.created is None or vm.created is None or keeper.created >= vm.created:
        return f"no VM {key} that is older than {vm.ref} is there"
    return ""
