"""Which findings a command shows: of which object or cause, of VMs with which labels, of which checks, namespaces,
reasons and features, how bad and how old.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ...checks import all_checks
from ...config.mistakes import nearest
from ...domain.drains.health import AILMENTS
from ...engine.engine import Engine
from ...facts.record import Ref, epoch
from ...facts.selector import Selector
from ...findings.check import PER_FLEET, Check
from ...findings.finding import Unknown
from ...findings.severity import Severity
from ...questions.findings import FindingReport, Report
from ...store.cluster import Cluster
from ...store.kind import ApiKind
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.reader import watched

# What of the findings is asked for: of a VM, a node, a network, an object, a cause, or one finding.
#
# `vm/NAME`, `vm/NAMESPACE/NAME`, `node/NAME`, `network/NAME`, `ipamclaim/NAMESPACE/NAME` as `-o name` prints it, or the
# first digits of the id of a cause or of a finding. Kinds may be called as kubectl calls them, by plural and group.

_ID = re.compile(r"[0-9a-f]{4,16}")
_VMS = ("VirtualMachine", "VirtualMachineInstance")
_VM = ("vm", "virtualmachine", "vmi", "virtualmachineinstance")


@dataclass(frozen=True)
class ObjectSelection:
    """VMs are NAMESPACE/NAME, or NAME of any namespace; `objects` are pairs of a kind in small letters and such a path.
    Empty for all findings.
    """

    vms: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    objects: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.vms or self.nodes or self.networks or self.objects or self.ids)

    def picks(self, finding: FindingReport) -> bool:
        return not self or (
            any(finding.fingerprint.startswith(each) or finding.cause.startswith(each) for each in self.ids)
            or any(_of_vm(finding, each) for each in self.vms)
            or any(each == finding.node or _about(finding, ("node",), each) for each in self.nodes)
            or finding.network in self.networks
            or any(_about(finding, (kind,), path) for kind, path in self.objects)
        )

    @property
    def kinds(self) -> frozenset[str]:
        """Those of its objects, in small letters."""
        return frozenset(kind for kind, _ in self.objects)

    @property
    def namespaces(self) -> frozenset[str]:
        """Those that all of it is in; empty where it may be anywhere."""
        paths = (*self.vms, *(path for _, path in self.objects))
        if self.nodes or self.networks or self.ids or not all("/" in each for each in paths):
            return frozenset()
        return frozenset(each.partition("/")[0] for each in paths)


@cache
def _called() -> Mapping[str, str]:
    """Kinds in small letters by whatever kubectl calls them."""
    found = {"vms": "vm", "vmis": "vmi"}
    for kind in watched(all_checks()):
        if isinstance(kind, ApiKind):
            name = kind.name.lower()
            found |= dict.fromkeys((kind.plural, kind.resource, f"{name}.{kind.group}"), name)
    return found


def selection_of(texts: Iterable[str]) -> ObjectSelection:
    """Raises ValueError for what selects nothing, one sentence."""
    vms, nodes, networks, objects, ids = [], [], [], [], []
    for text in texts:
        kind, slash, path = text.partition("/")
        kind = _called().get(kind.lower(), kind.lower())
        if not slash and _ID.fullmatch(text):
            ids.append(text)
        elif not slash or not path or path.count("/") > 1 or not all(path.split("/")):
            raise ValueError(
                f"{text[:100]!r} selects nothing; write it as vm/NAME, vm/NAMESPACE/NAME, node/NAME or network/NAME, "
                "or as the id of a cause or finding, which `-o wide` shows"
            )
        elif kind in _VM:
            vms.append(path)
        elif kind == "node":
            nodes.append(path)
        elif kind == "network":
            networks.append(path)
        else:
            objects.append((kind, path))
    return ObjectSelection(tuple(vms), tuple(nodes), tuple(networks), tuple(objects), tuple(ids))


def vm_named(text: str, namespace: str, otherwise: str = "") -> tuple[str, str]:
    """NAMESPACE and NAME of the VM that is called NAMESPACE/NAME, or NAME in a namespace that is given, with or without
    its kind before it; where none is given, in that of `otherwise`. A namespace may be called `vms`: of two parts, the
    first is the kind only where something else says the namespace. Raises UsageError.
    """
    parts = text.split("/")
    of_kind = _called().get(parts[0].lower(), parts[0].lower()) in _VM
    if of_kind and (len(parts) > 2 or (len(parts) == 2 and (namespace or otherwise))):
        del parts[0]
    if len(parts) == 1 and (where := namespace or otherwise):
        parts.insert(0, where)
    if len(parts) == 1 and parts[0]:
        name = parts[0][:253]
        raise UsageError(f"{name!r} names no namespace; add -n NAMESPACE, or write it as NAMESPACE/{name}")
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"{text[:253]!r} names no VM; write it as NAMESPACE/NAME, or as NAME with -n NAMESPACE")
    if namespace not in ("", parts[0]):
        raise UsageError(f"{text[:253]!r} is in namespace {parts[0]}, and -n says {namespace}")
    return parts[0], parts[1]


def vms_of(finding: FindingReport) -> Iterator[str]:
    """NAMESPACE/NAME of each VM that it is about."""
    if finding.vm:
        yield f"{finding.subject.namespace}/{finding.vm}"
    yield from (each.path for each in _refs(finding) if each.kind in _VMS)


def _of_vm(finding: FindingReport, path: str) -> bool:
    subject = finding.subject
    own = finding.vm and path in (finding.vm, f"{subject.namespace}/{finding.vm}")
    return bool(own) or any(each.kind in _VMS and path in (each.name, each.path) for each in _refs(finding))


def _about(finding: FindingReport, kinds: Iterable[str], path: str) -> bool:
    return any(each.kind.lower() in kinds and path in (each.name, each.path) for each in _refs(finding))


def _refs(finding: FindingReport) -> tuple[Ref, ...]:
    return (finding.subject, *finding.related)


_OF_FEATURES = "feature_"  # what the checks begin with whose findings have a feature


class UsageError(Exception):
    """The text is one sentence."""


@dataclass(frozen=True)
class Filters:
    """`min_age` is in seconds; `now` is in seconds since 1970. `labelled` are the VMs that the `selector` selects, each
    with its cluster, once they are known; `nodes` likewise those that the VMs are on that are asked for: where one of
    them lets no VM go, that is about each of these.
    """

    checks: frozenset[str]
    namespaces: frozenset[str]  # empty for all of them
    reasons: frozenset[str]  # empty for all of them
    features: frozenset[str]  # empty for all findings
    severities: frozenset[Severity]
    selection: ObjectSelection
    min_age: float
    now: float
    selector: Selector | None = None
    labelled: frozenset[tuple[str, str]] | None = None
    nodes: frozenset[tuple[str, str]] = frozenset()

    def of(self, report: Report, engine: Engine | None = None) -> Report:
        """What is left of it. What the chosen checks don't know is left where it concerns the chosen namespaces, as far
        as the `engine` that made the report says that."""
        unknown = [each for each in report.unknown if each.check in self.checks]
        findings = [finding for finding in report.findings if self._wants(finding)]
        if self.selection.ids:
            unknown = [each for each in unknown if each.check in {found.check for found in findings}]
        elif places := self.namespaces or self.selection.namespaces or self._labelled_in:
            unknown = list(_concerning(unknown, engine, places) if engine else concerning(unknown, places))
        return msgspec.structs.replace(report, findings=findings, unknown=unknown)

    @property
    def _labelled_in(self) -> frozenset[str]:
        return frozenset(path.partition("/")[0] for _, path in self.labelled or ())

    def _wants(self, finding: FindingReport) -> bool:
        return (
            finding.check in self.checks
            and (not self.reasons or finding.reason in self.reasons)
            and (not self.features or finding.feature in self.features)
            and Severity(finding.severity) in self.severities
            and (self._is_about(finding) or self._is_of_a_node(finding))
            and (not self.min_age or self.now - (epoch(finding.since) or self.now) >= self.min_age)
        )

    def _is_about(self, finding: FindingReport) -> bool:
        return (
            (not self.namespaces or finding.subject.namespace in self.namespaces)
            and self.selection.picks(finding)
            and (self.labelled is None or any((finding.cluster, vm) in self.labelled for vm in vms_of(finding)))
        )

    def _is_of_a_node(self, finding: FindingReport) -> bool:
        return finding.reason in AILMENTS and (finding.cluster, finding.node) in self.nodes

    def asks_for(self, vm: str, cluster: str) -> bool:
        """Whether a VM, NAMESPACE/NAME, is among those that are asked for."""
        namespace, _, name = vm.partition("/")
        return (
            (not self.namespaces or namespace in self.namespaces)
            and (not self.selection or vm in self.selection.vms or name in self.selection.vms)
            and (self.labelled is None or (cluster, vm) in self.labelled)
        )


def concerning(unknown: Iterable[Unknown], places: frozenset[str]) -> Iterator[Unknown]:
    """Without what is known to be of one object in another namespace: a report alone says no more."""
    for each in unknown:
        there = each.partition.partition("/")[0]
        if not there or there in places or f" {there}/" not in each.why:
            yield each


def _concerning(unknown: Iterable[Unknown], engine: Engine, places: frozenset[str]) -> Iterator[Unknown]:
    """What a check that has no answer there says of the namespaces; else what reaches into them."""
    everywhere = engine.unknown_everywhere()
    here = {check for namespace, check in engine.unknown_namespaces() if namespace in places}
    own = {each for each in unknown if each.partition.partition("/")[0] in places}
    said = {each.check for each in own}
    for each in unknown:
        if each.check in everywhere or each in own or (each.check in here and each.check not in said):
            yield each


def filters_of(arguments: argparse.Namespace, enabled: Iterable[Check], *, several: bool) -> Filters:
    """`enabled` are the checks that are switched on, `several` says whether clusters are compared. Raises UsageError
    for a check that is not evaluated then, or is none."""
    running = {check.id: check for check in enabled}
    known = [check.id for check in all_checks()]
    for each in arguments.check or ():
        if each not in known:
            raise UsageError(f"no check is called {each!r}; {_hint(each, known)}")
        if each not in running:
            raise UsageError(f"check {each} is switched off by the configuration")
        if running[each].scope is PER_FLEET and not several:
            raise UsageError(f"{each} compares clusters; give --from for each of them")
    reasons = frozenset(arguments.reason or ())
    try:
        selection = selection_of(arguments.what)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _refuse_unknown(reasons)
    return Filters(
        frozenset(arguments.check or (name for name, each in running.items() if _asked(each, arguments, several))),
        frozenset(arguments.namespace or ()),
        reasons,
        frozenset(arguments.feature or ()),
        _severities(arguments),
        selection,
        arguments.min_age,
        time.time() if arguments.now is None else arguments.now,
        arguments.selector,
    )


def _asked(check: Check, arguments: argparse.Namespace, several: bool) -> bool:
    """Whether a check that is not asked for by name can find what is."""
    return (
        (several or check.scope is not PER_FLEET)
        and (not arguments.feature or check.id.startswith(_OF_FEATURES))
        and (not arguments.reason or any(name in check.reasons for name in arguments.reason))
    )


def _severities(arguments: argparse.Namespace) -> frozenset[Severity]:
    """Those that are named, else from the least that is wanted on."""
    if arguments.severity:
        return frozenset(map(Severity, arguments.severity))
    return frozenset(each for each in Severity if each.rank >= Severity(arguments.min_severity).rank)


def _refuse_unknown(reasons: Iterable[str]) -> None:
    known = [name for check in all_checks() for name in check.reasons]
    for each in reasons:
        if each not in known:
            raise UsageError(f"no reason is called {each!r}; {_hint(each, known)}")


def _hint(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {close}?" if close else "`steward explain` lists all"


# Which VMs have the labels of `-l`: of a cluster the API server is asked, as by `kubectl get vm -l`.

if TYPE_CHECKING:
    from ...kube.transport import Transport  # dear to import, and a dump needs none

_EVERYWHERE = ("",)


async def labelled_in_cluster(transport: Transport, cluster: Cluster, filters: Filters) -> Filters:
    """With the VMs that the selector selects now, and VMIs that stand alone. Raises UsageError where that may not be
    asked.
    """
    if filters.selector is None:
        return filters
    places = sorted(filters.namespaces or filters.selection.namespaces) or _EVERYWHERE
    vms, vmis = [
        await _listed(transport, kind, filters.selector, places)
        for kind in (VirtualMachine.KIND, VirtualMachineInstance.KIND)
    ]
    alone = {each for each in vmis if cluster.get(VirtualMachine, *each) is None}
    return replace(filters, labelled=frozenset(("", f"{namespace}/{name}") for namespace, name in vms | alone))


def refuse_none(filters: Filters, *, unseen: bool = False) -> None:
    """Raises UsageError where no VM has the labels that were asked for; `unseen` says that there may be more VMs."""
    if filters.labelled is not None and not filters.labelled:
        if unseen:
            raise UsageError(f"no VM that is seen has the labels {filters.selector}, and not all VMs are seen")
        where = f" in {', '.join(sorted(filters.namespaces))}" if filters.namespaces else ""
        raise UsageError(f"no VM has the labels {filters.selector}{where}")


async def _listed(
    transport: Transport, kind: ApiKind[Any], selector: Selector, places: Collection[str]
) -> set[tuple[str, str]]:
    from ...kube.client import Client, Timeouts
    from ...kube.errors import AbsentError, StatusError
    from ...kube.watch.listing import Decoder, paged

    client, pace = Client(transport), Timeouts()
    selected = replace(kind, selectors=(*kind.selectors, ("labelSelector", selector.parameter)))
    found: set[tuple[str, str]] = set()
    try:
        served = await client.served_version(kind)
        for place in places:
            listed = await paged(client, Decoder(kind), selected, served, pace, place)
            found |= listed.objects.keys()
    except AbsentError:
        return set()
    except StatusError as error:
        if error.code != 403:
            raise
        hint = "" if places != _EVERYWHERE else ", or name your namespace with -n"
        raise UsageError(f'which VMs have these labels is not known: grant "list" on {kind.resource}{hint}') from None
    return found
