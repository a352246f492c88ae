"""How many VMs and VMIs ask for each feature, whether the cluster allows it or not."""

from __future__ import annotations

from collections.abc import Iterator

from ..domain.features.rules import RULES
from ..domain.instancetypes.kinds import INSTANCETYPES
from ..store.kinds import controller_revision, kube_virt, virtual_machine, virtual_machine_instance
from ..usage.features import PHASES, FeatureUsage
from .base import Gauge, Sample, State


def _samples(usage: FeatureUsage) -> Iterator[list[Sample]]:
    for rule in RULES:
        yield [
            ((rule.id, kind, phase), usage.count(rule.id, kind, phase))
            for kind, phases in PHASES.items()
            for phase in phases
        ]


STATE = State(
    keep=FeatureUsage,
    gauges=(
        Gauge(
            "kubevirt_feature_requests",
            "VMs, with their instancetype and preference applied, and VMIs that ask for a feature: VMs by whether they "
            "are running or stopped, VMIs by their phase.",
            ("feature", "kind", "phase"),
            _samples,
            sparse=True,
        ),
    ),
    reads=(
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        *INSTANCETYPES,
        controller_revision.KIND,
        kube_virt.KIND,
    ),
    indexes=FeatureUsage.INDEXES,
    requires=(virtual_machine.KIND,),
)
