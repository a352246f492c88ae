"""What it means that no node offers what a VM needs, and what to do."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....findings.check import Reason
from ....findings.finding import Severity
from .._commands import ALL_NODES, HANDLERS, NODES, READ_VM, READ_VMI
from ..feature_mismatch.reasons import VM, VMI

_SWEPT = 300.0  # seconds: device plugins and labels of a node go and come back with its virt-handler

_NEXT = (
    "Find out why no node offers what the VM asks for (a cordoned node, a taint, virt-handler, a device plugin, the "
    "hardware), or have the VM ask for less."
)

REASONS = {
    "NoNodeSupports": Reason(
        (Severity.CRITICAL,),
        "No node that takes launcher pods offers what a VMI needs: a pending one is not scheduled, and one that runs "
        "can neither migrate nor start anew.",
        VMI,
        grace=_SWEPT,
        next=_NEXT,
        commands=(READ_VMI, ALL_NODES, NODES, HANDLERS),
        alert="VMFeatureNoNode",
        forbids=Forbids((Act.STOP, Act.RESTART, Act.END, Act.MIGRATE, Act.DRAIN), "no node offers what it needs"),
    ),
    "NoNodeForStart": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "No node that takes launcher pods offers what a VM without a VMI needs: it cannot start; warning while "
        "nobody wants it to run.",
        VM,
        grace=_SWEPT,
        next=_NEXT,
        commands=(READ_VM, ALL_NODES, NODES, HANDLERS),
        alert="VMFeatureNoNode",
        forbids=Forbids((Act.START,), "no node offers what it needs"),
    ),
    "NoMigrationTarget": Reason(
        (Severity.WARNING,),
        "A VMI counts as live-migratable, and no other node offers what it needs: its migration will fail, and a drain "
        "of its node will hang.",
        VMI,
        grace=_SWEPT,
        next="Have another node offer what the VMI asks for before its node is drained, or shut the VM down.",
        commands=(READ_VMI, ALL_NODES, NODES),
        alert="VMFeatureNoNode",
        does=(Act.STOP,),
        forbids=Forbids((Act.MIGRATE, Act.DRAIN), "no other node offers what it needs"),
    ),
}
