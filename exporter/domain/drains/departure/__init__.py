"""Will this VMI leave its node when that is drained, and what is in the way: evaluated here, and nowhere else.

The check `evictions`, the view of a drain and the metric of drains present what this says. The order follows KubeVirt:
what its eviction webhook lets pass is left to PDBs; what it denies has an evacuation request (`evacuationNodeName`),
or is refused for good; a request is carried out by KubeVirt, or by the controller of a VMI of strategy External.
Pure; whether another node has room for a VMI is not asked here.
"""

from __future__ import annotations

from .context import INDEXES, Departure, DrainContext, DrainState, NodeContext, drain_context, node_context
from .remedies import REMEDIES, Remedy
from .states import departure, departures, each_departure, in_order, orphans

__all__ = [
    "INDEXES",
    "REMEDIES",
    "Departure",
    "DrainContext",
    "DrainState",
    "NodeContext",
    "Remedy",
    "departure",
    "departures",
    "drain_context",
    "each_departure",
    "in_order",
    "node_context",
    "orphans",
]
