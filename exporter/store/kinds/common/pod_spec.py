"""What follows from the spec of a pod: made once for all whose specs are alike but for the node, as launchers are."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

import msgspec

from ....domain.features.neighbours import ALONE, Neighbours, WirePodAffinity, WireSpread, neighbours_of
from ....domain.features.placement import ANYWHERE, Placement, WirePlacement, placement_of
from ...record import Wire
from ...text.quantity import Amounts, amounts_of, plus
from ...text.text_cache import TextMemo


class _Resources(Wire, frozen=True, gc=False):
    requests: dict[str, str | int | float | None] | None = None


class _Container(Wire, frozen=True, gc=False):
    resources: _Resources | None = None
    restart_policy: str | None = None


class WirePodSpec(WirePlacement, frozen=True, gc=False):
    affinity: WirePodAffinity | None = None
    topology_spread_constraints: list[WireSpread | None] | None = None
    node_name: str | None = None
    containers: list[_Container | None] | None = None
    init_containers: list[_Container | None] | None = None
    overhead: dict[str, str | int | float | None] | None = None


class PodSpecFacts(NamedTuple):
    """As the fields of Pod."""

    requests: Amounts
    placement: Placement
    neighbours: Neighbours


_KEPT = TextMemo[PodSpecFacts]()
_ALL_BUT_NODE = attrgetter(*(name for name in WirePodSpec.__struct_fields__ if name != "node_name"))
_RESOURCES = attrgetter("containers", "init_containers", "overhead")  # fewer fields: no text is that of both
_ENCODE = msgspec.json.Encoder().encode


def pod_spec_facts(spec: WirePodSpec, *, launcher: bool) -> PodSpecFacts:
    """Of any other pod than a launcher only the requests. Raises ValueError for a malformed quantity."""
    text = _ENCODE(_ALL_BUT_NODE(spec) if launcher else _RESOURCES(spec))
    found = _KEPT.get(text)
    if found is None:
        found = PodSpecFacts(
            _requests(spec),
            placement_of(spec) if launcher else ANYWHERE,
            neighbours_of(spec.affinity, spec.topology_spread_constraints) if launcher else ALONE,
        )
        _KEPT.keep(text, found)
    return found


def _requests(spec: WirePodSpec) -> Amounts:
    """What it takes of its node while it runs; what initial containers take before is left out."""
    lasting = [each for each in spec.init_containers or () if each and each.restart_policy == "Always"]
    containers = [each for each in (*(spec.containers or ()), *lasting) if each and each.resources]
    return plus(
        amounts_of(spec.overhead), *(amounts_of(each.resources.requests) for each in containers if each.resources)
    )
