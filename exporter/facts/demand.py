"""What the spec of a VM or VMI asks of its node beside features: placement, CPU features, realtime.

A CPU feature is required where its policy is `require` or empty, and one of policy `forbid` must not be there; other
policies ask for nothing. As CPUFeatureLabelsFromCPUFeatures and setNodeAffinityForPod of kubevirt/kubevirt
(pkg/virt-controller/services) have it, which do not ask before the VMI has a CPU model: KubeVirt gives each VMI one.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern
from typing import Any

import msgspec

from . import specs
from .nesting import decoded
from .placement import ANYWHERE, Placement, WirePlacement, placement_of
from .selector import Requirement
from .text_cache import remembered
from .vm_spec import WireCPU, WireCPUFeature, WireDomain, WireVMSpec

_MOST = 100  # CPU features of one VM: each costs, and libvirt knows some hundred
_MOST_REQUIREMENTS = 200  # of one placement: nobody writes more, and each costs
_LONGEST = 253  # characters of a name: no label has more


class Demand(msgspec.Struct, frozen=True, gc=False):
    """Equal ones are shared. `placement` is None where the spec's is none that Kubernetes takes, or endless: nobody
    knows what it comes to. `own_selector` says whether the spec has a node selector, be it empty.
    """

    placement: Placement | None = ANYWHERE
    own_selector: bool = False
    features: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # CPU features of other policies
    model: str = ""
    realtime: bool = False


NOTHING = Demand()


def demand_of(spec: WireVMSpec) -> Demand:
    domain = spec.domain or WireDomain()
    cpu = domain.cpu or WireCPU()
    required, forbidden, others = _by_policy(cpu.features)
    return _shared(
        Demand(
            _placement(_selected(spec.node_selector), bytes(spec.affinity), bytes(spec.tolerations)),
            spec.node_selector is not None,
            required,
            forbidden,
            others,
            intern((cpu.model or "")[:_LONGEST]),
            cpu.realtime is not None,
        )
    )


def applied(own: Demand, gives: specs.Instancetype | None, prefers: specs.Preference | None) -> Demand:
    """With an instancetype and a preference. What a template must not set itself where its instancetype gives it is
    taken as the template has it: such a VM is refused, and reported for that.
    """
    selected = gives.node_selector if gives is not None and not own.own_selector else None
    placement = own.placement
    if selected and placement is not None:
        given = tuple(Requirement(key, "In", (value,)) for key, value in _selected(selected))
        placement = msgspec.structs.replace(placement, selector=given)
    wanted = prefers.cpu.preferred_cpu_features if prefers is not None and prefers.cpu is not None else None
    taken = {*own.features, *own.forbidden, *own.others}
    required, forbidden, others = _by_policy(each for each in wanted or () if each and each.name not in taken)
    return _shared(
        Demand(
            placement,
            own.own_selector or bool(selected),
            own.features + required,
            own.forbidden + forbidden,
            own.others + others,
            own.model or intern((gives.cpu.model if gives is not None else "") or ""),
            own.realtime or (gives is not None and gives.cpu.realtime is not None),
        )
    )


def _by_policy(features: Iterable[WireCPUFeature | None] | None) -> tuple[tuple[str, ...], ...]:
    """The names that are required, those that are forbidden, and the rest."""
    required, forbidden, others = set[str](), set[str](), set[str]()
    for each in features or ():
        if each is not None and each.name and len(each.name) <= _LONGEST:
            policy = each.policy or "require"
            kept = required if policy == "require" else forbidden if policy == "forbid" else others
            kept.add(intern(each.name))
    return tuple(tuple(sorted(kept)[:_MOST]) for kept in (required, forbidden, others))


def _selected(selector: dict[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(value or "")) for key, value in sorted((selector or {}).items()))


_PLACED = msgspec.json.Decoder(WirePlacement)


@remembered(20_000)
def _placement(selected: tuple[tuple[str, str], ...], affinity: bytes, tolerations: bytes) -> Placement | None:
    if not selected and affinity in _EMPTY and tolerations in _EMPTY:
        return ANYWHERE
    text = b'{"affinity":%b,"tolerations":%b}' % (affinity or b"null", tolerations or b"null")
    try:
        wire = decoded(_PLACED, text)
    except msgspec.DecodeError:
        return None
    made = placement_of(msgspec.structs.replace(wire, node_selector=dict(selected)))
    count = len(made.selector) + len(made.tolerations) + sum(map(len, made.terms))
    return made if count <= _MOST_REQUIREMENTS and made.valid else None


_EMPTY = (b"", b"null", b"{}", b"[]")


@remembered(50_000)
def _shared(made: Demand) -> Demand:
    return made
