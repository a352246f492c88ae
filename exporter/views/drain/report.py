"""The shape of the answer to "what becomes of the VMs when these nodes are drained", as users get it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ...model.record import Ref

__all__ = [
    "NOT_CONSIDERED",
    "STAYS",
    "TITLES",
    "Drain",
    "Limits",
    "NodeReport",
    "Outcome",
    "Reason",
    "Shown",
    "Unseen",
    "VMReport",
    "exit_code",
]


class Outcome(StrEnum):
    """What becomes of a VM; in the order in which they are shown."""

    BLOCKS = "blocks"  # it stays, and the node with it, until somebody does something
    UNKNOWN = "unknown"  # what decides it can't be seen
    SHUTS_DOWN = "shutsDown"  # an eviction ends the guest
    LEFT_TO = "leftTo"  # strategy External: a controller that is not KubeVirt's answers
    MIGRATING = "migrating"  # on its way now
    MIGRATES = "migrates"  # KubeVirt moves it when it is evicted, or in its turn
    ARRIVES = "arrives"  # it migrates to the node, and will have to leave again
    ENDS = "ends"  # it goes anyway: it is being deleted, or has ended


TITLES = {
    Outcome.BLOCKS: "blocked",
    Outcome.UNKNOWN: "unknown",
    Outcome.SHUTS_DOWN: "shuts down",
    Outcome.LEFT_TO: "left to its controller",
    Outcome.MIGRATING: "migrating",
    Outcome.MIGRATES: "will migrate",
    Outcome.ARRIVES: "arrives",
    Outcome.ENDS: "ends",
}
STAYS = (Outcome.BLOCKS, Outcome.UNKNOWN, Outcome.SHUTS_DOWN)


class Reason(StrEnum):
    """Why a VM blocks; those that the check `evictions` has too have its names (firmware-eviction B.9)."""

    NOT_MIGRATABLE = "NotMigratable"
    NOT_EVALUATED = "NotEvaluated"
    USER_PDB = "UserPDB"
    MULTIPLE_PDB = "MultiplePDB"
    NAME_TOO_LONG = "NameTooLong"
    STALE_REQUEST = "StaleEvacuationRequest"
    TARGET_UNSCHEDULABLE = "TargetUnschedulable"
    MIGRATION_PENDING = "MigrationPending"
    MIGRATION_FAILING = "MigrationFailing"
    SEVERAL_PODS = "SeveralPods"
    NOT_STARTED = "NotStarted"
    EXTERNAL_NO_HANDLER = "ExternalNoHandler"
    ORPHAN_LAUNCHER_POD = "OrphanLauncherPod"
    NO_TARGET = "NoTarget"
    NO_ROOM_LEFT = "NoRoomLeft"


NOT_CONSIDERED = (
    "affinity to other pods and topology spread",
    "the nodes that volumes can be had on",
    "quotas",
    "VMs that start meanwhile, or start again elsewhere",
    "PDBs of pods that are no VM's",
)


class Shown(msgspec.Struct, frozen=True, rename="camel"):
    """An open finding of the check `evictions`."""

    reason: str
    severity: str
    message: str
    fingerprint: str


class Probed(msgspec.Struct, frozen=True, rename="camel"):
    """What a dry-run eviction of the pod was answered with: what it means, and the answer itself."""

    said: str
    answer: str
    contradicts: bool


class VMReport(msgspec.Struct, frozen=True, rename="camel"):
    """`VM` is a VirtualMachineInstance, or the pod that one left behind.

    `why` says what decides, `needs` what somebody has to do. `to` is the node that it migrates to, or the controller
    that it is left to. `target` is a node that could take it, by the plan, which places those that are blocked last;
    `room` says why none can. `pod` is what an eviction asks for, and `probe` what it was answered, where one was asked.
    """

    vm: Ref
    outcome: Outcome
    strategy: str = ""
    reason: str = ""
    why: str = ""
    remedies: str = ""
    to: str = ""
    evacuation_since: str = ""  # RFC 3339, since when it is to leave
    target: str = ""
    room: str = ""
    pod: Ref | None = None
    probe: Probed | None = None
    findings: tuple[Shown, ...] = ()


class NodeReport(msgspec.Struct, frozen=True, rename="camel"):
    """`counts` are of outcomes, without those that nothing has. `evacuated` are moved off since it was cordoned, or at
    any time where that is not known. `others` are the pods that a drain evicts and that are no VM's.
    """

    node: str
    ready: bool
    cordoned: bool
    since: str
    taints: tuple[str, ...]
    counts: dict[str, int]
    evacuated: int
    running: int
    others: int
    vms: tuple[VMReport, ...]
    findings: tuple[Shown, ...] = ()


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    """How many VMs migrate at once: in the cluster, and off one node; `running` are those of the cluster now."""

    per_cluster: int
    per_node: int
    running: int


class Unseen(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    why: str


class Drain(msgspec.Struct, frozen=True, rename="camel"):
    """`unseen` are the kinds that can't be seen, and `unread` the objects that can't be read: while there are any,
    what is said may not be all. Without nodes, VMIs or pods nothing is said. `webhook` says why no launcher pod of
    the whole cluster can be evicted; empty where they can.
    """

    generation: int
    unseen: tuple[Unseen, ...]
    unread: tuple[Ref, ...]
    webhook: str
    limits: Limits | None
    nodes: tuple[NodeReport, ...]
    not_considered: tuple[str, ...] = NOT_CONSIDERED


def exit_code(drain: Drain) -> int:
    """0 where everything leaves by itself, 1 where something does not; 2 goes before 1: what is said may not be all."""
    outcomes = {vm.outcome for node in drain.nodes for vm in node.vms}
    if drain.unseen or drain.unread or Outcome.UNKNOWN in outcomes:
        return 2
    return 1 if drain.webhook or not outcomes.isdisjoint(STAYS) else 0
