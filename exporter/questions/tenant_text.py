"""What a tenant gets to read of a finding: all of it only where nothing of it can come from another namespace.

The text of a finding follows from what its check read, and from nothing else. So the check is evaluated once more, with
a list of all that it reads: where that is only of the tenant's namespaces, and the finding is the same, the finding
names nothing else. The configuration of KubeVirt is everybody's, but where it stands is not: for this evaluation it
has no name. Of any other finding the tenant gets which object, which reason and what the reason means.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec

from ..engine.evaluate import evaluate
from ..facts.record import Record
from ..findings.advice import advised
from ..findings.check import Check
from ..findings.finding import Finding, fingerprint
from ..store.cluster import Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.overlay import Edit, Overlay
from ..store.reader import Seen

_PUBLIC = {"KubeVirt", "Node", "StorageClass", "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"}
"""The kinds without a namespace whose objects name none, and no object in one."""


class _OutsideError(Exception):
    """The check reads what is not the tenant's: there is no need to go on."""


class Traced(msgspec.Struct, frozen=True):
    """What was found in a partition, by fingerprint, and the namespaces of all that was read for it; empty text is for
    what is of none and not public. Where it is not `whole` these are some of the namespaces, and nothing is found.
    """

    found: dict[str, Finding]
    read: frozenset[str]
    whole: bool

    def beyond(self, namespaces: Container[str]) -> bool:
        """Whether some of it was read of none of these."""
        return not all(each in namespaces for each in self.read)


class _Objects(dict[tuple[str, str, str], Record | None]):
    def __init__(self, namespaces: Container[str]) -> None:
        super().__init__()
        self._namespaces = namespaces
        self.read: set[str] = set()
        self.outside = False

    def __setitem__(self, key: tuple[str, str, str], record: Record | None) -> None:
        kind, namespace, _ = key
        # That something cluster-wide is not there names nothing but what was asked for.
        if namespace or (kind not in _PUBLIC and record is not None):
            self.read.add(namespace)
            if not namespace or namespace not in self._namespaces:
                self.outside = True
                raise _OutsideError
        super().__setitem__(key, record)


def traced(check: Check, cluster: Cluster, partition: str, settings: Any, namespaces: Container[str]) -> Traced:
    """What the check finds in the partition, and of which namespaces it reads for that, beside what is public.

    Not of a check that concludes from what is nowhere in the cluster: no list of what was read has that. The first
    object that is of none of these namespaces ends the evaluation, so it costs little where many share something.
    """
    if check.scope.whole:
        return Traced({}, frozenset([""]), whole=True)
    objects = _Objects(namespaces)
    seen = Seen(objects)
    answer = evaluate(check, _without_its_name(cluster), partition, settings, seen=seen)
    if objects.outside:
        return Traced({}, frozenset(objects.read), whole=False)
    found = () if answer.unknown else answer.findings
    named = [key.rpartition(" ")[2] for _, key in seen.shared] + [f"{place}/" for _, place in seen.lists if place]
    read = objects.read.union(each.partition("/")[0] for each in named if "/" in each)
    return Traced({fingerprint(check.id, each): each for each in found}, frozenset(read), whole=True)


def says_the_same(check: Check, found: Finding, finding: Finding) -> bool:
    """Whether an open finding is this one, which was just found."""
    return _completed(check, found, finding) == finding


def _without_its_name(cluster: Cluster) -> Overlay:
    """The cluster, but that KubeVirt is in no namespace: what says where it is becomes another finding."""
    overlay = Overlay(cluster)
    for at, record in enumerate(tuple(cluster.all(KubeVirt))):
        overlay.apply(Edit.removed(record))
        overlay.apply(Edit.put(msgspec.structs.replace(record, namespace="", name=f"\0{at}", uid="")))
    return overlay


def _completed(check: Check, found: Finding, finding: Finding) -> Finding:
    """As it would be open: with all that is not of the evaluation."""
    whole = msgspec.structs.replace(
        found,
        check=finding.check,
        fingerprint=finding.fingerprint,
        cause=check.cause_id(found),
        since=finding.since,
        since_source=finding.since_source,
    )
    return advised(whole, check.reasons[found.reason])


def withheld(finding: Finding, meaning: str) -> Finding:
    """Without all that may name something else; `meaning` is that of its reason.

    Nothing is related, not even what is the tenant's: of many only the first are named, and which of the tenant's are
    left out would say what others are called.
    """
    return msgspec.structs.replace(
        finding,
        message=meaning,
        related=(),
        vm=finding.subject.name if finding.subject.kind in ("VirtualMachine", "VirtualMachineInstance") else "",
        node="",
        feature="",
        network="",
        evidence={},
        group="",
        next="",
        commands=(),
        unknown="",
    )
