"""Where a pod may run: its node selector, required node affinity and tolerations, against a node's labels and taints.

Not considered by `Placement`: pod affinity, which `Neighbours` has, and topology spread constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from .record import Wire
from .selector import Requirement, Selector, WireRequirement, WireSelector, requirements_of, selector_of


class WireNodeTerm(Wire, frozen=True, gc=False):
    match_expressions: list[WireRequirement | None] | None = None
    match_fields: list[WireRequirement | None] | None = None


class _Required(Wire, frozen=True, gc=False):
    node_selector_terms: list[WireNodeTerm | None] | None = None


class _NodeAffinity(Wire, frozen=True, gc=False):
    required: _Required | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class WireAffinity(Wire, frozen=True, gc=False):
    node_affinity: _NodeAffinity | None = None


class _Toleration(Wire, frozen=True, gc=False):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class WirePlacement(Wire, frozen=True, gc=False):
    """The part of a pod's spec that says where it may run."""

    node_selector: dict[str, str | None] | None = None
    affinity: WireAffinity | None = None
    tolerations: list[_Toleration | None] | None = None


class Taint(msgspec.Struct, frozen=True, gc=False):
    """`added` is its timeAdded in seconds since 1970, None without one."""

    key: str
    value: str
    effect: str
    added: float | None = None

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, gc=False):
    key: str
    operator: str
    value: str
    effect: str
    seconds: int | None = None  # for how long it tolerates a taint NoExecute; None for ever

    def covers(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        # Gt and Lt are of Kubernetes 1.35, behind a feature gate: what may be tolerated keeps nobody off.
        return self.operator != "Equal" or (bool(self.key) and self.value == taint.value)


class Placement(msgspec.Struct, frozen=True, gc=False):
    """`terms` are alternatives, each of requirements on labels and, as `metadata.name`, on the node's name; a term
    without any matches nothing.
    """

    selector: tuple[Requirement, ...] = ()
    terms: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether Kubernetes takes it: of a requirement that it refuses nobody knows what it would match."""
        every = (*self.selector, *(each for term in self.terms for each in term))
        return all(each.valid for each in every)

    def tolerates(self, taint: Taint) -> bool:
        """Whether the scheduler puts such a pod on a node with the taint: NoExecute counts, for how long does not."""
        return taint.effect == "PreferNoSchedule" or any(each.covers(taint) for each in self.tolerations)

    def obstacle(self, name: str, labels: Mapping[str, str], taints: tuple[Taint, ...]) -> str:
        """What first keeps the pod off the node, in a few words; empty if nothing does."""
        for taint in taints:
            if not self.tolerates(taint):
                return f"taint {taint}"
        for requirement in self.selector:
            if not requirement.holds(labels):
                return f"node selector {requirement}"
        facts = {**labels, "metadata.name": name}
        if self.terms and not any(term and all(each.holds(facts) for each in term) for term in self.terms):
            return "node affinity"
        return ""


ANYWHERE = Placement()

# Equal placements are shared; emptied if too many differ.
_SHARED: dict[Placement, Placement] = {}
_MOST_SHARED = 50_000


def placement_of(wire: WirePlacement) -> Placement:
    affinity = wire.affinity.node_affinity if wire.affinity is not None else None
    terms = (affinity.required.node_selector_terms or ()) if affinity is not None and affinity.required else ()
    made = Placement(
        tuple(Requirement(key, "In", (value or "",)) for key, value in (wire.node_selector or {}).items()),
        _alternatives(terms),
        tuple(
            Toleration(
                each.key or "", each.operator or "Equal", each.value or "", each.effect or "", each.toleration_seconds
            )
            for each in wire.tolerations or ()
            if each is not None
        ),
    )
    return _shared(made)


def placed_by(terms: Iterable[WireNodeTerm | None]) -> Placement:
    """Where one of the terms holds, whatever taints there are: that of a volume."""
    return _shared(Placement(terms=_alternatives(terms), tolerations=_ANY_TAINT))


_ANY_TAINT = (Toleration("", "Exists", "", ""),)


def _alternatives(terms: Iterable[WireNodeTerm | None]) -> tuple[tuple[Requirement, ...], ...]:
    every = (each for each in terms if each is not None)
    return tuple(requirements_of(each.match_expressions) + requirements_of(each.match_fields) for each in every)


def _shared(made: Placement) -> Placement:
    if len(_SHARED) > _MOST_SHARED:
        _SHARED.clear()
    return _SHARED.setdefault(made, made)


# Near which pods a pod has to run, and away from which: required pod affinity and anti-affinity, topology spread.
#
# Terms on `kubevirt.io/created-by` are left out: KubeVirt puts one into each target pod, which keeps it off the node
# that the VMI leaves (pkg/virt-controller/watch/migration/migration.go).

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
