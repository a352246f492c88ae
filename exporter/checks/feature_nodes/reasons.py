"""What it means that no node offers what a VM needs, and what to do."""

from __future__ import annotations

from ...findings import Severity
from ..base import Reason
from ..feature_commands import HANDLERS, NODES, READ_VM, READ_VMI
from ..feature_mismatch.reasons import VM, VMI

__all__ = ["REASONS"]

_SWEPT = 300.0  # seconds: device plugins and labels of a node go and come back with its virt-handler

REASONS = {
    "NoNodeSupports": Reason(
        (Severity.CRITICAL,),
        "No node that takes launcher pods offers what a VMI needs: a pending one is not scheduled, and one that runs "
        "can neither migrate nor start anew.",
        VMI,
        grace=_SWEPT,
        next="Find out why no node offers it (a cordoned node, a taint, its virt-handler, a device plugin, the "
        "hardware), or take the feature or condition out of the VM.",
        commands=(READ_VMI, NODES, HANDLERS),
        alert="VMFeatureNoNode",
    ),
    "NoNodeForStart": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "No node that takes launcher pods offers what a VM without a VMI needs: it cannot start; warning while "
        "nobody wants it to run.",
        VM,
        grace=_SWEPT,
        next="Find out why no node offers it (a cordoned node, a taint, its virt-handler, a device plugin, the "
        "hardware), or take the feature or condition out of the VM.",
        commands=(READ_VM, NODES, HANDLERS),
        alert="VMFeatureNoNode",
    ),
    "NoMigrationTarget": Reason(
        (Severity.WARNING,),
        "A VMI counts as live-migratable, and no other node offers what it needs: its migration will fail, and a drain "
        "of its node will hang.",
        VMI,
        grace=_SWEPT,
        next="Have another node offer it before its node is drained, or shut the VM down for that.",
        commands=(READ_VMI, NODES),
        alert="VMFeatureNoNode",
    ),
}
