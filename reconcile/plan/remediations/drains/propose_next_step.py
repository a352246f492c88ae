"""Proposes the next step where the migrations of a VMI do not get it off its node.

Which step that is depends on what stands in the way: the limit that is reached, and the migration that has run for
longest under it; the migration to cancel, where KubeVirt ends it at once by that; the pod of virt-handler, or
virt-controller, that a migration waits for; the rule of the VM by which no other node takes it, or the node that is
cordoned. Otherwise it is what the finding says. Each comes with one command, for whoever the plan names.

Nothing is written: a migration that is cancelled or a limit that is raised concerns more than this VMI, and a rule of a
VM is its owner's.

Undo: none. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json import dumps
from typing import NamedTuple

from exporter.domain.drains.departure.vmi import VMIContext
from exporter.domain.features.hco import REVERTED, way_of_setting
from exporter.facts.naming import named
from exporter.findings.advice import filled
from exporter.findings.finding import Finding
from exporter.store.indexes.drains import RUNNING
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.node import Node
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...guards import guard
from ...plan import Patch, Plan, Proposal, Refused
from ...remediation import Remediation, Scene
from ._leaving import leaving

# The one step by which somebody lets a VMI leave its node whose migration is in the way of that, or does not come.
#
# What is deleted, and when KubeVirt ends a migration by that, is as in `domain/drains/departure/hanging.py`.

_ADMIN, _NODES, _OWNER = "the KubeVirt administrator", "the node administrator", "the owner of the VM"
_CLUSTER = "a cluster administrator"
_NOT_HANDED_OVER = ("Pending", "Scheduling", "Scheduled")
_CANCEL = "kubectl delete virtualmachineinstancemigrations.kubevirt.io -n NAMESPACE MIGRATION"
_EDIT_VM = "kubectl edit virtualmachines.kubevirt.io -n NAMESPACE NAME"
_CONTROLLER = "kubectl rollout restart -n NAMESPACE deployment/virt-controller"
_HANDLER = "kubectl delete pod -n NAMESPACE NAME"
_PATCH = "kubectl patch kubevirts.kubevirt.io -n NAMESPACE NAME --type=merge -p"
_HCO = "kubectl edit hyperconvergeds.hco.kubevirt.io -n NAMESPACE kubevirt-hyperconverged"
_RULES = {
    "Selector": "its node selector, node affinity or CPU model",
    "AntiAffinity": "its anti-affinity",
    "PodAffinity": "its affinity to other pods",
    "Spread": "its topology spread",
    "Taint": "the taints that it tolerates",
}


class _Case(NamedTuple):
    own: VMIContext
    finding: Finding
    scene: Scene

    @property
    def migration(self) -> str:
        return self.own.open.name if self.own.open is not None else ""

    def text(self, key: str) -> str:
        found = self.finding.evidence.get(key)
        return found if isinstance(found, str) else ""

    def command(self, template: str, **more: str) -> str:
        ref = self.finding.subject
        values = {"NAMESPACE": ref.namespace, "NAME": ref.name, "MIGRATION": self.migration}
        return filled(template, values | more)


def next_step(own: VMIContext, finding: Finding, scene: Scene) -> Proposal:
    """Whose turn it is, what to do, and the one command; where nothing is known for the case, what the finding says."""
    step = _STEPS.get(finding.reason)
    made = step(_Case(own, finding, scene)) if step is not None else None
    return made or _said(finding, _OWNER if finding.does else _CLUSTER)


def _said(finding: Finding, owner: str) -> Proposal:
    return Proposal(owner=owner, where=finding.next, patch="".join(finding.commands[:1]))


def _hanging(case: _Case) -> Proposal | None:
    cause, phase = case.text("cause"), case.own.open.phase if case.own.open is not None else ""
    if cause in ("TargetHandler", "SourceHandler"):
        return _handler(case)
    if cause == "Unhandled":
        return _controller(case)
    if phase not in _NOT_HANDED_OVER or case.own.open is None or case.own.open.deleting is not None:
        return None
    where = (
        f"Cancel migration {case.migration}, which waits in phase {phase}: KubeVirt ends it at once, since it was not"
        " handed over, and makes the next one while the VMI has to leave."
    )
    return Proposal(owner=_OWNER, where=where, patch=case.command(_CANCEL))


def _handler(case: _Case) -> Proposal | None:
    namespace, _, name = case.text("virtHandler").partition("/")
    if not name or case.finding.evidence.get("nodeReady") is False:
        return None
    where = f"Restart virt-handler, pod {name}, for which migration {case.migration} waits; guests are not touched."
    return Proposal(owner=_ADMIN, where=where, patch=case.command(_HANDLER, NAMESPACE=namespace, NAME=name))


def _controller(case: _Case) -> Proposal | None:
    kubevirt = case.own.node.drain.kubevirt
    if kubevirt is None:
        return None
    where = f"Restart virt-controller, for which migration {case.migration} waits; guests are not touched."
    return Proposal(owner=_ADMIN, where=where, patch=case.command(_CONTROLLER, NAMESPACE=kubevirt.namespace))


def _pending(case: _Case) -> Proposal | None:
    if case.text("cause") == "Quota":  # it does something for the owner alone, who can't do what comes first
        return _said(case.finding, _CLUSTER)
    return _controller(case) if case.text("cause") == "Unhandled" else None


def _unschedulable(case: _Case) -> Proposal | None:
    cause, vmi = case.text("cause"), case.own.vmi
    if cause == "Cordoned":
        return _cordoned(case)
    if cause not in _RULES or not vmi.vm_uid:
        return None
    conditions = ", ".join(f"{nodes} {what}" for what, nodes in _ruled_out(case.finding.evidence).items())
    where = f"Relax {_RULES[cause]} in VM {vmi.name}, by which no other node takes it: {conditions}."
    return Proposal(owner=_OWNER, where=where, patch=case.command(_EDIT_VM))


def _ruled_out(evidence: Mapping[str, object]) -> Mapping[str, object]:
    found = evidence.get("ruledOut")
    return found if isinstance(found, Mapping) else {}


def _cordoned(case: _Case) -> Proposal | None:
    """A node that is nothing but cordoned: by a taint beside it, or when it is not Ready, it would not take the VMI."""
    others = (each for each in case.scene.all(Node) if each.name != case.own.node.name)
    plain = sorted(each.name for each in others if each.unschedulable and each.ready and not each.drained_by)
    if not plain:
        return None
    where = f"Uncordon a node that can run the VM, once its maintenance is over. Only cordoned: {named(plain)}."
    return Proposal(owner=_NODES, where=where, patch=case.command("kubectl uncordon NODE", NODE=plain[0]))


def _overdue(case: _Case) -> Proposal | None:
    kubevirt, own = case.own.node.drain.kubevirt, case.own.node
    if kubevirt is None or not own.full:
        return _controller(case)
    outbound = own.outbound >= kubevirt.per_node
    name, limit = (
        ("parallelOutboundMigrationsPerNode", kubevirt.per_node)
        if outbound
        else ("parallelMigrationsPerCluster", kubevirt.per_cluster)
    )
    whose = f"from node {own.name}" if outbound else "in the cluster"
    first = _longest(case, outbound=outbound)
    holds = f"; {first.ref} has run for longest, and ends if it is deleted" if first is not None else ""
    where = f"Raise {name}, which is {limit}: {limit} migrations run {whose}{holds}."
    return _raised(case, kubevirt, name, limit, where)


def _longest(case: _Case, *, outbound: bool) -> VirtualMachineInstanceMigration | None:
    here = {(each.namespace, each.name) for each in case.own.node.vmis}
    running = (each for each in case.scene.sharing(RUNNING, "") if isinstance(each, VirtualMachineInstanceMigration))
    found = [each for each in running if not outbound or (each.namespace, each.vmi) in here]
    return min(found, key=lambda each: (each.created or 0.0, each.ref), default=None)


def _raised(case: _Case, kubevirt: KubeVirt, name: str, limit: int, where: str) -> Proposal:
    if kubevirt.managed_by_hco:
        place = way_of_setting("migrations").place
        return Proposal(
            owner="the HyperConverged Cluster Operator",
            where=f"{where} Set it in {place}. {REVERTED}",
            patch=case.command(_HCO, NAMESPACE=kubevirt.namespace),
        )
    body = dumps({"spec": {"configuration": {"migrations": {name: limit + 1}}}})
    command = case.command(_PATCH, NAMESPACE=kubevirt.namespace, NAME=kubevirt.name)
    return Proposal(owner=_ADMIN, where=where, patch=f"{command} '{body}'")


_STEPS: Mapping[str, Callable[[_Case], Proposal | None]] = {
    "MigrationHanging": _hanging,
    "MigrationPending": _pending,
    "MigrationOverdue": _overdue,
    "TargetUnschedulable": _unschedulable,
}


@guard(leaving)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    own = leaving(finding, scene)
    if isinstance(own, Refused):
        return own
    return REMEDIATION.planned(
        finding,
        Patch(target=finding.subject, ops=()),
        effect="Nothing is written. The named owner decides.",
        proposal=next_step(own, finding, scene),
    )


REMEDIATION = Remediation(
    id="propose_next_step",
    title="Propose the next step for a VMI that can't leave its node",
    plan=_plan,
    proposes_only=True,
    note="It names the limit, node, migration or rule that blocks the VM, who decides about it, and one command.",
)
