"""What the launcher pod of a VM or VMI asks of its node, as pkg/virt-controller/services of kubevirt/kubevirt makes it.

Its node selector is that of the cluster's configuration, the spec's over it, and what features ask for over both.
"""

from __future__ import annotations

from ....domain.features.configuration import Effective
from ....domain.features.demand import Demand
from ....domain.features.node_sets import SCHEDULABLE, NodeDemand
from ....domain.features.placement import Placement
from ....store.selector import Requirement
from ....store.text.text_cache import remembered
from .asking import NATIVE

_ARCHITECTURE = "kubernetes.io/arch"
_LABEL, _RESOURCE = "label ", "resource "
_CROSSED = "label kubevirt.io/vm-arch-"
_SEV, _WITH_VALUES = "kubevirt.io/sev", (1, 6)  # before, the labels of SEV had no value
_CPU_FEATURE, _REALTIME = "cpu-feature.node.kubevirt.io/", "kubevirt.io/realtime"
_OBSOLETE = "node-labeller.kubevirt.io/obsolete-host-model"


def pod_of(demand: Demand, things: tuple[str, ...], known: Effective, of_vm: bool) -> NodeDemand | None:
    """None where nobody knows what its placement comes to. Of a VM it is what its VMI will ask for, which gets the
    cluster's architecture and CPU model where it names none.
    """
    if demand.placement is None:
        return None
    configured = tuple(sorted(known.node_selectors.items()))
    architecture = _architecture(known, things, of_vm)
    model = demand.model or (_default_model(known, things) if of_vm else "host-model")
    return _pod(demand, things, configured, architecture, model, known.version.release < _WITH_VALUES)


def _architecture(known: Effective, things: tuple[str, ...], of_vm: bool) -> str | None:
    """The cluster's, which a VM gets that names none. None where architectures are crossed: KubeVirt then takes the
    label of the node's own out of the selector, whoever put it there.
    """
    if known.on("CrossArchitectureVirtualization") and (of_vm or any(each.startswith(_CROSSED) for each in things)):
        return None
    return known.default_architecture if of_vm else ""


def _default_model(known: Effective, things: tuple[str, ...]) -> str:
    """Empty where it depends on the architecture, and that is not known."""
    if known.cpu_model:
        return known.cpu_model
    native = next((thing.removeprefix(NATIVE) for thing in things if thing.startswith(NATIVE)), "")
    return "host-model" if (native or known.default_architecture) == "amd64" else ""


@remembered(20_000)
def _pod(
    demand: Demand,
    things: tuple[str, ...],
    configured: tuple[tuple[str, str], ...],
    architecture: str | None,
    model: str,
    bare: bool,
) -> NodeDemand | None:
    placement = demand.placement
    if placement is None:
        return None
    labels = [thing.removeprefix(_LABEL).rpartition("=") for thing in things if thing.startswith(_LABEL)]
    native = next((value for key, _, value in labels if key == _ARCHITECTURE), (architecture or "").lower())
    chosen = {_ARCHITECTURE: Requirement(_ARCHITECTURE, "In", (native,))} if native else {}
    chosen |= {key: Requirement(key, "In", (value,)) for key, value in configured}
    chosen |= {each.key: each for each in placement.selector}
    if architecture is None:
        chosen.pop(_ARCHITECTURE, None)
    for key, _, value in labels:
        if key != _ARCHITECTURE:
            chosen[key] = Requirement(key, "In", (value, "") if bare and key.startswith(_SEV) else (value,))
    wanted = [f"{_CPU_FEATURE}{name}" for name in demand.features] + ([_REALTIME] if demand.realtime else [])
    chosen |= {key: Requirement(key, "In", ("true",)) for key in wanted}
    chosen.pop(SCHEDULABLE, None)  # whether a node takes launcher pods at all
    rejected = [f"{_CPU_FEATURE}{name}" for name in demand.forbidden] + ([_OBSOLETE] if model == "host-model" else [])
    absent = tuple(Requirement(key, "DoesNotExist") for key in rejected)
    # KubeVirt adds these to each term, and an empty one, which matches nothing, is none any more.
    open_end = any(not term for term in placement.terms) and (bool(absent) or not model)
    return NodeDemand(
        Placement((*chosen.values(), *absent), () if open_end else placement.terms, placement.tolerations),
        tuple(thing.removeprefix(_RESOURCE) for thing in things if thing.startswith(_RESOURCE)),
    )
