"""PDBs that KubeVirt made and that were left behind.

Up to 1.5 KubeVirt made one for each VM that must not be shut down; from 1.6 on it makes none and deletes those that
exist. One whose VM is gone stays where its owner reference was lost, in a backup or a copy, or where virt-controller
does not run. It blocks evictions only where it selects a pod that lives.

Not seen here: PDBs of users (the check evictions reports where they block); whether the pods that a PDB without an
owner counts have ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.naming import counted
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import KUBEVIRT_PDB
from ...store.indexes.networks import VM, vm_key
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

_TEXTS = Texts("eviction_pdbs")
_WITHOUT = (1, 6)  # from this release on KubeVirt makes no PDBs


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
                message=_TEXTS.message("LegacyPDBPresent", vmi=owner.ref),
                evidence={"vmi": owner.name},
            )


def _orphan(view: View, pdb: PodDisruptionBudget) -> Finding:
    pods = _selected(view, pdb)
    blocks = bool(pods) if pdb.owner_vmi else pdb.expected > 0
    variant = f"{'' if pdb.owner_vmi else 'ownerless_'}{'blocks' if blocks else 'unused'}"
    return Finding(
        reason="OrphanPDB",
        severity=Severity.WARNING if blocks else Severity.INFO,
        subject=pdb.ref,
        message=_TEXTS.message("OrphanPDB", variant, vmi=pdb.owner_vmi, pods=counted(len(pods) or pdb.expected, "pod")),
        next="" if blocks else _TEXTS.next("OrphanPDB", "unused"),
        evidence={
            name: fact
            for name, fact in {
                "vmi": pdb.owner_vmi,
                "vmiUid": pdb.owner_uid,
                "pods": pods,
                "expectedPods": pdb.expected,
            }.items()
            if fact
        },
    )


def _selected(view: View, pdb: PodDisruptionBudget) -> list[str]:
    """The names of the VM's pods that live and that it selects."""
    selector = pdb.selector
    if selector is None or not pdb.owner_vmi:
        return []
    found = view.members(VM, vm_key(pdb.namespace, pdb.owner_vmi), Pod)
    pods = [each for each in found if each.deleting is None]
    return sorted(each.name for each in pods if selector.matches(each.labels))


CHECK = Check(
    id="eviction_pdbs",
    title="PDBs that KubeVirt left behind",
    reads=(PodDisruptionBudget.KIND, VirtualMachineInstance.KIND, Pod.KIND, KubeVirt.KIND),
    scope=Scope("one PDB", KUBEVIRT_PDB),
    looks_up=(VM,),
    reasons=reasons_of("eviction_pdbs"),
    find=find,
    fields_read=(VirtualMachineInstance.KIND, Pod.KIND, KubeVirt.KIND),
    requires=(VirtualMachineInstance.KIND,),
)
