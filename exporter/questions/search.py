"""What somebody looks for by a name, an address or a UUID: whatever has a page."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import msgspec

from ..checks import all_checks
from ..domain.features.gates import NAMES
from ..domain.instancetypes.resolving import LIVE
from ..engine.engine import Engine
from ..facts.firmware import comparable
from ..facts.record import Record, Ref
from ..facts.rules import BY_ID
from ..runbook import texts
from ..store.cluster import Cluster
from ..store.indexes.networks import NETWORK
from ..store.kinds.ipam_claim import IPAMClaim
from ..store.kinds.node import Node
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.reader import ClusterView
from .vm import READER

MOST_HITS = 50
_SLICE = 1000  # records between two turns
_SHORTEST = 3  # characters of a part of a name, an address or a UUID: less finds everything


class Hit(msgspec.Struct, frozen=True, order=True):
    """`exact` where it is what was asked for, and not only a part of it; `what` says by what it was found."""

    inexact: bool
    ref: Ref
    what: str

    @property
    def exact(self) -> bool:
        return not self.inexact


class SearchHits(msgspec.Struct, frozen=True):
    """The first `MOST_HITS`, those that are exact before the others; `in_all` counts them."""

    hits: tuple[Hit, ...]
    in_all: int


def steps(engine: Engine, text: str) -> Generator[None, None, SearchHits]:
    """Stops after each few records, so that others get their turn."""
    view = ClusterView(engine.cluster, READER)
    wanted = text.strip().lower()
    found: dict[Ref, Hit] = {}
    for kind in (VirtualMachine, VirtualMachineInstance, IPAMClaim, Node):
        for at, record in enumerate(view.all(kind) if wanted else ()):
            for hit in _hits(record, wanted):
                if hit.ref not in found or hit < found[hit.ref]:
                    found[hit.ref] = hit
            if at % _SLICE == 0:
                yield
    for hit in _others(engine.cluster, wanted) if wanted else ():
        found.setdefault(hit.ref, hit)
    ordered = sorted(found.values())
    return SearchHits(tuple(ordered[:MOST_HITS]), len(ordered))


def _others(cluster: Cluster, wanted: str) -> Iterator[Hit]:
    """Namespaces with VMs, networks, instancetypes and preferences, features and feature gates, and the names that
    findings and alerts have; of what is no object the kind is a word.
    """
    for name in {*cluster.namespaces(VirtualMachine), *cluster.namespaces(VirtualMachineInstance)}:
        yield from _named(Ref("Namespace", "", name), (name,), wanted)
    for name in cluster.keys(NETWORK):
        yield from _named(Ref("Network", "", name), (name,), wanted)
    for kind in LIVE.values():
        for each in cluster.all(kind):
            yield from _named(each.ref, (each.name, each.ref.path), wanted)
    for name in BY_ID:
        yield from _named(Ref("Feature", "", name), (name,), wanted)
    for name in NAMES:
        if name.lower() not in BY_ID:  # else it is the feature that is meant
            yield from _named(Ref("Feature", "", name), (name,), wanted)
    for alert in texts():
        yield from _named(Ref("Alert", "", alert), (alert,), wanted)
    for check in all_checks():
        for name, reason in check.reasons.items():
            yield from _named(Ref("Reason", "", name), (name, reason.family.name), wanted)


def _hits(record: Record, wanted: str) -> Iterator[Hit]:
    if isinstance(record, Node):
        yield from _named(Ref("Node", "", record.name), (record.name,), wanted)
        yield from _valued(Ref("Node", "", record.name), "system UUID", (record.system_uuid,), wanted)
    elif isinstance(record, IPAMClaim):
        vm = next(iter(record.vms), "")
        if vm:
            ref = Ref("VirtualMachine", record.namespace, vm)
            yield from _valued(ref, f"address of IPAMClaim {record.name}", record.hosts, wanted)
    elif isinstance(record, VirtualMachine | VirtualMachineInstance):
        ref = Ref("VirtualMachine", record.namespace, record.name)
        yield from _named(ref, (record.name, f"{record.namespace}/{record.name}"), wanted)
        yield from _valued(ref, "firmware UUID", (record.uuid, record.identity), wanted)
        yield from _valued(ref, "serial", (record.serial,), wanted)
        yield from _valued(ref, "UID of its object", (record.uid,), wanted)
        yield from _valued(ref, "MAC address", (each.rpartition(" ")[2] for each in record.macs), wanted)
        if isinstance(record, VirtualMachineInstance):
            yield from _valued(ref, "address", (each.rpartition(" ")[2] for each in record.addresses), wanted)


def _named(ref: Ref, names: Iterable[str], wanted: str) -> Iterator[Hit]:
    lowered = [each.lower() for each in names]
    if wanted in lowered:
        yield Hit(False, ref, "name")
    elif len(wanted) >= _SHORTEST and any(wanted in each for each in lowered):
        yield Hit(True, ref, "part of the name")


def _valued(ref: Ref, what: str, values: Iterable[str], wanted: str) -> Iterator[Hit]:
    """By a value as it is written, or by how it begins."""
    for value in (each.lower() for each in values if each):
        if value == wanted or comparable(value) == comparable(wanted):
            yield Hit(False, ref, f"{what} {value}")
        elif len(wanted) >= _SHORTEST and value.startswith(wanted):
            yield Hit(True, ref, f"{what} {value}")
