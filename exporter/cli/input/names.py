"""The names of what there is, for what is asked of one: a name that nothing has is a mistake, and no answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ...checks import all_checks
from ...config.mistakes import nearest
from ...domain.features.gates import NAMES
from ...domain.features.known_bugs import KNOWN_BUGS
from ...domain.features.settings import Settings
from ...facts.record import Record
from ...facts.rules import BY_ID
from ...questions.findings import FindingReport
from ...questions.nearest import meant, shortened
from ...store.cluster import Cluster
from ...store.indexes.networks import NETWORK
from ...store.kind import Kind
from ...store.kinds.namespace import Namespace
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.reader import watched
from ...store.source import unseen
from .filters import Filters, ObjectSelection, UsageError

_OTHERS = ("placement", "hypervisors")  # what findings of features name that is none of their own


@dataclass
class Names:
    """Of one cluster or several. `objects` are those of the kinds that are `asked` for in small letters. `blind` has
    what can't be known of one of them: its names are not all.
    """

    asked: Collection[str] = ()
    namespaces: set[str] = field(default_factory=set)
    vms: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    networks: set[str] = field(default_factory=set)
    objects: dict[str, set[str]] = field(default_factory=dict)
    blind: set[str] = field(default_factory=set)

    def add(self, cluster: Cluster, *, dump: bool = False) -> None:
        """Those of one more cluster. The namespaces of a dump without Namespaces are those of its objects."""
        self.namespaces |= {each for kind in cluster.kinds() for each in cluster.namespaces(kind) if each}
        self.namespaces |= {each.name for each in cluster.all(Namespace)}
        self.vms |= {each.ref.path for kind in _VMS for each in cluster.all(kind)}
        self.nodes |= {each.name for each in cluster.all(Node)}
        self.networks |= set(cluster.keys(NETWORK))
        kinds: dict[str, tuple[type[Record], ...]] = {"node": (Node,), "vm": _VMS, "network": NETWORK.of}
        self.blind |= {name for name, of in kinds.items() if unseen(cluster, of)}
        self.blind |= {"namespace"} if not dump and unseen(cluster, (Namespace,)) else set()
        for kind in {each.record for each in _kinds() if each.name.lower() in self.asked}:
            name = kind.__name__.lower()
            self.objects.setdefault(name, set()).update(each.ref.path for each in cluster.all(kind))
            self.blind |= {name} if unseen(cluster, (kind,)) else set()


_VMS = (VirtualMachine, VirtualMachineInstance)


def _kinds() -> Iterable[Kind[Any]]:
    """All that can have a finding."""
    return watched(all_checks())


def known_to(
    cluster: Cluster, namespaces: Iterable[str], selection: ObjectSelection, findings: Collection[FindingReport]
) -> None:
    """Raises UsageError as `refuse_unknown` does, of what is asked for and a cluster lacks."""
    names = Names(selection.kinds)
    names.add(cluster)
    refuse_unknown(sorted(namespaces), selection, names, findings)


def refuse_no_kind(selection: ObjectSelection, findings: Collection[FindingReport]) -> None:
    """Raises UsageError for the first kind that is none, and that no finding is about."""
    known = {each.name.lower() for each in _kinds()}
    for kind, path in selection.objects:
        if kind not in known and not _found(ObjectSelection(objects=((kind, path),)), findings):
            raise _unknown("kind that is checked", kind, known | {"vm", "vmi"})


def refuse_unknown(
    namespaces: Iterable[str], selection: ObjectSelection, names: Names, findings: Collection[FindingReport]
) -> None:
    """Raises UsageError for the first namespace, VM, node, network, kind or object that is asked for and not there.
    What a finding is about is there, or was.
    """
    refuse_no_kind(selection, findings)
    for kind, path in selection.objects:
        there = names.objects.get(kind, set())
        found = any(path in (each, each.rpartition("/")[2]) for each in there)
        if not (found or kind in names.blind or _found(ObjectSelection(objects=((kind, path),)), findings)):
            raise _unknown(f"{kind} that is looked at", path, there, "such objects")
    for each in namespaces:
        if each and "namespace" not in names.blind and each not in names.namespaces:  # "": what has none
            raise _unknown("namespace", each, names.namespaces)
    for vm in selection.vms:
        found = any(vm in (path, path.partition("/")[2]) for path in names.vms)
        if not (found or "vm" in names.blind or _found(ObjectSelection(vms=(vm,)), findings)):
            raise _unknown("VM", vm, names.vms)
    for noun, asked, known in (("node", selection.nodes, names.nodes), ("network", selection.networks, names.networks)):
        for each in asked:
            if noun not in names.blind and each not in known:
                raise _unknown(noun, each, known)


def on_their_nodes(filters: Filters, cluster: Cluster, name: str = "") -> Filters:
    """With the nodes that the VMs are on that are asked for, of a cluster that is called `name` in the report."""
    if not (filters.namespaces or filters.selection.vms or filters.labelled):
        return filters
    nodes = {(name, vmi.node) for vmi in cluster.all(VirtualMachineInstance) if filters.asks_for(vmi.ref.path, name)}
    return replace(filters, nodes=filters.nodes | nodes)


def refuse_misspelt(features: Iterable[str]) -> None:
    """Raises UsageError for the first that is called nothing that findings are about: a feature, a feature gate, a
    setting of KubeVirt's configuration by its path, or a known bug. A gate that nobody knows has the name that somebody
    gave it, by which it is found. Empty is what an alert has for findings of none.
    """
    known = {"", *BY_ID, *NAMES, *(bug.id for bug in KNOWN_BUGS), *_OTHERS}
    settings = {each.encode_name for each in msgspec.structs.fields(Settings)}
    for each in features:
        if each not in known and each.partition(".")[0] not in settings:
            close = nearest(each, known)
            hint = f"did you mean {close}?" if close else "`steward features` lists them"
            raise UsageError(f"no feature or feature gate is called {shortened(each)}; {hint}")


def _found(asked: ObjectSelection, findings: Iterable[FindingReport]) -> bool:
    return any(map(asked.picks, findings))


def _unknown(noun: str, name: str, known: Iterable[str], nouns: str = "") -> UsageError:
    return UsageError(f"no {noun} is called {shortened(name)!r}; {meant(name, known, nouns or f'{noun}s')}")
