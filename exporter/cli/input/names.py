"""The names of what there is, for what is asked of one: a name that nothing has is a mistake, and no answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...config.mistakes import nearest
from ...domain.features.gates import NAMES
from ...domain.features.rules import BY_ID
from ...store.cluster import Cluster
from ...store.indexes.networks import NETWORK
from ...store.kinds.namespace import Namespace
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.record import Record
from ...store.source import unseen
from ...views.nearest import meant, shortened
from .filters import Filters, UsageError
from .selectors import Selection

__all__ = ["Names", "known_to", "refuse_misspelt", "refuse_unknown"]


@dataclass
class Names:
    """Of one cluster or several. `blind` has what can't be known of one of them: its names are not all."""

    namespaces: set[str] = field(default_factory=set)
    vms: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    networks: set[str] = field(default_factory=set)
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


_VMS = (VirtualMachine, VirtualMachineInstance)


def known_to(cluster: Cluster, filters: Filters) -> None:
    """Raises UsageError as `refuse_unknown` does, of what the filters name and a cluster lacks."""
    names = Names()
    names.add(cluster)
    refuse_unknown(sorted(filters.namespaces), filters.selection, names)


def refuse_unknown(namespaces: Iterable[str], selection: Selection, names: Names) -> None:
    """Raises UsageError for the first namespace, VM, node or network that is asked for and not there."""
    for each in namespaces:
        if each and "namespace" not in names.blind and each not in names.namespaces:  # "": what has none
            raise _unknown("namespace", each, names.namespaces)
    for vm in selection.vms:
        if "vm" not in names.blind and not any(vm in (path, path.partition("/")[2]) for path in names.vms):
            raise _unknown("VM", vm, names.vms)
    for noun, asked, known in (("node", selection.nodes, names.nodes), ("network", selection.networks, names.networks)):
        for each in asked:
            if noun not in names.blind and each not in known:
                raise _unknown(noun, each, known)


def refuse_misspelt(features: Iterable[str]) -> None:
    """Raises UsageError for the first that no feature and no feature gate is called, where one that is like it is
    there. A setting has a name of its own, and a gate that nobody knows one that somebody gave it.
    """
    known = {*BY_ID, *NAMES}
    for each in features:
        if each not in known and (close := nearest(each, known)):
            raise UsageError(f"no feature or feature gate is called {shortened(each)}; did you mean {close}?")


def _unknown(noun: str, name: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"no {noun} is called {shortened(name)!r}; {meant(name, known, f'{noun}s')}")
