"""Whether KubeVirt is being upgraded: meanwhile it moves VMs itself, and its parts are replaced."""

from __future__ import annotations

from collections.abc import Iterator

from ..store.cluster import Change, Cluster
from ..store.kinds.kube_virt import KubeVirt
from .base import Gauge, Sample, State


class Upgrades:
    """There is hardly ever more than one KubeVirt, so nothing is kept."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def changed(self, change: Change) -> None:
        pass

    def settle(self) -> Iterator[None]:
        return iter(())

    def samples(self) -> Iterator[list[Sample]]:
        for each in sorted(self._cluster.all(KubeVirt), key=lambda each: each.ref):
            yield [((each.namespace, each.name), float(each.upgrading))]


STATE = State(
    keep=Upgrades,
    gauges=(
        Gauge(
            "kubevirt_upgrade_in_progress",
            "1 while KubeVirt's control plane is being upgraded to another release, otherwise 0.",
            ("namespace", "name"),
            Upgrades.samples,
        ),
    ),
    reads=(KubeVirt.KIND,),
)
