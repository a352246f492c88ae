"""What can keep a VMI, or its pod, on a node that is to be drained."""

from __future__ import annotations

from dataclasses import replace

from ....domain.acts import Act, Forbids
from ....domain.drains.departure import REMEDIES, Remedy
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.severity import Severity

BLOCKED = Family("kubevirt_vmi_eviction_blocked", "A VMI that has to leave its node makes no progress.")
_NOTICE = Family(
    "kubevirt_vmi_eviction_notice",
    "A VMI that has to leave its node, and nothing is in its way: it waits, will be shut down, or may be blocked.",
)
_POD = Family(
    "kubevirt_launcher_pod_orphaned", "A launcher pod runs whose VMI does not exist; every eviction of it is refused."
)
_NODE = Family("kubevirt_node_drain_residual", "VMIs are left on a node that is being drained.")
_LOST_NODE = Family("kubevirt_node_lost", "A node with VMIs is not Ready.")

# The alerts, which are the names of the runbooks too.
_STUCK, _NOT_MIGRATABLE, _LEFT = "VMEvictionMigrationStuck", "VMEvictionNotMigratable", "VMEvacuationRequestLeft"
_PDB, _TERMINATING, _STALLED = "VMEvictionPDBBlocks", "VMEvictionTerminatingStuck", "KubeVirtNodeDrainStalled"

_ON_NODE = "kubectl get virtualmachineinstances.kubevirt.io -A -l kubevirt.io/nodeName=NODE"
_RESIDUAL = Remedy("Follow the findings of the VMIs that are left on node NODE.", (_ON_NODE,))

_IDLE = Remedy("Drain node NODE, or uncordon it.", (_ON_NODE, "kubectl uncordon NODE"), does=(Act.DRAIN,))
_UNDONE = Remedy(
    "Cordon node NODE again, or delete NodeMaintenance MAINTENANCE.",
    ("kubectl get nodemaintenances.nodemaintenance.medik8s.io MAINTENANCE -o yaml", "kubectl cordon NODE"),
)

_INFO = Severity.INFO


def _reason(
    meaning: str,
    alert: str,
    remedy: str | Remedy,
    grace: float = 0.0,
    *,
    family: Family = BLOCKED,
    severity: Severity = Severity.WARNING,
    lasting: bool = False,
    remediation: str = "",
    cause: Cause | None = None,
    forbids: Forbids | None = None,
) -> Reason:
    """`remedy` is one of REMEDIES: the usual one, where it depends on the case."""
    found = REMEDIES[remedy] if isinstance(remedy, str) else remedy
    made = Reason((severity,), meaning, family, grace=grace, lasting=lasting, cause=cause, forbids=forbids)
    advised = replace(made, next=found.next, commands=found.commands, does=found.does)
    return replace(advised, alert=alert, remediation=remediation)


REASONS = {
    "StuckTerminating": _reason(
        "The VMI, on a node that is cordoned or drained, was deleted, and is there long after its guest should have"
        " shut down.",
        _TERMINATING,
        "StuckTerminating",
        600.0,
    ),
    "StaleEvacuationRequest": _reason(
        "The VMI is asked to leave a node that it is not on: nobody migrates it, and evictions are refused.",
        _LEFT,
        "StaleEvacuationRequest",
        120.0,
        remediation="cancel_stale_evacuation",
    ),
    "ExternalAwaiting": _reason(
        "The VMI is asked to leave its node, and the controller that manages it has not moved it.",
        _NOT_MIGRATABLE,
        "ExternalAwaiting",
        900.0,
        remediation="handle_external_eviction",
    ),
    "ExternalNoHandler": _reason(
        "The VMI is asked to leave, its strategy is External, and no label says which controller manages it.",
        "",
        "ExternalNoHandler",
        family=_NOTICE,
        severity=_INFO,
        remediation="handle_external_eviction",
    ),
    "NotMigratableAfterRequest": _reason(
        "The VMI was asked to leave and then became one that can't be migrated.",
        _NOT_MIGRATABLE,
        "NotMigratable",
        120.0,
        remediation="stop_blocked_vmi",
        forbids=Forbids((Act.MIGRATE,), "it can't be migrated"),
    ),
    "RequestWithUnmanagedStrategy": _reason(
        "The VMI is asked to leave, nobody migrates it by its strategy, and its next eviction shuts it down.",
        _LEFT,
        "RequestWithUnmanagedStrategy",
        120.0,
        remediation="cancel_stale_evacuation",
        forbids=Forbids((Act.DRAIN,), "its next eviction shuts its guest down"),
    ),
    "MigrationFailing": _reason(
        "At least two migrations in a row, since the VMI was asked to leave, failed.",
        _STUCK,
        "MigrationFailing",
        remediation="propose_next_step",
    ),
    "TargetUnschedulable": _reason(
        "No node takes the target pod of the VMI's migration.",
        _STUCK,
        "TargetUnschedulable",
        60.0,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
        remediation="propose_next_step",
    ),
    "TargetNotStarting": _reason(
        "The target pod of the VMI's migration has a node and does not start; `waiting` says what it waits for.",
        _STUCK,
        "TargetNotStarting",
        300.0,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
        remediation="propose_next_step",
    ),
    "MigrationPending": _reason(
        "The migration of the VMI is held up; `cause` says by what.",
        _STUCK,
        "MigrationPending",
        300.0,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
        remediation="propose_next_step",
    ),
    "MigrationHanging": _reason(
        "The migration of the VMI has a target pod and waits for somebody who does not act, which KubeVirt never ends;"
        " `cause` says for whom.",
        _STUCK,
        "MigrationHanging",
        300.0,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
        remediation="propose_next_step",
    ),
    "RequestOnSchedulableNode": _reason(
        "The VMI is asked to leave a node that nobody drains, and is migrated again and again until it has left.",
        _LEFT,
        "RequestOnSchedulableNode",
        900.0,
        remediation="migrate_marked_vmi",
    ),
    "RequestByWorkloadUpdate": _reason(
        "The VMI is asked to leave a node that nobody drains, since its launcher pod is of an older release of KubeVirt"
        " and is to be replaced.",
        "",
        "RequestByWorkloadUpdate",
        900.0,
        family=_NOTICE,
        severity=_INFO,
        cause=Cause.CLUSTER,
    ),
    "MigrationQueued": _reason(
        "The migration of the VMI waits for its turn, since as many run already as may.",
        "",
        "MigrationQueued",
        family=_NOTICE,
        severity=_INFO,
        cause=Cause.NODE,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
    ),
    "RequestQueued": _reason(
        "The VMI is one of several that are asked to leave a node that nobody drains, and waits for its turn.",
        "",
        "RequestQueued",
        family=_NOTICE,
        severity=_INFO,
        cause=Cause.NODE,
    ),
    "DeschedulingQueued": _reason(
        "The descheduler asked the VMI to leave, and its migration waits for its turn.",
        "",
        "DeschedulingQueued",
        family=_NOTICE,
        severity=_INFO,
        cause=Cause.CLUSTER,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
    ),
    "MigrationOverdue": _reason(
        "The migration of the VMI has waited for its turn for an hour.",
        _STUCK,
        "MigrationQueued",
        3600.0,
        lasting=True,
        cause=Cause.NODE,
        forbids=Forbids((Act.MIGRATE,), "a migration of it is under way"),
        remediation="propose_next_step",
    ),
    "NotStarted": _reason(
        "The VMI has to leave its node and can be migrated, and no migration was made.",
        _STUCK,
        "NotStarted",
        120.0,
        remediation="migrate_marked_vmi",
    ),
    "NotMigratable": _reason(
        "The node is drained, and the VMI may only be migrated and can't be: its eviction is refused.",
        _NOT_MIGRATABLE,
        "NotMigratable",
        120.0,
        remediation="stop_blocked_vmi",
        forbids=Forbids((Act.MIGRATE,), "it can't be migrated"),
    ),
    "NotMigratableIfDrained": _reason(
        "The VMI may only be migrated and can't be: its eviction would be refused. Its node is cordoned, and nobody is"
        " seen to drain it.",
        "",
        "NotMigratable",
        family=_NOTICE,
        severity=_INFO,
        forbids=Forbids((Act.MIGRATE,), "it can't be migrated"),
    ),
    "NotMigratableWhileCordoned": _reason(
        "The VMI may only be migrated and can't be, and its node has been cordoned for an hour: the node may be drained"
        " all the same, which refused evictions leave no trace of.",
        _NOT_MIGRATABLE,
        "NotMigratable",
        3600.0,
        lasting=True,
        remediation="stop_blocked_vmi",
        forbids=Forbids((Act.MIGRATE,), "it can't be migrated"),
    ),
    "PDBIfDrained": _reason(
        "PDBs would refuse the eviction of a VMI's pod from a node that is cordoned, and that nobody is seen to drain.",
        "",
        "UserPDB",
        family=_NOTICE,
        severity=_INFO,
        cause=Cause.PDB,
    ),
    "PDBWhileCordoned": _reason(
        "PDBs would refuse the eviction of a VMI's pod, and its node has been cordoned for an hour: the node may be"
        " drained all the same, which refused evictions leave no trace of.",
        _PDB,
        "UserPDB",
        3600.0,
        lasting=True,
        cause=Cause.PDB,
    ),
    "UserPDB": _reason(
        "A PDB refuses the eviction of the VMI's pod; `cause` says why.", _PDB, "UserPDB", 300.0, cause=Cause.PDB
    ),
    "MultiplePDB": _reason(
        "Several PDBs select the VMI's pod: an eviction fails, and the drain with it.",
        _PDB,
        "MultiplePDB",
        60.0,
        cause=Cause.PDB,
    ),
    "LegacyTaintIgnored": _reason(
        "KubeVirt's drain taint is on the node, by which a VMI with this strategy never moves.",
        _NOT_MIGRATABLE,
        "LegacyTaintIgnored",
        900.0,
        cause=Cause.NODE,
    ),
    "WillShutDown": _reason(
        "The node is drained, and the eviction of its pod shuts the guest down.",
        "",
        "WillShutDown",
        family=_NOTICE,
        severity=_INFO,
        forbids=Forbids((Act.DRAIN,), "an eviction shuts its guest down"),
    ),
    "OrphanLauncherPod": _reason(
        "A launcher pod runs whose VMI does not exist.",
        _TERMINATING,
        "OrphanLauncherPod",
        300.0,
        family=_POD,
        remediation="handle_orphan_launcher",
        forbids=Forbids((Act.START,), "a launcher pod without a VMI may still run its guest"),
    ),
    "NodeLost": _reason(
        "A node is not Ready and VMIs are on it: they start nowhere else while their launcher pods are there.",
        "KubeVirtNodeLost",
        "NodeLost",
        300.0,
        family=_LOST_NODE,
        forbids=Forbids(
            (Act.RESTART, Act.END, Act.MIGRATE, Act.DRAIN),
            "its node is not Ready: nothing is migrated off it, and the VM starts nowhere else while its pod is there",
        ),
        cause=Cause.NODE,
    ),
    "CordonedWithVMs": _reason(
        "A node has been cordoned for a quarter of an hour, and nobody is seen to ask the VMIs on it to leave.",
        "",
        _IDLE,
        900.0,
        family=_NODE,
        severity=_INFO,
        lasting=True,
        cause=Cause.NODE,
    ),
    "MaintenanceWithoutCordon": _reason(
        "A NodeMaintenance is there, and its node is neither cordoned nor tainted: nothing drains it.",
        "",
        _UNDONE,
        600.0,
        family=_NODE,
        severity=_INFO,
        cause=Cause.NODE,
    ),
    "NodeDrainResidual": _reason(
        "A node is drained and VMIs are left on it; the evidence counts them.",
        "",
        _RESIDUAL,
        family=_NODE,
        severity=_INFO,
        cause=Cause.NODE,
    ),
    "NodeDrainStalled": _reason(
        "A node is drained and VMIs are left on it, and for half an hour each of them was blocked.",
        _STALLED,
        _RESIDUAL,
        1800.0,
        family=_NODE,
        lasting=True,
        cause=Cause.NODE,
    ),
}
