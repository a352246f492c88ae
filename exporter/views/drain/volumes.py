"""From which nodes the volumes of a VM can be used, by the node affinity of their PersistentVolumes.

Not considered: zones that are labels of a PersistentVolume, as drivers within Kubernetes had them; the volume that
KubeVirt makes for the state of a TPM or of EFI variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...domain.features.placement import Placement
from ...store.cluster import Cluster
from ...store.indexes.volumes import BOUND
from ...store.kinds.persistent_volume import PersistentVolume
from ...store.source import Undecodable, unseen

AFFINITY = "the node affinity of its volumes"


def seen(cluster: Cluster) -> bool:
    """Whether all PersistentVolumes can be seen."""
    unread = (each for each in cluster.all(Undecodable) if each.kind == PersistentVolume.__name__)
    return not unseen(cluster, (PersistentVolume,)) and next(unread, None) is None


def bindings(cluster: Cluster, namespace: str, pvcs: Iterable[str]) -> Iterator[tuple[str, Placement]]:
    """By the name of each PersistentVolumeClaim whose volume can't be used from every node. The cluster keeps BOUND."""
    for name in pvcs:
        found = cluster.sharing(BOUND, f"{namespace}/{name}")
        yield from ((name, each.placement) for each in found if isinstance(each, PersistentVolume))
