"""The VMs of a cluster as a list: the state of each, where it runs, what is forbidden, and how much is found of it.

A row has what its own objects and the open findings say. Which nodes could take a VM, and what a drain of its node or
the next release of KubeVirt would do to it, the question about the one VM answers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from ..domain.features.configuration import chosen
from ..domain.features.requests import requests_of
from ..domain.identity import owned
from ..domain.instancetypes.indexes import USERS
from ..engine.engine import Engine
from ..facts.matching import MatcherReference
from ..facts.record import Record, Ref
from ..facts.rules import BY_ID
from ..facts.vm_networks import claim_name, parted
from ..findings.finding import Finding
from ..store.indexes.drains import NODE
from ..store.indexes.networks import INTERFACE
from ..store.kinds.instancetypes import INSTANCETYPES
from ..store.kinds.ipam_claim import IPAMClaim
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ..store.reader import Reading
from ..store.source import Undecodable, unseen
from .asked import VMsQuery
from .finding_index import FindingIndex
from .nearest import meant
from .question import Question, UnaskableError, in_order, number_in
from .vm.verdicts import ACTS, by_open_findings

_KINDS = (VirtualMachine.KIND, VirtualMachineInstance.KIND)
READER = Reading(
    "vms",
    (*_KINDS, IPAMClaim.KIND, NetworkAttachmentDefinition.KIND, KubeVirt.KIND, *INSTANCETYPES),
    (NODE, INTERFACE, USERS),
)
STATES = (
    "Running",
    "Migrating",
    "Paused",
    "Starting",
    "Stopping",
    "Stopped",
    "Failing",
    "Waiting",
    "Terminating",
    "Unknown",
)
SORTS = ("name", "findings", "node", "state")
MOST = 500  # rows of one answer of the API
FIRST = 100  # of one where nobody says how many
_NAMES = 2000  # that are found by an index between two looks at the event loop
_SLICE = 200  # VMs that are looked at between two looks at the event loop


class Forbidden(msgspec.Struct, frozen=True):
    """An act that should not be done to the VM, or fails, by an open finding of this `reason`, or by its condition."""

    act: str
    why: str
    reason: str = ""


class VMRow(msgspec.Struct, frozen=True, rename="camel"):
    """`vm` is a VirtualMachine, or a VirtualMachineInstance that stands alone. `state` is one of STATES; `findings`
    counts those open of it, and `severity` is that of the worst, empty where there is none.
    """

    vm: Ref
    state: str
    run_strategy: str
    node: str
    forbidden: tuple[Forbidden, ...]
    restart_required: bool
    findings: int
    severity: str
    instancetype: str
    preference: str
    addresses: tuple[str, ...]


class VMs(msgspec.Struct, frozen=True, rename="camel"):
    """`rows` are some of `in_all` that are asked for, from number `first` on. `unseen` are the kinds that can't be
    seen: without VirtualMachines or VirtualMachineInstances VMs are missing, without others addresses, or what a filter
    asks for. `unread` are the VMs that are undecodable. `complete`: none that is asked for can be missing.
    """

    generation: int
    in_all: int
    first: int
    rows: tuple[VMRow, ...]
    unseen: tuple[str, ...] = ()
    unread: tuple[Ref, ...] = ()
    complete: bool = True


COLUMNS = (
    *("kind", "namespace", "name", "state", "node", "findings", "severity", "runStrategy", "instancetype"),
    *("preference", "addresses", "restartRequired", "forbidden"),
)
"""Of the list as CSV."""


def cells(row: VMRow) -> tuple[str, ...]:
    """Below COLUMNS."""
    return (
        *(row.vm.kind, row.vm.namespace, row.vm.name, row.state, row.node, str(row.findings), row.severity),
        *(row.run_strategy, row.instancetype, row.preference, ", ".join(row.addresses)),
        *("yes" if row.restart_required else "no", "; ".join(said(row))),
    )


def acts_by_why(row: VMRow) -> dict[str, list[str]]:
    """The acts that are forbidden, by the reason that forbids them."""
    acts: dict[str, list[str]] = {}
    for each in row.forbidden:
        acts.setdefault(each.reason or each.why, []).append(each.act)
    return acts


def said(row: VMRow) -> Iterator[str]:
    """`start, restart (ObjectMissing)`"""
    return (f"{', '.join(some)} ({why})" for why, some in acts_by_why(row).items())


class _Pair(NamedTuple):
    vm: VirtualMachine | None
    vmi: VirtualMachineInstance | None

    @property
    def one(self) -> VirtualMachine | VirtualMachineInstance:
        one = self.vm or self.vmi
        assert one is not None
        return one


_Name = tuple[str, str]  # namespace and name
Counted = FindingIndex | tuple[FindingIndex, Container[str]]
"""The open findings, for who sees only some namespaces with these."""


class _Looked:
    """The VMs of an engine, and what of them is asked for."""

    def __init__(self, engine: Engine, index: FindingIndex, asked: VMsQuery, within: Container[str] | None) -> None:
        """Raises UnaskableError."""
        self.engine, self.cluster, self.index, self.asked = engine, engine.cluster, index, asked
        self.within = within
        _refuse(asked.state, STATES, "state")
        _refuse(asked.cannot, ACTS, "act")
        _refuse(asked.feature, tuple(BY_ID), "feature")
        _refuse((asked.sort,) if asked.sort else (), SORTS, "sort order")
        kubevirt = chosen(self.cluster.all(KubeVirt))
        self.kubevirt = kubevirt if isinstance(kubevirt, KubeVirt) else None
        self.hidden = bool(unseen(self.cluster, (VirtualMachineInstance,)))

    @property
    def filters(self) -> bool:
        """Whether each VM has to be looked at to know whether it is asked for."""
        return bool(self.asked.state or self.asked.cannot or self.asked.restart_required or self.asked.feature)

    def names(self) -> Generator[None, None, Iterator[list[_Name]]]:
        """The names, sorted, in lists: of what an index finds, else of a namespace each."""
        asked, cluster = self.asked, self.cluster
        found: set[_Name] | None = None
        for wanted, names in (
            (asked.node, self._on_nodes),
            (asked.network, self._on_networks),
            (asked.instancetype, self._sized),
        ):
            if wanted:
                some, rest = set[_Name](), names()
                while part := tuple(islice(rest, _NAMES)):
                    some.update(part)
                    yield
                found = some if found is None else found & some
        if found is not None:
            kept = yield from in_order([name for name in found if self.wanted(name[0])], lambda each: each)
            return iter([kept])
        places = {*cluster.namespaces(VirtualMachine), *cluster.namespaces(VirtualMachineInstance)}
        return (self._within(each) for each in sorted(filter(self.wanted, places)))

    def wanted(self, namespace: str) -> bool:
        asked = self.asked.namespace
        return (not asked or namespace in asked) and (self.within is None or namespace in self.within)

    def _within(self, namespace: str) -> list[_Name]:
        names = self.cluster.names(VirtualMachine, namespace) | self.cluster.names(VirtualMachineInstance, namespace)
        return [(namespace, name) for name in sorted(names)]

    def _on_nodes(self) -> Iterator[_Name]:
        for each in self.asked.node:
            yield from _names(self.cluster.sharing(NODE, each), VirtualMachineInstance)

    def _on_networks(self) -> Iterator[_Name]:
        """By the name of a network, or a NAD as `namespace/name`."""
        nads = set(self.asked.network)
        nads |= {f"{n.namespace}/{n.name}" for n in self.cluster.all(NetworkAttachmentDefinition) if n.network in nads}
        for each in nads:
            yield from _names(self.cluster.sharing(INTERFACE, each), VirtualMachine, VirtualMachineInstance)

    def _sized(self) -> Iterator[_Name]:
        """By the name of an instancetype or a preference, or by `namespace/name` of one."""
        for key in self.cluster.keys(USERS):
            _, _, path = key.partition("/")
            if path.lstrip("/") in self.asked.instancetype or path.rpartition("/")[2] in self.asked.instancetype:
                yield from _names(self.cluster.sharing(USERS, key), VirtualMachine)

    def pair(self, name: _Name) -> _Pair:
        vm = self.cluster.get(VirtualMachine, *name)
        vmi = self.cluster.get(VirtualMachineInstance, *name)
        return _Pair(vm, owned(vmi, vm) if vm is not None else vmi)

    def wants(self, pair: _Pair) -> bool:
        asked = self.asked
        if pair.vm is None and pair.vmi is None:
            return False  # an index has it, and it has gone since
        if asked.node and (pair.vmi is None or pair.vmi.node not in asked.node):
            return False
        if asked.restart_required and (pair.vm is None or not pair.vm.restart_required):
            return False
        if asked.state and self.state(pair) not in asked.state:
            return False
        if asked.feature and self._features(pair).isdisjoint(asked.feature):
            return False
        return not asked.cannot or not {each.act for each in self.forbidden(pair)}.isdisjoint(asked.cannot)

    def _features(self, pair: _Pair) -> set[str]:
        of_vm = requests_of(pair.vm, self.cluster.get, self.kubevirt) if pair.vm is not None else ()
        return {rule for rule, _ in (*of_vm, *(pair.vmi.asks if pair.vmi is not None else ()))}

    def state(self, pair: _Pair) -> str:
        vm, vmi = pair
        if vm is not None and vm.deleting is not None:
            return "Terminating"
        if vmi is None or vmi.final:
            return self._stopped(vm)
        if vmi.deleting is not None:
            return "Stopping"
        if vmi.phase in PENDING:
            return "Starting"
        if vmi.migrating:
            return "Migrating"
        return "Paused" if vmi.paused else "Running" if vmi.phase == "Running" else "Unknown"

    def _stopped(self, vm: VirtualMachine | None) -> str:
        if self.hidden:
            return "Unknown"
        if vm is None or vm.run_strategy in ("Halted", ""):
            return "Stopped"
        if vm.failed_starts:
            return "Failing"
        if vm.waits_for_disks or vm.failure:
            return "Waiting"
        return "Starting" if vm.run_strategy == "Always" else "Stopped"

    def forbidden(self, pair: _Pair) -> tuple[Forbidden, ...]:
        one, vmi = pair.one, pair.vmi
        nads = [nad for each in pair if each is not None for _, nad, _ in each.networks if nad]
        found = self.engine.restraints.of(one.namespace, one.name, vmi.node if vmi is not None else "", nads)
        runs = vmi is not None and not vmi.final and bool(vmi.node) and vmi.phase not in PENDING
        if self.within is not None:  # what is found elsewhere says something of what is there
            found = [each for each in found if each.subject.namespace == one.namespace]
        acts = by_open_findings(found, runs=runs, alone=pair.vm is None)
        made = [Forbidden(act, each.why, each.reason) for act, each in acts]
        if runs and vmi is not None and vmi.migratable == "False" and all(each.act != "migrate" for each in made):
            made.append(Forbidden("migrate", f"LiveMigratable is False: {vmi.hindrance or 'no reason'}"))
        return tuple(made)

    def row(self, pair: _Pair) -> VMRow:
        one, (vm, vmi) = pair.one, pair
        findings = self.index.of_vm(one.namespace, one.name)
        worst = max((each.severity for each in findings), default=None, key=lambda each: each.rank)
        return VMRow(
            vm=one.ref,
            state=self.state(pair),
            run_strategy=vm.run_strategy if vm is not None else "",
            node=vmi.node if vmi is not None and not vmi.final else "",
            forbidden=self.forbidden(pair),
            restart_required=bool(vm is not None and vm.restart_required),
            findings=len(findings),
            severity=worst.value if worst is not None else "",
            instancetype=_referred(vm.instancetype if vm is not None else None),
            preference=_referred(vm.preference if vm is not None else None),
            addresses=tuple(dict.fromkeys(self._addresses(pair))),
        )

    def _addresses(self, pair: _Pair) -> Iterator[str]:
        """Those that the guest reports, then those that its IPAMClaims hold."""
        if pair.vmi is not None:
            yield from (parted(each)[1] for each in pair.vmi.addresses)
        one = pair.one
        for network, nad, _ in one.networks:
            claim = self.cluster.get(IPAMClaim, one.namespace, claim_name(one.name, network)) if nad else None
            yield from claim.hosts if claim is not None else ()


def _names(records: Iterable[Record], *kinds: type[Record]) -> Iterator[_Name]:
    return ((each.namespace, each.name) for each in records if isinstance(each, kinds))


def _referred(to: MatcherReference | None) -> str:
    return to.name if to is not None else ""


def _refuse(given: Iterable[str], known: tuple[str, ...], what: str) -> None:
    for each in given:
        if each not in known:
            raise UnaskableError(f"no {what} is called {each[:80]!r}; {meant(each, known, f'{what}s')}")


def _steps(engine: Engine, counted: Counted, asked: VMsQuery) -> Generator[None, None, VMs]:
    return (yield from _answered(engine, counted, asked, None))


def _bounded(engine: Engine, counted: Counted, asked: VMsQuery) -> Generator[None, None, VMs]:
    return (yield from _answered(engine, counted, asked, FIRST))


def _answered(engine: Engine, counted: Counted, asked: VMsQuery, most: int | None) -> Generator[None, None, VMs]:
    """Raises UnaskableError."""
    index, within = (counted, None) if isinstance(counted, FindingIndex) else counted
    looked = _Looked(engine, index, asked, within)
    limit = number_in(asked.limit, "limit", 1)
    limit = min(limit or most, MOST) if most is not None else limit
    page = number_in(asked.page, "page", 1) or 1
    first = (page - 1) * (limit or 0)
    if asked.sort not in ("", "name"):
        rows, in_all = yield from _sorted(looked, first, limit)
    else:
        rows, in_all = yield from _by_name(looked, first, limit)
    names = {each.name for each in _KINDS}
    unread = (each for each in engine.cluster.all(Undecodable) if each.kind in names)
    wanted = (each.ref for each in unread if looked.wanted(each.namespace))
    generation = engine.generation if within is None else 0  # which grows with what is found elsewhere
    blind = unseen(engine.cluster, [each.record for each in READER.reads])
    needs = {*names, *((NetworkAttachmentDefinition.__name__,) if asked.network else ())}
    left = tuple(sorted(wanted))
    complete = needs.isdisjoint(blind) and not left
    return VMs(generation, in_all, first, tuple(rows), blind, left, complete)


def _by_name(looked: _Looked, first: int, limit: int | None) -> Generator[None, None, tuple[list[VMRow], int]]:
    """Where nothing filters, a namespace that is not shown is only counted."""
    end = first + limit if limit is not None else None
    rows: list[VMRow] = []
    count = seen = 0
    for names in (yield from looked.names()):
        if not looked.filters and (count + len(names) <= first or (end is not None and count >= end)):
            count += len(names)
            yield
            continue
        for name in names:
            seen += 1
            if seen % _SLICE == 0:
                yield
            pair = looked.pair(name)
            if not looked.wants(pair):
                continue
            if count >= first and (end is None or count < end):
                rows.append(looked.row(pair))
            count += 1
    return rows, count


def _sorted(looked: _Looked, first: int, limit: int | None) -> Generator[None, None, tuple[list[VMRow], int]]:
    """By more than the name: each VM that is asked for is looked at, and only what is shown is kept."""
    keyed: list[tuple[object, _Name]] = []
    key = _KEYS[looked.asked.sort]
    seen = 0
    for names in (yield from looked.names()):
        for name in names:
            seen += 1
            if seen % _SLICE == 0:
                yield
            pair = looked.pair(name)
            if looked.wants(pair):
                keyed.append((key(looked, pair), name))
    ordered = yield from in_order(keyed, lambda each: each)
    shown = islice(ordered, first, first + limit if limit is not None else None)
    rows = []
    for at, (_, name) in enumerate(shown):
        rows.append(looked.row(looked.pair(name)))
        if at % _SLICE == 0:
            yield
    return rows, len(keyed)


def _worst(looked: _Looked, pair: _Pair) -> tuple[int, int]:
    """Of the findings: the worst severity first, then how many there are."""
    findings: list[Finding] = looked.index.of_vm(pair.one.namespace, pair.one.name)
    ranks = [each.severity.rank for each in findings]
    return -max(ranks, default=-1), -len(ranks)


_KEYS: dict[str, Callable[[_Looked, _Pair], object]] = {
    "findings": _worst,
    "node": lambda _, pair: pair.vmi.node if pair.vmi is not None else "~",
    "state": lambda looked, pair: STATES.index(looked.state(pair)),
}

QUESTION = Question("vms", VMsQuery, VMs, _steps, READER, FindingIndex, bounded=_bounded)
"""All VMs, with filters."""
