"""Which feature gates are on, and why: by KubeVirt's version, and by the KubeVirt object."""

from __future__ import annotations

from collections.abc import Iterator

from ..domain.features.configuration import Effective, effective
from ..store.cluster import Change, Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.source import UNREADABLE
from .base import Gauge, Sample, State


class FeatureGates:
    """What is in effect is made once for each configuration, so nothing is kept."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def changed(self, change: Change) -> None:
        pass

    def settle(self) -> Iterator[None]:
        return iter(())

    def samples(self) -> Iterator[list[Sample]]:
        """None while nobody knows the configuration: absent is not off."""
        known = effective(self._cluster.all(KubeVirt))
        if isinstance(known, Effective) and self._cluster.first(UNREADABLE, KubeVirt.__name__) is None:
            for gate in known.gates.names:
                yield [((gate, known.gates.stage(gate), known.source(gate)), float(known.on(gate)))]


STATE = State(
    keep=FeatureGates,
    gauges=(
        Gauge(
            "kubevirt_feature_enabled",
            "1 if a feature gate of this version of KubeVirt is on, otherwise 0; source is the cause: always, listed "
            "or default, disabled or off.",
            ("feature", "stage", "source"),
            FeatureGates.samples,
            sparse=True,
        ),
    ),
    reads=(KubeVirt.KIND,),
    indexes=(UNREADABLE,),
)
