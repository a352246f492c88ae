"""How many VMs there are, and whether what is known of the cluster is current."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..domain.features.configuration import chosen
from ..store.cluster import Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.source import Source, SyncState, unseen
from .times import rfc3339

_WITHOUT_CONNECTION = (SyncState.STARTING, SyncState.BEHIND, SyncState.STALE, SyncState.FAILING)


class FleetSummary(msgspec.Struct, frozen=True, rename="camel"):
    """`virtual_machines` is None where they can't be seen.

    `out_of_date_since` is RFC 3339 in UTC: since when the kind that is longest without a connection has none; empty
    while all have one. Kinds that may not be listed or are not served are not meant: without them the checks that read
    them are unknown, or not applicable. `kubevirt_version` is the observed one; empty where it is not known.
    """

    virtual_machines: int | None
    out_of_date_since: str
    kubevirt_version: str = ""


NO_FLEET = FleetSummary(0, "")
UNSEEN_FLEET = FleetSummary(None, "")


def fleet_of(cluster: Cluster) -> FleetSummary:
    vms = None if unseen(cluster, (VirtualMachine,)) else cluster.count(VirtualMachine)
    since = (each.since for each in cluster.all(Source) if each.sync_state in _WITHOUT_CONNECTION)
    kubevirt = chosen(cluster.all(KubeVirt))
    version = "" if isinstance(kubevirt, str) else kubevirt.version
    return FleetSummary(vms, rfc3339(min(since, default=None)), version)


def fleet_of_all(fleets: Iterable[FleetSummary]) -> FleetSummary:
    """That of several clusters together."""
    every = tuple(fleets)
    return FleetSummary(
        _sum(each.virtual_machines for each in every),
        min((each.out_of_date_since for each in every if each.out_of_date_since), default=""),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for each in numbers:
        if each is None:
            return None
        total += each
    return total
