"""Instancetypes and preferences: which VMs refer to each and how, how their copies differ, and who fails without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

import msgspec

from ..counts.instancetypes import InstancetypeTarget, InstancetypeUsage, InstancetypeUse, role_of
from ..domain.instancetypes.conflicts import differing
from ..domain.instancetypes.indexes import UNVERSIONED, object_key
from ..domain.instancetypes.resolving import LIVE, ReferenceMode
from ..engine.engine import Engine
from ..facts.matching import ROLES
from ..facts.naming import NAMED
from ..facts.record import Ref
from ..findings.finding import Finding
from ..store.cluster import Cluster
from ..store.kinds.controller_revision import ControllerRevision, Stash
from ..store.kinds.instancetypes import CLUSTER_WIDE, INSTANCETYPES, RESOURCES, Kept
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.templates import VirtualMachinePool
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.reader import Reading
from ..store.source import FILE, Undecodable, not_served, unseen
from .asked import InstancetypesQuery
from .nearest import meant, shortened
from .question import NotThereError, Question
from .times import rfc3339

# What users get to know of instancetypes and preferences.


class CopyReport(msgspec.Struct, frozen=True, rename="camel"):
    """The copies of one generation of an object; `fields` are those in which the live object differs."""

    generation: int
    uid: str
    vms: int
    fields: tuple[str, ...]


class InstancetypeReport(msgspec.Struct, frozen=True, rename="camel"):
    """`state` is present, missing, or unknown where it can't be read whether it is there.

    Of its `vms`, by mode in `users`, `dependents` have no copy and fail without it, `safe` have one, `broken` have one
    that KubeVirt does not find or can't decode. `pools` are those whose next VMs fail without it, None while pools
    can't be seen. `drifted` VMs have a copy that differs, `fields` counts them by what differs.

    It is not `complete` while an object is undecodable that may refer to it.
    """

    role: str
    kind: str
    namespace: str
    name: str
    state: str
    deprecated: bool
    deleting_since: str
    vms: int
    users: dict[str, int]
    safe: int
    broken: int
    dependents: int
    first_dependents: tuple[Ref, ...]
    pools: int | None
    first_pools: tuple[Ref, ...]
    revisions: int
    drifted: int
    fields: dict[str, int]
    copies: tuple[CopyReport, ...]
    complete: bool
    findings: dict[str, int]

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Instancetypes(msgspec.Struct, frozen=True, rename="camel"):
    """`unseen` says which kinds can't be seen; `objects` are left out where their counts would be wrong, and where the
    cluster does not serve them, which `not_applicable` says. `inferred` counts the VMs, by role, for which the object
    is still to be inferred from a volume.
    """

    generation: int
    unseen: tuple[str, ...]
    not_applicable: str
    inferred: dict[str, int]
    objects: tuple[InstancetypeReport, ...]


# Puts the report together, in slices.
#
# Pure: the counts come from `InstancetypeUsage`, so that only what is named is looked up among the VMs.

READER = Reading(
    "instancetypes",
    (*INSTANCETYPES, VirtualMachine.KIND, VirtualMachinePool.KIND, ControllerRevision.KIND, KubeVirt.KIND),
    (*InstancetypeUsage.INDEXES, UNVERSIONED),
    requires=CLUSTER_WIDE,
)
MOST_COPIES = 10
MOST_FIELDS = 20
_SLICE = 500  # findings or VMs looked at between two looks at the event loop
_COMPARED = 50  # copies
_USERS = ("VirtualMachine", "VirtualMachinePool", "ControllerRevision")
_OF_ALL = ("KubeVirt", FILE)
_KINDS = {resource: kind for kind, resource in RESOURCES.items()}


class _Unread(NamedTuple):
    """What can't be read: instancetypes and preferences, the namespaces of those who may refer to one, and whether
    there may be anything else.
    """

    objects: frozenset[InstancetypeTarget]
    namespaces: frozenset[str]
    anything: bool

    @classmethod
    def of(cls, cluster: Cluster) -> _Unread:
        every = tuple(cluster.all(Undecodable))
        return cls(
            frozenset(
                InstancetypeTarget(each.kind, each.namespace, each.object_name) for each in every if each.kind in LIVE
            ),
            frozenset(each.namespace for each in every if each.kind in _USERS),
            any(each.kind in _OF_ALL for each in every),
        )

    def may_be(self, target: InstancetypeTarget) -> bool:
        return self.anything or target in self.objects

    def leaves_whole(self, target: InstancetypeTarget) -> bool:
        hidden = target.namespace in self.namespaces if target.namespace else bool(self.namespaces)
        return not hidden and not self.may_be(target)


def steps(
    cluster: Cluster, usage: InstancetypeUsage, findings: Iterable[Finding], generation: int, only: str = ""
) -> Generator[None, None, Instancetypes]:
    """Those that are missing or being deleted first, then those on which most VMs depend; stops after each few
    milliseconds, so that others get their turn. `only` is NAME or NAMESPACE/NAME. What changed since `usage` was last
    settled is not counted yet.
    """
    absent = not_served(cluster, READER.requires)
    blind = unseen(cluster, (*InstancetypeUsage.KINDS, VirtualMachinePool)) if not absent else ()
    if absent or set(blind) - {VirtualMachinePool.__name__}:
        return Instancetypes(generation, blind, absent, {}, ())
    reasons = yield from _reasons(findings)
    unread = _Unread.of(cluster)
    reports, inferred = [], dict.fromkeys((role.value for role in ROLES), 0)
    for target in sorted({target for role in ROLES for target in usage.targets(role)} | unread.objects):
        if not target.name:
            inferred[role_of(target).value] += usage.modes(target).get(ReferenceMode.INFERRED, 0)
        elif only in ("", target.name, f"{target.namespace}/{target.name}"):
            found = reasons.get(target, Counter())
            reports.append((yield from _report(cluster, usage, target, found, unread, pools=not blind)))
            yield
    return Instancetypes(generation, blind, "", inferred, tuple(sorted(reports, key=_rank)))


def _rank(each: InstancetypeReport) -> tuple[object, ...]:
    place = (each.kind, each.namespace, each.name)
    return (each.state != "missing", not each.deleting_since, -each.dependents, -each.vms, *place)


def _report(
    cluster: Cluster,
    usage: InstancetypeUsage,
    target: InstancetypeTarget,
    findings: Counter[str],
    unread: _Unread,
    *,
    pools: bool,
) -> Generator[None, None, InstancetypeReport]:
    live = cluster.get(LIVE[target.kind], target.namespace, target.name)
    modes, uses = usage.modes(target), usage.uses(target)
    broken = sum(vms for use, vms in uses if use.broken)
    dependents = modes.get(ReferenceMode.UNVERSIONED, 0)
    needing = usage.pools(target) if pools else []
    copies = yield from _copies(live, _stashes(uses, target.name))
    fields: Counter[str] = Counter()
    for each in copies:
        fields.update(dict.fromkeys(each.fields, each.vms))
    first = yield from _first_dependents(cluster, usage, target)
    return InstancetypeReport(
        role=role_of(target).value,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        state="present" if live is not None else "unknown" if unread.may_be(target) else "missing",
        deprecated=live is not None and live.deprecated,
        deleting_since=rfc3339(live.deleting) if live is not None else "",
        vms=sum(modes.values()),
        users={mode.value: modes.get(mode, 0) for mode in ReferenceMode if mode is not ReferenceMode.INFERRED},
        safe=sum(modes.values()) - dependents - broken,
        broken=broken,
        dependents=dependents,
        first_dependents=first,
        pools=len(needing) if pools else None,
        first_pools=tuple(needing[:NAMED]),
        revisions=usage.revisions(target),
        drifted=sum(each.vms for each in copies if each.fields),
        fields=dict(fields.most_common(MOST_FIELDS)),
        copies=tuple(copies[:MOST_COPIES]),
        complete=unread.leaves_whole(target),
        findings=dict(sorted(findings.items())),
    )


def _stashes(uses: Iterable[tuple[InstancetypeUse, int]], name: str) -> Counter[Stash]:
    """VMs by what their ControllerRevision holds, where it is a copy of the object by its label."""
    found: Counter[Stash] = Counter()
    for use, vms in uses:
        if use.copy is not None and not use.broken and use.copy.object_name == name:
            found[use.copy] += vms
    return found


def _copies(live: Kept | None, stashes: Counter[Stash]) -> Generator[None, None, list[CopyReport]]:
    """Those that most VMs have first. Where the live object is not there, none differs from it."""
    found = []
    for at, (stash, vms) in enumerate(stashes.most_common()):
        fields = differing(stash.spec, live.spec)[:MOST_FIELDS] if live is not None else ()
        found.append(CopyReport(stash.object_generation, stash.object_uid, vms, fields))
        if at % _COMPARED == _COMPARED - 1:
            yield
    return found


def _first_dependents(
    cluster: Cluster, usage: InstancetypeUsage, target: InstancetypeTarget
) -> Generator[None, None, tuple[Ref, ...]]:
    first: list[Ref] = []
    vms = iter(cluster.sharing(UNVERSIONED, object_key(*target)))
    while part := tuple(islice(vms, _SLICE)):
        first = nsmallest(NAMED, (*first, *(each.ref for each in part if usage.unversioned(target, each))))
        yield
    return tuple(first)


def _reasons(findings: Iterable[Finding]) -> Generator[None, None, dict[InstancetypeTarget, Counter[str]]]:
    """Open findings on an object, or on a VM or pool about it, by reason."""
    found: dict[InstancetypeTarget, Counter[str]] = {}
    for at, finding in enumerate(findings):
        for target in _about(finding):
            found.setdefault(target, Counter())[finding.reason] += 1
        if at % _SLICE == 0:
            yield
    return found


def _about(finding: Finding) -> Iterator[InstancetypeTarget]:
    subject = finding.subject
    if subject.kind in LIVE:
        yield InstancetypeTarget(subject.kind, subject.namespace, subject.name)
        return
    name, kind = finding.evidence.get("object"), _KINDS.get(str(finding.evidence.get("resource", "")))
    if isinstance(name, str) and kind is not None and finding.reason != "UnknownKind":  # which is about no object
        namespaced = kind in (role.namespaced for role in ROLES)
        yield InstancetypeTarget(kind, subject.namespace if namespaced else "", name)


def chosen(found: Instancetypes, asked: InstancetypesQuery) -> Instancetypes:
    """Of all of them those that are asked for. Raises NotThereError."""
    only = asked.name
    left = tuple(each for each in found.objects if only in ("", each.name, each.path))
    if only and not left and not found.unseen and not found.not_applicable:
        there = meant(only, (each.path for each in found.objects), "instancetypes and no preferences")
        raise NotThereError(f"no instancetype and no preference is called {shortened(only)!r}; {there}")
    return msgspec.structs.replace(found, objects=left)


def _answered(
    engine: Engine, usage: InstancetypeUsage, asked: InstancetypesQuery
) -> Generator[None, None, Instancetypes]:
    yield from usage.settle()
    return (yield from steps(engine.cluster, usage, list(engine.findings()), engine.generation, asked.name))


QUESTION = Question("instancetypes", InstancetypesQuery, Instancetypes, _answered, READER, InstancetypeUsage)
