"""One VM with its VMI, and what is known of the cluster that it is in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...domain.drains.departure.context import INDEXES as OF_DEPARTURES
from ...domain.drains.failures import FailedMigration
from ...domain.features.configuration import Effective
from ...domain.features.configuration import chosen as chosen_kubevirt
from ...domain.features.indexes import TAKES
from ...domain.features.requests import requests_of
from ...domain.identity import owned
from ...domain.instancetypes.indexes import REVISION
from ...facts.record import Record, Ref
from ...facts.rule import Request
from ...store.cluster import Cluster
from ...store.indexes.drains import PART
from ...store.kind import ApiKind
from ...store.kinds import node, pod
from ...store.kinds.components import EndpointSlice
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import INSTANCETYPES
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.storage import PersistentVolume, StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.reader import ClusterView, Reading
from ...store.source import FILE, Source, SyncState, Undecodable, unseen
from .. import drain
from ..drain.report import UnseenKind
from ..nearest import meant, shortened
from ..question import NotThereError

# What the view of one VM reads.

KINDS: tuple[ApiKind[Any], ...] = (
    VirtualMachine.KIND,
    VirtualMachineInstance.KIND,
    pod.KIND,
    node.KIND,
    VirtualMachineInstanceMigration.KIND,
    PodDisruptionBudget.KIND,
    KubeVirt.KIND,
    EndpointSlice.KIND,
    *INSTANCETYPES,
    ControllerRevision.KIND,
    NetworkAttachmentDefinition.KIND,
    IPAMClaim.KIND,
    StorageClass.KIND,
    PersistentVolume.KIND,
    Namespace.KIND,
)
INDEXES = tuple(dict.fromkeys((*drain.INDEXES, *OF_DEPARTURES, PART, TAKES, REVISION)))
READER = Reading("vm", (*KINDS, *(each for each in drain.READER.reads if each not in KINDS)), INDEXES)


@dataclass(frozen=True)
class OneVM:
    """`vmi` is of the VM, or stands alone. `pod` stands for the launcher pod of one that does not exist yet.
    `kept` are migrations of its VMI that failed, which objects need not show any more.
    """

    cluster: Cluster
    namespace: str
    name: str
    vm: VirtualMachine | None
    vmi: VirtualMachineInstance | None
    pod: Pod | None = None
    proposed: bool = False
    kept: tuple[FailedMigration, ...] = ()

    @cached_property
    def view(self) -> ClusterView:
        return ClusterView(self.cluster, READER)

    @cached_property
    def kubevirt(self) -> KubeVirt | str:
        """The one that counts, or why nobody knows."""
        if why := self.blind(KubeVirt):
            return why
        unread = next((each for each in self.cluster.all(Undecodable) if each.kind == KubeVirt.__name__), None)
        return unread.sentence if unread is not None else chosen_kubevirt(self.cluster.all(KubeVirt))

    @cached_property
    def known(self) -> Effective | str:
        """What that allows, or why nobody knows."""
        return self.kubevirt if isinstance(self.kubevirt, str) else Effective.of(self.kubevirt)

    @property
    def asked_by_vm(self) -> tuple[Request, ...]:
        if self.vm is None:
            return ()
        kubevirt = None if isinstance(self.kubevirt, str) else self.kubevirt
        return requests_of(self.vm, self.view.named, kubevirt)

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(each for each in (self.vm, self.vmi) if each is not None)

    def blind(self, *kinds: type[Record]) -> str:
        """Why one of the kinds can't be seen, in a sentence; empty where all can be."""
        for name in unseen(self.cluster, kinds):
            source = self.cluster.get(Source, "", name)
            return (source.why if source is not None else "") or f"{name}: it is not watched"
        return ""

    def blind_here(self, kind: type[Record]) -> str:
        """Why the objects of a kind in its namespace can't be seen; empty where they can."""
        source = self.cluster.get(Source, "", kind.__name__)
        return "" if source is not None and self.namespace in source.within else self.blind(kind)

    def unseen(self, kinds: Collection[type[Record]]) -> tuple[UnseenKind, ...]:
        """Those of the kinds that can't be seen."""
        sources = ((kind, self.cluster.get(Source, "", kind.name)) for kind in KINDS if kind.record in kinds)
        return tuple(
            UnseenKind(kind.name, source.why if source is not None else "it is not watched")
            for kind, source in sources
            if source is None or not source.readable
        )

    @property
    def unread(self) -> tuple[Ref, ...]:
        """Undecodable objects that may matter: cluster-wide ones, pods anywhere, and what is in its namespace."""
        kinds = {kind.name for kind in KINDS} | {FILE}
        every = (each for each in self.cluster.all(Undecodable) if each.kind in kinds)
        return tuple(
            sorted(e.ref for e in every if e.namespace in ("", self.namespace) or e.kind in ("Pod", FILE, "KubeVirt"))
        )


def found(cluster: Cluster, namespace: str, name: str) -> OneVM:
    """The VM, or the VMI that stands alone, of that name. Raises NotThereError."""
    vm = cluster.get(VirtualMachine, namespace, name)
    vmi = cluster.get(VirtualMachineInstance, namespace, name)
    if vm is None and vmi is None:
        raise NotThereError(_missing(cluster, namespace, name))
    return OneVM(cluster, namespace, name, vm, owned(vmi, vm) if vm is not None else vmi)


_VMS = (VirtualMachine, VirtualMachineInstance)


def _missing(cluster: Cluster, namespace: str, name: str) -> str:
    called = f"{shortened(namespace)}/{shortened(name)}"
    for kind in _VMS:
        undecodable = cluster.get(Undecodable, namespace, f"{kind.__name__} {name}")
        if undecodable is not None:
            return undecodable.sentence
    if blind := unseen(cluster, _VMS):
        sources = (cluster.get(Source, "", each) for each in blind)
        why = "; ".join(each.why for each in sources if each is not None and each.why) or f"{blind[0]} is not watched"
        return f"no VM called {called!r} is seen, and there may be one: {why}"
    if all(_absent(cluster, kind) for kind in _VMS):
        return "the cluster does not serve virtualmachines.kubevirt.io"
    return f"no VM is called {called!r}; {meant(called, _paths(cluster), 'VMs')}"


def _absent(cluster: Cluster, kind: type[Record]) -> bool:
    source = cluster.get(Source, "", kind.__name__)
    return source is not None and source.sync_state is SyncState.ABSENT


def _paths(cluster: Cluster) -> Iterator[str]:
    every: Iterable[type[Record]] = _VMS
    return (f"{each.namespace}/{each.name}" for kind in every for each in cluster.all(kind))
