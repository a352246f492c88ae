"""What the remediations of evictions share: a VMI with its node, as the check `evictions` evaluates it."""

from __future__ import annotations

from exporter.domain.drains.departure import drain_context, node_context
from exporter.domain.drains.departure.vmi import VMIContext
from exporter.domain.drains.health import ailment
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.store.indexes.drains import HANDLER, NODE, PDB, RUNNING
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.kubevirt_machine import KubevirtMachine
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.node import Node, NodeMaintenance
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.pod_disruption_budget import PodDisruptionBudget
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...guards import guard
from ...plan import Refused
from ...remediation import Scene
from .._grounds import VM_STAYS, ending, table, tables, under_way

ONE_KUBEVIRT = {"one_kubevirt": "there is one KubeVirt object, so that its version and limits are known"}


@guard(reads=(VirtualMachineInstance.KIND, Namespace.KIND))
def standing_vmi(finding: Finding, scene: Scene) -> VirtualMachineInstance | Refused:
    """The VMI that a finding is about, where neither it nor its namespace is being deleted."""
    ref = finding.subject
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if vmi is None or vmi.uid != ref.uid:
        return Refused("same_object", f"{ref} with UID {ref.uid} is no longer there")
    if vmi.deleting is not None:
        return Refused("not_being_deleted", f"{ref} is being deleted already")
    within = scene.named(Namespace, ref.namespace, ref.namespace)
    if within is not None and within.terminating:
        return Refused("namespace_active", f"namespace {ref.namespace} is being deleted")
    return vmi


@guard(
    standing_vmi,
    ONE_KUBEVIRT,
    reads=(
        VirtualMachineInstanceMigration.KIND,
        Pod.KIND,
        Node.KIND,
        PodDisruptionBudget.KIND,
        KubeVirt.KIND,
        NodeMaintenance.KIND,
        KubevirtMachine.KIND,
    ),
    indexes=(NODE, PDB, RUNNING, HANDLER),
)
def leaving(finding: Finding, scene: Scene) -> VMIContext | Refused:
    """The same with its node, pods and migrations, where KubeVirt's configuration is known."""
    vmi = standing_vmi(finding, scene)
    if isinstance(vmi, Refused):
        return vmi
    count = len(scene.all(KubeVirt))
    if count != 1:
        return Refused(
            "one_kubevirt",
            f"there are {count} KubeVirt objects, not one: which of them holds for {vmi.ref} is not known",
        )
    return VMIContext(node_context(drain_context(scene), vmi.node), vmi)


def ails(own: VMIContext) -> str:
    """Why the node of a VMI lets none of its VMIs go, as previews and findings say it; empty where it does."""
    found = ailment(own.node.node)
    return found.why if found is not None else ""


def unfinished(own: VMIContext) -> str:
    """The migration of a VMI that has not finished, in words; empty where there is none."""
    if own.open is None:
        return ""
    state = own.open.phase or "new"
    return f"{own.open.ref} is {state}{' and being deleted' if own.open.deleting is not None else ''}"


@guard(VM_STAYS, under_way, {"no_request": "the VM has no request to start or stop that is not done yet"})
def put_back(scene: Scene, ref: Ref) -> Refused | None:
    """Why the run strategy of a VM can't be put back now."""
    whole = scene.of(ref) or {}
    if refused := ending(scene, ref, whole) or under_way(scene, ref.namespace, (ref.name,)):
        return refused
    if tables(table(whole.get("status")).get("stateChangeRequests")):
        return Refused("no_request", f"{ref} has a request to start or stop that is not done yet")
    return None
