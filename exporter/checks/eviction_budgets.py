"""Disruption budgets that KubeVirt made, and that nobody takes away.

Until 1.5 KubeVirt made one for each machine that is not to be shut down; from 1.6 on it makes none and deletes those
that are there. One whose machine is gone stays where its owner reference was lost, by a backup or a copy, or where
virt-controller does not run. It is in the way of evictions only where it selects a pod that lives.

Not seen here: budgets that users made (the check evictions tells where they block); of a budget without an owner,
whether the pods that it counts have ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity
from ..model import kube_virt, pod, pod_disruption_budget, virtual_machine_instance
from ..model.eviction_joins import KUBEVIRT_BUDGET
from ..model.joins import MACHINE, machine
from ..model.kube_virt import KubeVirt
from ..model.pod import Pod
from ..model.pod_disruption_budget import PodDisruptionBudget
from ..model.virtual_machine_instance import VirtualMachineInstance
from .base import Check, Family, Reason, Scope, View

__all__ = ["CHECK"]

_WITHOUT = (1, 6)  # the release from which on KubeVirt makes no budgets
_FAMILY = Family(
    "kubevirt_eviction_budget_left",
    "A disruption budget that KubeVirt made, and that should not be there any more.",
    ("namespace", "name", "severity", "reason"),
)
_REASONS = {
    "OrphanPDB": Reason(
        (Severity.INFO, Severity.WARNING),
        "The instance that the budget was made for is not there; a warning where it selects a pod that lives.",
        _FAMILY,
        "OrphanPDB",
        600.0,
    ),
    "LegacyPDBPresent": Reason(
        (Severity.WARNING,),
        "KubeVirt is of a release that makes no budgets and deletes those of earlier ones, and has not.",
        _FAMILY,
        "LegacyPDBPresent",
        600.0,
    ),
}


def find(view: View) -> Iterator[Finding]:
    releases = [each.release for each in view.all(KubeVirt) if not each.upgrading]
    for budget in view.all(PodDisruptionBudget):
        if budget.deleting is not None:
            continue
        owner = view.named(VirtualMachineInstance, budget.namespace, budget.owner_vmi) if budget.owner_vmi else None
        if owner is None or owner.uid != budget.owner_uid:
            yield _orphan(view, budget)
        elif any(release >= _WITHOUT for release in releases):
            yield Finding(
                reason="LegacyPDBPresent",
                severity=Severity.WARNING,
                subject=budget.ref,
                related=(owner.ref,),
                message=f"it was made for {owner.ref} by an earlier KubeVirt, and this one has not deleted it",
                evidence={"instance": owner.name, "next": "look whether virt-controller runs, then delete the budget"},
            )


def _orphan(view: View, budget: PodDisruptionBudget) -> Finding:
    pods = _selected(view, budget)
    blocks = bool(pods) if budget.owner_vmi else budget.expected > 0
    whose = f"instance {budget.owner_vmi} it was made for" if budget.owner_vmi else "instance it was made for"
    counted = f"{len(pods)} of its pods" if pods else f"{budget.expected} pods"
    return Finding(
        reason="OrphanPDB",
        severity=Severity.WARNING if blocks else Severity.INFO,
        subject=budget.ref,
        message=f"the {whose} is not there"
        + (f", and it selects {counted}: their evictions may be refused" if blocks else ", and it selects no pod"),
        evidence={
            name: fact
            for name, fact in {
                "instance": budget.owner_vmi,
                "instanceUid": budget.owner_uid,
                "pods": pods,
                "expectedPods": budget.expected,
                "next": "delete it, once nothing that it selects lives" if blocks else "delete it",
            }.items()
            if fact
        },
    )


def _selected(view: View, budget: PodDisruptionBudget) -> list[str]:
    """The pods of the machine that it was made for, as far as they live and it selects them."""
    selector = budget.selector
    if selector is None or not budget.owner_vmi:
        return []
    found = view.sharing(MACHINE, machine(budget.namespace, budget.owner_vmi))
    pods = [each for each in found if isinstance(each, Pod) and each.deleting is None]
    return sorted(each.name for each in pods if selector.matches(each.labels))


CHECK = Check(
    id="eviction_budgets",
    title="Disruption budgets that KubeVirt left behind",
    reads=(pod_disruption_budget.KIND, virtual_machine_instance.KIND, pod.KIND, kube_virt.KIND),
    scope=Scope("one disruption budget", KUBEVIRT_BUDGET),
    joins=(MACHINE,),
    reasons=_REASONS,
    find=find,
)
