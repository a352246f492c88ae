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

from exporter.findings.finding import Finding
from exporter.store.indexes.nodes import TARGET

from ...plan import Patch, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ._leaving import INDEXES, ONE_KUBEVIRT, READS, leaving
from ._next_steps import next_step

_REASONS = (
    *("MigrationFailing", "MigrationHanging", "TargetUnschedulable", "TargetNotStarting", "MigrationPending"),
    "MigrationOverdue",
)


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    own = leaving(finding, scene)
    if isinstance(own, Refused):
        return own
    return REMEDIATION.planned(
        finding,
        Patch(target=finding.subject, ops=()),
        effect="Nothing is written: it is for the one who is named to decide.",
        risk=Risk.NONE,
        undo="none: nothing is written",
        proposal=next_step(own, finding, scene),
    )


REMEDIATION = Remediation(
    id="propose_next_step",
    title="Propose the next step for a VMI whose migrations do not get it off its node",
    answers={"evictions": _REASONS, "migrations": _REASONS},
    reads=READS,
    indexes=(*INDEXES, TARGET),
    writes=(),
    plan=_plan,
    preconditions=ONE_KUBEVIRT,
    risk=Risk.NONE,
    undo="none: nothing is written",
    proposes_only=True,
)
