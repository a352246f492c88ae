"""What can keep a VMI, or its pod, on a node that is to be empty."""

from __future__ import annotations

from ...findings import Severity
from ..base import Family, Reason

__all__ = ["BLOCKED", "REASONS"]

BLOCKED = Family(
    "kubevirt_vmi_eviction_blocked",
    "A VMI that is to leave its node does not get on.",
)
_NOTICE = Family(
    "kubevirt_vmi_eviction_notice",
    "A VMI that is to leave its node, and nothing is in its way: it waits, will be shut down, or may be blocked.",
)
_POD = Family(
    "kubevirt_launcher_pod_orphaned",
    "A launcher pod runs, its VMI is not there, and no eviction of it is let pass.",
)
_NODE = Family(
    "kubevirt_node_drain_residual",
    "VMIs are left on a node that is being drained.",
)
_INFO, _WARNING = (Severity.INFO,), (Severity.WARNING,)

REASONS = {
    "StuckTerminating": Reason(
        _WARNING,
        "The VMI, on a node that is emptied, was deleted, and is there long after its guest should have ended.",
        BLOCKED,
        "StuckTerminating",
        600.0,
    ),
    "StaleEvacuationRequest": Reason(
        _WARNING,
        "The VMI is marked to leave a node that it is not on: nobody migrates it, and no eviction is let pass.",
        BLOCKED,
        "StaleEvacuationRequest",
        120.0,
    ),
    "ExternalAwaiting": Reason(
        _WARNING,
        "The VMI is marked, and whoever manages it has not moved it.",
        BLOCKED,
        "ExternalAwaiting",
        900.0,
    ),
    "ExternalNoHandler": Reason(
        _INFO,
        "The VMI is marked, its strategy is External, and no label tells who manages it.",
        _NOTICE,
        "ExternalNoHandler",
    ),
    "NotMigratableAfterRequest": Reason(
        _WARNING,
        "The VMI was marked and then became one that can't be migrated.",
        BLOCKED,
        "NotMigratableAfterRequest",
        120.0,
    ),
    "RequestWithUnmanagedStrategy": Reason(
        _WARNING,
        "The VMI is marked, nobody migrates it by its strategy, and its next eviction shuts it down.",
        BLOCKED,
        "RequestWithUnmanagedStrategy",
        120.0,
    ),
    "MigrationFailing": Reason(
        _WARNING, "At least two migrations in a row, since it was marked, failed.", BLOCKED, "MigrationFailing"
    ),
    "TargetUnschedulable": Reason(
        _WARNING, "No node takes the target pod of its migration.", BLOCKED, "TargetUnschedulable", 60.0
    ),
    "MigrationPending": Reason(
        _WARNING, "Its migration is held up; `cause` says by what.", BLOCKED, "MigrationPending", 300.0
    ),
    "RequestOnSchedulableNode": Reason(
        _WARNING,
        "The VMI is marked to leave a node that nobody drains, and is migrated again and again until it has left.",
        BLOCKED,
        "RequestOnSchedulableNode",
        900.0,
    ),
    "RequestByWorkloadUpdate": Reason(
        _INFO,
        "The same of a VMI that KubeVirt replaces because its launcher is of an older release.",
        _NOTICE,
        "RequestOnSchedulableNode",
        900.0,
    ),
    "MigrationQueued": Reason(
        _INFO, "Its migration waits for its turn, since so many run already.", _NOTICE, "MigrationPending"
    ),
    "MigrationOverdue": Reason(
        _WARNING, "Its migration has waited for its turn for an hour.", BLOCKED, "MigrationPending", 3600.0
    ),
    "NotStarted": Reason(
        _WARNING, "The VMI is marked and can be migrated, and no migration was made.", BLOCKED, "NotStarted", 120.0
    ),
    "NotMigratable": Reason(
        _WARNING,
        "The node is drained, and the VMI may only be migrated and can't be: its eviction is refused.",
        BLOCKED,
        "NotMigratable",
        120.0,
    ),
    "NotMigratableIfDrained": Reason(
        _INFO, "The same of a node that is cordoned, and that nobody is seen to drain.", _NOTICE, "NotMigratable"
    ),
    "UserPDB": Reason(_WARNING, "A PDB refuses the eviction of its pod; `cause` says why.", BLOCKED, "UserPDB", 300.0),
    "MultiplePDB": Reason(
        _WARNING,
        "Several PDBs select its pod: an eviction fails, and the drain with it.",
        BLOCKED,
        "MultiplePDB",
        60.0,
    ),
    "LegacyTaintIgnored": Reason(
        _WARNING,
        "KubeVirt's taint is on the node, by which a VMI with this strategy never moves.",
        BLOCKED,
        "LegacyTaintIgnored",
        900.0,
    ),
    "WillShutDown": Reason(
        _INFO, "The node is drained, and the eviction of its pod shuts the guest down.", _NOTICE, "C-31"
    ),
    "OrphanLauncherPod": Reason(
        _WARNING, "A launcher pod runs whose VMI is not there.", _POD, "OrphanLauncherPod", 300.0
    ),
    "NodeDrainResidual": Reason(
        _INFO, "A node is drained and VMIs are left on it; the evidence counts them.", _NODE, "NodeDrainResidual"
    ),
    "NodeDrainStalled": Reason(
        _WARNING,
        "The same, and for half an hour each of them was blocked.",
        _NODE,
        "NodeDrainResidual",
        1800.0,
    ),
}
