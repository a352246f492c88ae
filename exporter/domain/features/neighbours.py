"""Near which pods a pod has to run, and away from which: required pod affinity and anti-affinity, topology spread.

Terms on `kubevirt.io/created-by` are left out: KubeVirt puts one into each target pod, which keeps it off the node that
the VMI leaves (pkg/virt-controller/watch/migration/migration.go).
"""

from __future__ import annotations

import msgspec

from ...store.record import Wire
from ...store.selector import Selector, WireSelector, selector_of
from .placement import WireAffinity

_OWN = "kubevirt.io/created-by"
_OF_VMS = ("kubevirt.io", "kubevirt.io/domain", "vm.kubevirt.io/name", "kubevirt.io/vm", "kubevirt.io/vmi-name")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Term(Wire, frozen=True, gc=False):
    label_selector: WireSelector | None = None
    topology_key: str | None = None
    namespaces: list[str | None] | None = None
    namespace_selector: WireSelector | None = None


class _Pods(Wire, frozen=True, gc=False):
    required: list[_Term | None] | None = msgspec.field(name=_REQUIRED, default=None)


class WirePodAffinity(WireAffinity, frozen=True, gc=False):
    """The affinity of a pod with the parts that are about other pods."""

    pod_affinity: _Pods | None = None
    pod_anti_affinity: _Pods | None = None


class WireSpread(Wire, frozen=True, gc=False):
    when_unsatisfiable: str | None = None


class NeighbourTerm(msgspec.Struct, frozen=True, gc=False):
    """`apart` from the pods that `selector` matches in `namespaces` (its own where there are none), or near one of
    them: in a node's domain by the label `topology`. `elsewhere`: in other namespaces too, which a selector chooses.
    """

    selector: Selector
    topology: str
    apart: bool
    namespaces: tuple[str, ...] = ()
    elsewhere: bool = False

    @property
    def of_vms(self) -> bool:
        """Whether it matches nothing but launcher pods: by a label that KubeVirt puts on those alone."""
        return any(each.key in _OF_VMS and each.operator in ("In", "Exists") for each in self.selector.requirements)


class Neighbours(msgspec.Struct, frozen=True, gc=False):
    """`spread`: it has topology spread constraints that the scheduler must keep."""

    terms: tuple[NeighbourTerm, ...] = ()
    spread: bool = False


ALONE = Neighbours()
_NONE = WirePodAffinity()


def neighbours_of(affinity: WirePodAffinity | None, constraints: list[WireSpread | None] | None) -> Neighbours:
    spread = any(each is not None and each.when_unsatisfiable != "ScheduleAnyway" for each in constraints or ())
    affinity = affinity or _NONE
    terms = (*_terms(affinity.pod_anti_affinity, apart=True), *_terms(affinity.pod_affinity, apart=False))
    return Neighbours(terms, spread) if terms or spread else ALONE


def _terms(pods: _Pods | None, *, apart: bool) -> tuple[NeighbourTerm, ...]:
    found = []
    for each in (pods.required or ()) if pods is not None else ():
        selector = selector_of(each.label_selector) if each is not None else None
        if each is None or selector is None or any(part.key == _OWN for part in selector.requirements):
            continue  # one without a selector matches no pod
        namespaces = tuple(filter(None, each.namespaces or ()))
        elsewhere = each.namespace_selector is not None
        found.append(NeighbourTerm(selector, each.topology_key or "", apart, namespaces, elsewhere))
    return tuple(found)
