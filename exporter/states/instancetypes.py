"""How many VMs refer to each instancetype and preference, and how: which of them depend on the live object."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..domain.instancetypes.kinds import CLUSTER_WIDE, INSTANCETYPES
from ..domain.instancetypes.matching import MatcherRole
from ..domain.instancetypes.resolving import ReferenceMode
from ..store.kinds import controller_revision, kube_virt, virtual_machine
from ..usage.instancetypes import InstancetypeUsage
from .base import Gauge, Sample, State

_LABELS = ("scope", "namespace", "name", "mode")
_NAMED = tuple(mode for mode in ReferenceMode if mode is not ReferenceMode.INFERRED)


def _samples(role: MatcherRole) -> Callable[[InstancetypeUsage], Iterator[list[Sample]]]:
    """Of each object that exists or is referred to; what is still to be inferred has no name yet."""

    def samples(usage: InstancetypeUsage) -> Iterator[list[Sample]]:
        for target in usage.targets(role):
            scope = "namespace" if target.kind == role.namespaced else "cluster"
            modes, counts = _NAMED if target.name else (ReferenceMode.INFERRED,), usage.modes(target)
            yield [((scope, target.namespace, target.name, mode.value), counts.get(mode, 0)) for mode in modes]

    return samples


STATE = State(
    keep=InstancetypeUsage,
    gauges=(
        Gauge(
            "kubevirt_instancetype_vms",
            "VMs that refer to an instancetype, by how: pinned or by revision they have a copy of it, unversioned they "
            "get the live object, inferred they have none yet.",
            _LABELS,
            _samples(MatcherRole.INSTANCETYPE),
        ),
        Gauge(
            "kubevirt_preference_vms",
            "VMs that refer to a preference, by how: pinned or by revision they have a copy of it, unversioned they "
            "get the live object, inferred they have none yet.",
            _LABELS,
            _samples(MatcherRole.PREFERENCE),
        ),
    ),
    reads=(*INSTANCETYPES, virtual_machine.KIND, controller_revision.KIND, kube_virt.KIND),
    indexes=InstancetypeUsage.INDEXES,
    requires=CLUSTER_WIDE,
)
