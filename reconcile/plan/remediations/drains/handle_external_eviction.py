"""Says whose turn it is where a VMI of strategy External has to leave its node and nobody moves it.

KubeVirt leaves such a VMI to the controller that manages it. That of Cluster API's provider for KubeVirt drains the
node that the guest is in its own cluster, and ends the VMI after that, or after a deadline that it writes on the
KubevirtMachine. Ending the VMI here would go round that drain, and round the PDBs of that cluster; so this is a
proposal, and nothing is written.

Undo: none. Nothing is written.
"""

from __future__ import annotations

from exporter.domain.drains.departure.vmi import text
from exporter.findings.finding import Finding
from exporter.store.indexes.drains import HANDLER
from exporter.store.kinds.kubevirt_machine import KubevirtMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...plan import Patch, Plan, Proposal, Refused
from ...remediation import Remediation, Scene
from ._leaving import standing_vmi


@guard(
    standing_vmi,
    {"deadline_passed": "its controller has not written a time, still to come, at which it ends the VMI"},
    reads=(KubevirtMachine.KIND,),
    indexes=(HANDLER,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    vmi = standing_vmi(finding, scene)
    if isinstance(vmi, Refused):
        return vmi
    found = scene.sharing(HANDLER, vmi.handler) if vmi.handler else ()
    manager = next((each for each in found if isinstance(each, KubevirtMachine)), None)
    deadline = manager.deadline if manager is not None else None
    if deadline is not None and deadline > scene.now:
        return Refused("deadline_passed", f"the controller of {vmi.ref} ends it by itself at {text(deadline)}")
    return REMEDIATION.planned(
        finding,
        Patch(target=finding.subject, ops=()),
        effect="Nothing is written. The controller that manages the VMI must move or stop it.",
        proposal=Proposal(owner=_owner(vmi), where=_where(vmi, manager)),
    )


def _owner(vmi: VirtualMachineInstance) -> str:
    if vmi.handler:
        return f"Cluster API's provider for KubeVirt, by KubevirtMachine `{vmi.handler}`"
    return f"the controller of {vmi.owner}" if vmi.owner else "a controller that neither a label nor an owner names"


def _where(vmi: VirtualMachineInstance, manager: KubevirtMachine | None) -> str:
    if not vmi.handler:
        return (
            f"Find out who made {vmi.ref}, by its labels and metadata.managedFields, and ask them to move it off"
            f" {vmi.node} or to end it."
        )
    if manager is None:
        return (
            f"KubevirtMachine {vmi.handler} is not in this cluster: in the one that manages it, read its conditions and"
            " the log of its controller."
        )
    late = f", which wanted to end the VMI at {text(manager.deadline)}" if manager.deadline is not None else ""
    return (
        f"Read the conditions of KubevirtMachine {vmi.handler} and the log of its controller{late}. PDBs in the cluster"
        " of which the VMI is a node might block it."
    )


REMEDIATION = Remediation(
    id="handle_external_eviction",
    title="Name the controller that has to move a VMI of strategy External",
    plan=_plan,
    proposes_only=True,
    note="It names the controller, and its deadline.",
)
