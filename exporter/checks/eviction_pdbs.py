"""PDBs that KubeVirt made, and that nobody takes away.

Until 1.5 KubeVirt made one for each VM that is not to be shut down; from 1.6 on it makes none and deletes those
that are there. One whose VM is gone stays where its owner reference was lost, by a backup or a copy, or where
virt-controller does not run. It is in the way of evictions only where it selects a pod that lives.

Not seen here: PDBs that users made (the check evictions tells where they block); of a PDB without an owner,
whether the pods that it counts have ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity
from ..model.indexes.evictions import KUBEVIRT_PDB
from ..model.indexes.networks import VM, vm_key
from ..model.kinds import kube_virt, pod, pod_disruption_budget, virtual_machine_instance
from ..model.kinds.kube_virt import KubeVirt
from ..model.kinds.pod import Pod
from ..model.kinds.pod_disruption_budget import PodDisruptionBudget
from ..model.kinds.virtual_machine_instance import VirtualMachineInstance
from .base import Check, Family, Reason, Scope, View

__all__ = ["CHECK"]

_WITHOUT = (1, 6)  # the release from which on KubeVirt makes no PDBs
_FAMILY = Family(
    "kubevirt_eviction_pdb_left",
    "A PDB that KubeVirt made, and that should not be there any more.",
    ("namespace", "name", "severity", "reason"),
)
_REASONS = {
    "OrphanPDB": Reason(
        (Severity.INFO, Severity.WARNING),
        "The VMI that the PDB was made for is not there; a warning where it selects a pod that lives.",
        _FAMILY,
        "OrphanPDB",
        600.0,
    ),
    "LegacyPDBPresent": Reason(
        (Severity.WARNING,),
        "KubeVirt is of a release that makes no PDBs and deletes those of earlier ones, and has not.",
        _FAMILY,
        "LegacyPDBPresent",
        600.0,
    ),
}


def find(view: View) -> Iterator[Finding]:
    releases = [each.release for each in view.all(KubeVirt) if not each.upgrading]
    for pdb in view.all(PodDisruptionBudget):
        if pdb.deleting is not None:
            continue
        owner = view.named(VirtualMachineInstance, pdb.namespace, pdb.owner_vmi) if pdb.owner_vmi else None
        if owner is None or owner.uid != pdb.owner_uid:
            yield _orphan(view, pdb)
        elif any(release >= _WITHOUT for release in releases):
            yield Finding(
                reason="LegacyPDBPresent",
                severity=Severity.WARNING,
                subject=pdb.ref,
                related=(owner.ref,),
                message=f"it was made for {owner.ref} by an earlier KubeVirt, and this one has not deleted it",
                evidence={"vmi": owner.name, "next": "look whether virt-controller runs, then delete the PDB"},
            )


def _orphan(view: View, pdb: PodDisruptionBudget) -> Finding:
    pods = _selected(view, pdb)
    blocks = bool(pods) if pdb.owner_vmi else pdb.expected > 0
    whose = f"VMI {pdb.owner_vmi} it was made for" if pdb.owner_vmi else "VMI it was made for"
    counted = f"{len(pods)} of its pods" if pods else f"{pdb.expected} pods"
    return Finding(
        reason="OrphanPDB",
        severity=Severity.WARNING if blocks else Severity.INFO,
        subject=pdb.ref,
        message=f"the {whose} is not there"
        + (f", and it selects {counted}: their evictions may be refused" if blocks else ", and it selects no pod"),
        evidence={
            name: fact
            for name, fact in {
                "vmi": pdb.owner_vmi,
                "instanceUid": pdb.owner_uid,
                "pods": pods,
                "expectedPods": pdb.expected,
                "next": "delete it, once nothing that it selects lives" if blocks else "delete it",
            }.items()
            if fact
        },
    )


def _selected(view: View, pdb: PodDisruptionBudget) -> list[str]:
    """The pods of the VM that it was made for, as far as they live and it selects them."""
    selector = pdb.selector
    if selector is None or not pdb.owner_vmi:
        return []
    found = view.sharing(VM, vm_key(pdb.namespace, pdb.owner_vmi))
    pods = [each for each in found if isinstance(each, Pod) and each.deleting is None]
    return sorted(each.name for each in pods if selector.matches(each.labels))


CHECK = Check(
    id="eviction_pdbs",
    title="PDBs that KubeVirt left behind",
    reads=(pod_disruption_budget.KIND, virtual_machine_instance.KIND, pod.KIND, kube_virt.KIND),
    scope=Scope("one PDB", KUBEVIRT_PDB),
    joins=(VM,),
    reasons=_REASONS,
    find=find,
    about=(virtual_machine_instance.KIND,),
)
