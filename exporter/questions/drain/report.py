"""The shape of the preview of a drain, as users get it."""

from __future__ import annotations

import msgspec

from ...domain.drains.departure import DrainState
from ...facts.record import Ref
from ..trust import exit_code as ended

TITLES = {
    DrainState.BLOCKED: "blocked",
    DrainState.UNKNOWN: "unknown",
    DrainState.SHUTS_DOWN: "shuts down",
    DrainState.EXTERNAL: "left to its controller",
    DrainState.MIGRATING: "migrating",
    DrainState.MAY_MIGRATE: "may migrate",
    DrainState.WAITING: "will migrate",
    DrainState.ARRIVING: "arrives",
    DrainState.TERMINATING: "ends",
}
STAYS = (DrainState.BLOCKED, DrainState.UNKNOWN, DrainState.SHUTS_DOWN)
LEAVES = (DrainState.MIGRATING, DrainState.EXTERNAL)
"""What is under way; a finding of it says that it takes too long."""


NOT_CONSIDERED = (
    "affinity of and to pods that are no VM's, and topology spread",
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
    """`vm` is a VirtualMachineInstance, or a launcher pod without one on the node.

    `reason` and `why` say what decides, `next` what to do in one sentence, and `commands` how, for a shell: those of
    the finding, where there is one. `to` is the node that it migrates to, or the controller that has to act. `target`
    is a node that could take it, by the plan, which places those that are blocked last; `room` says why none can.
    `pod` is what an eviction asks for, `answer` what it is expected to be answered with, and `probe` what it was.
    """

    vm: Ref
    state: DrainState
    strategy: str = ""
    reason: str = ""
    why: str = ""
    next: str = ""
    commands: tuple[str, ...] = ()
    to: str = ""
    evacuation_since: str = ""  # RFC 3339, since when it is asked to leave
    target: str = ""
    room: str = ""
    pod: Ref | None = None
    answer: str = ""
    probe: Probed | None = None
    findings: tuple[Shown, ...] = ()


class NodeReport(msgspec.Struct, frozen=True, rename="camel"):
    """`counts` are by state, without those of no VM. `evacuated` are moved off since it was cordoned, or at any time
    where that is not known. `others` are the pods that a drain evicts and that are no VM's. `drain` says by what the
    node is seen to be drained: empty for a cordon alone, and where nobody drains it.
    """

    node: str
    ready: bool
    cordoned: bool
    since: str
    taints: tuple[str, ...]
    drain: tuple[str, ...]
    counts: dict[str, int]
    evacuated: int
    running: int
    others: int
    vms: tuple[VMReport, ...]
    findings: tuple[Shown, ...] = ()


class MigrationLimits(msgspec.Struct, frozen=True, rename="camel"):
    """How many VMs migrate at once: in the cluster, and off one node; `running` are those of the cluster now."""

    per_cluster: int
    per_node: int
    running: int


class UnseenKind(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    why: str


class Drain(msgspec.Struct, frozen=True, rename="camel"):
    """`unseen` are the kinds that can't be seen, and `unread` the undecodable objects: while there are any, the answer
    may be incomplete. Without nodes, VMIs or pods there is none. `webhook` says why no launcher pod of
    the whole cluster can be evicted; empty where they can.
    """

    generation: int
    unseen: tuple[UnseenKind, ...]
    unread: tuple[Ref, ...]
    webhook: str
    limits: MigrationLimits | None
    nodes: tuple[NodeReport, ...]
    not_considered: tuple[str, ...] = NOT_CONSIDERED


def exit_code(drain: Drain, *, whole: bool = True) -> int:
    """0 if everything leaves by itself, 1 if something does not, 2 where something may, or the answer may be
    incomplete: it is not `whole`.
    """
    states = {vm.state for node in drain.nodes for vm in node.vms}
    perhaps = not states.isdisjoint((DrainState.UNKNOWN, DrainState.MAY_MIGRATE))
    stays = bool(drain.webhook) or not states.isdisjoint(STAYS)
    return ended(found=stays, unknown=bool(drain.unseen or drain.unread) or perhaps or not whole)
