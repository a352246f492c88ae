"""Maintenance of the whole cluster, node by node: what a drain of each node alone would do to its VMs now, and in which
order the nodes can go.

Each node is drained by itself, as in a rolling upgrade of the nodes: the others are there, with the room that they have
now. What a drain of several at once would do, the question about a drain answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator

import msgspec

from ..domain.drains.departure import DrainState
from ..engine.engine import Engine
from ..facts.record import Ref
from ..store.cluster import Cluster
from ..store.indexes.drains import NODE
from ..store.kinds.node import Node
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from .asked import MaintenanceQuery
from .drain import READER, nodes_seen
from .drain.report import NOT_CONSIDERED, MigrationLimits, NodeReport, UnseenKind, VMReport
from .drain.view import Drains
from .nearest import meant
from .question import NotThereError, Question, number_in
from .trust import exit_code as ended

# What a drain of a node comes to, the best first.
VERDICTS = {
    "empty": "without a VM",
    "moves": "from which all VMs move",
    "shuts down": "of which VMs are shut down",
    "unknown": "of which it is not known",
    "blocked": "that can't be drained",
}
MOST = 100  # nodes of one answer of the API
FIRST = 25  # of one where nobody says how many
_NAMED = 10  # VMs that hold up a drain of their node

_OUTCOMES = {
    DrainState.BLOCKED: "blocked",
    DrainState.UNKNOWN: "unknown",
    DrainState.MAY_MIGRATE: "unknown",
    DrainState.SHUTS_DOWN: "shut down",
    DrainState.EXTERNAL: "left to its controller",
    DrainState.MIGRATING: "moving",
    DrainState.WAITING: "will move",
    DrainState.ARRIVING: "will move",
    DrainState.TERMINATING: "ending",
}


# What doesn't move by itself, and what a drain of its node comes to by that, the worst first.
HELD = {"blocked": "blocked", "unknown": "unknown", "shut down": "shuts down", "left to its controller": "shuts down"}


class HeldVM(msgspec.Struct, frozen=True):
    """A VM that doesn't move by itself, with what decides and what to do first."""

    vm: Ref
    outcome: str
    reason: str
    why: str
    next: str


class NodeOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """`verdict` is one of VERDICTS. `counts` has how many VMs have which outcome: `will move`, `moving` (a migration is
    under way), `shut down`, `left to its controller`, `blocked`, `unknown`, or `ending` (it is being deleted). `asked`
    have an evacuation request, `moved` left since the node was cordoned. `held` are the first that don't move by
    themselves, `held_in_all` counts them, `owners` are their namespaces.
    """

    node: str
    version: str
    ready: bool
    cordoned: bool
    since: str
    drain: tuple[str, ...]
    taints: tuple[str, ...]
    verdict: str
    vms: int
    counts: dict[str, int]
    asked: int
    moved: int
    others: int
    held: tuple[HeldVM, ...]
    held_in_all: int
    owners: tuple[str, ...]


class Maintenance(msgspec.Struct, frozen=True, rename="camel"):
    """`nodes` are some of `in_all`, from number `first` on, in the order in which they can go: those that nothing holds
    up first, of them those with the fewest VMs; by their names where only some are looked at. `unseen` are the kinds
    that can't be seen, and `unread` undecodable objects: while there are any, the answer may be incomplete.
    """

    generation: int
    in_all: int
    first: int
    nodes: tuple[NodeOutcome, ...]
    limits: MigrationLimits | None
    webhook: str
    unseen: tuple[UnseenKind, ...]
    unread: tuple[Ref, ...]
    not_considered: tuple[str, ...] = NOT_CONSIDERED


def exit_code(found: Maintenance, *, whole: bool = True) -> int:
    """0 if each of the nodes can be drained and its VMs move, 1 if one can't, 2 where that is not known of one."""
    verdicts = {each.verdict for each in found.nodes}
    stays = bool(found.webhook) or not verdicts.isdisjoint(("blocked", "shuts down"))
    return ended(found=stays, unknown=bool(found.unseen or found.unread) or "unknown" in verdicts or not whole)


def _steps(engine: Engine, _: None, asked: MaintenanceQuery) -> Generator[None, None, Maintenance]:
    return (yield from _answered(engine, asked, None))


def _bounded(engine: Engine, _: None, asked: MaintenanceQuery) -> Generator[None, None, Maintenance]:
    return (yield from _answered(engine, asked, FIRST))


def _answered(engine: Engine, asked: MaintenanceQuery, most: int | None) -> Generator[None, None, Maintenance]:
    """Raises NotThereError and UnaskableError."""
    cluster = engine.cluster
    limit = number_in(asked.limit, "limit", 1)
    limit = min(limit or most, MOST) if most is not None else limit
    first = ((number_in(asked.page, "page", 1) or 1) - 1) * (limit or 0)
    names = sorted(each.name for each in cluster.all(Node)) if nodes_seen(cluster) else []
    if missing := [each for each in asked.node if names and each not in names]:
        raise NotThereError(f"no node is called {missing[0][:253]!r}; {meant(missing[0], names, 'nodes')}")
    wanted = [each for each in names if not asked.node or each in asked.node]
    shown = wanted[first : first + limit] if limit is not None else wanted
    drains = Drains(cluster, engine.findings())
    nodes = []
    unread: set[Ref] = set()
    for name in shown:
        drain = yield from drains.of([name], engine.generation)
        unread.update(drain.unread)
        nodes += [_outcome(each, cluster) for each in drain.nodes]
    around = yield from drains.of((), engine.generation)
    return Maintenance(
        generation=engine.generation,
        in_all=len(wanted),
        first=first,
        nodes=tuple(sorted(nodes, key=_in_turn)),
        limits=around.limits,
        webhook=around.webhook,
        unseen=around.unseen,
        unread=tuple(sorted(unread | set(around.unread))),
    )


def _outcome(report: NodeReport, cluster: Cluster) -> NodeOutcome:
    node = cluster.get(Node, "", report.node)
    vmis = (each for each in cluster.sharing(NODE, report.node) if isinstance(each, VirtualMachineInstance))
    counts = Counter(_OUTCOMES[each.state] for each in report.vms)
    held = [each for each in report.vms if _OUTCOMES[each.state] in HELD]
    return NodeOutcome(
        node=report.node,
        version=node.kubelet if node is not None else "",
        ready=report.ready,
        cordoned=report.cordoned,
        since=report.since,
        drain=report.drain,
        taints=report.taints,
        verdict=_verdict(counts),
        vms=sum(counts.values()),
        counts=dict(sorted(counts.items())),
        asked=sum(1 for each in vmis if each.evacuation == report.node),
        moved=report.evacuated,
        others=report.others,
        held=tuple(_held(each) for each in held[:_NAMED]),
        held_in_all=len(held),
        owners=tuple(sorted({each.vm.namespace for each in held})),
    )


def _verdict(counts: Counter[str]) -> str:
    """The worst of what happens to one of its VMs."""
    worst = next((verdict for outcome, verdict in HELD.items() if counts[outcome]), "")
    return worst or ("moves" if counts else "empty")


def _held(vm: VMReport) -> HeldVM:
    return HeldVM(vm.vm, _OUTCOMES[vm.state], vm.reason, vm.why, vm.next)


def _in_turn(each: NodeOutcome) -> tuple[int, int, str]:
    return list(VERDICTS).index(each.verdict), each.vms, each.node


def progress(each: NodeOutcome) -> str:
    """How far a drain that is under way is; empty of a node from which nothing goes."""
    moving = each.counts.get("moving", 0)
    parts = ((each.moved, "moved"), (moving, "moving"), (max(0, each.asked - moving), "asked"))
    return ", ".join(f"{count} {what}" for count, what in parts if count)


def counted(nodes: Iterable[NodeOutcome]) -> Iterator[tuple[str, int]]:
    """How many nodes have each verdict, the best first; what none has is left out."""
    every = Counter(each.verdict for each in nodes)
    return ((verdict, every[verdict]) for verdict in VERDICTS if every[verdict])


QUESTION = Question("maintenance", MaintenanceQuery, Maintenance, _steps, READER, bounded=_bounded)
"""What a drain of each node alone would do."""
