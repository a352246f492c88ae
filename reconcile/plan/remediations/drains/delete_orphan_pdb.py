"""Deletes a PDB that KubeVirt made for a VMI that is gone.

Up to 1.5 KubeVirt makes one for each VMI that must not be evicted: its name begins with `kubevirt-disruption-budget-`,
the VMI owns it, and it selects the pods that have the VMI's UID in a label
(pkg/virt-controller/watch/drain/disruptionbudget). It is deleted only where all of that fits, the VMI is gone or has
ended, and no pod has its UID: then it protects nothing. The owner may be lost, as in a backup. A PDB of a user is never
deleted.

Undo: create the PDB again from the ledger; it protects nothing then either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.pod_disruption_budget import PodDisruptionBudget
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...patterns import Begins, Each, Like
from ...plan import Delete, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import NoUndo
from ...writes import Deleted, Write
from .._grounds import ending, table, tables

_NAMES = ("kubevirt-disruption-budget-", "kubevirt-migration-pdb-")
_CREATED_BY = "kubevirt.io/created-by"
_AGE = 3600.0  # seconds: what is younger may be of a restore that still brings the VMI


@guard(
    ending,
    {
        "made_by_kubevirt": "name, owner and selector are as KubeVirt sets them",
        "vmi_is_gone": "the VMI that it was made for does not exist, or has ended",
        "selects_no_pod": "no pod that has not ended has the UID of that VMI",
        "an_hour_old": "it is older than an hour",
    },
    reads=(PodDisruptionBudget.KIND, VirtualMachineInstance.KIND, Pod.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, pdb = scene.of(ref), scene.named(PodDisruptionBudget, ref.namespace, ref.name)
    if whole is None or pdb is None:
        return Refused("same_object", f"{ref} does not exist")
    uids = _made_for(pdb, whole)
    refused = ending(scene, ref, whole) or _of_a_user(pdb, whole) or _needed(scene, pdb, uids)
    if refused is not None:
        return refused
    return REMEDIATION.planned(
        finding,
        Delete(target=ref),
        effect="The PDB is deleted. It selects no pod, so evictions are not affected.",
        risk=Risk.NONE,
    )


def _owners(whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return tables(table(whole.get("metadata")).get("ownerReferences"))


def _selected(pdb: PodDisruptionBudget) -> set[str]:
    """The UIDs of VMIs of which a pod must have one to be selected; empty where it need have none."""
    requirements = pdb.selector.requirements if pdb.selector is not None else ()
    values = (each.values for each in requirements if each.key == _CREATED_BY and each.operator == "In")
    return {value for value in next(values, ()) if value}


def _made_for(pdb: PodDisruptionBudget, whole: Mapping[str, Any]) -> set[str]:
    return _selected(pdb) | {str(owner["uid"]) for owner in _owners(whole) if owner.get("uid")}


def _of_a_user(pdb: PodDisruptionBudget, whole: Mapping[str, Any]) -> Refused | None:
    if not pdb.name.startswith(_NAMES):
        return Refused("made_by_kubevirt", f"{pdb.ref} doesn't have a name that KubeVirt gives")
    for owner in _owners(whole):
        group = str(owner.get("apiVersion")).partition("/")[0]
        if owner.get("kind") != "VirtualMachineInstance" or group != "kubevirt.io":
            return Refused("made_by_kubevirt", f"{pdb.ref} belongs to {owner.get('kind')} {owner.get('name')}")
    if not _selected(pdb):
        return Refused("made_by_kubevirt", f"{pdb.ref} does not select pods by {_CREATED_BY}, as KubeVirt's do")
    return None


def _needed(scene: Scene, pdb: PodDisruptionBudget, uids: set[str]) -> Refused | None:
    for vmi in scene.within(VirtualMachineInstance, pdb.namespace):
        if vmi.uid in uids and not vmi.final:
            return Refused("vmi_is_gone", f"{vmi.ref}, for which {pdb.ref} was made, has not ended")
    for each in scene.within(Pod, pdb.namespace):
        if each.vmi_uid in uids:
            return Refused("selects_no_pod", f"{each.ref} has not ended, and {pdb.ref} might select it")
    if pdb.created is None or scene.now - pdb.created <= _AGE:
        return Refused("an_hour_old", f"{pdb.ref} is not older than an hour")
    return None


_OWNER = Like(apiVersion=Begins("kubevirt.io/"), kind="VirtualMachineInstance")
_MADE_BY_KUBEVIRT = Like(metadata=Like(name=Begins(*_NAMES), ownerReferences=Each(_OWNER)))
REMEDIATION = Remediation(
    id="delete_orphan_pdb",
    title="Delete a PDB of KubeVirt that protects nothing",
    writes=(Write("policy", "poddisruptionbudgets", ("delete",), (Deleted(_MADE_BY_KUBEVIRT),)),),
    plan=_plan,
    risk=Risk.NONE,
    undo="create the PDB again from the ledger",
    note="It never deletes a PDB of a user.",
)


# A PDB of KubeVirt that a person creates again has an owner that is gone.

UNDO = NoUndo(
    "delete_orphan_pdb",
    "Created again it protects nothing either; and with an owner reference to a VMI that is gone, garbage collection "
    "deletes it once more.",
)
