"""What can only be seen of several clusters together: VMs that share a firmware UUID.

KubeVirt derived UUIDs from VMs' names, which clusters share; exports, backups and manifests carry a UUID along.
Licences, inventories and cloud-init then take two VMs for one (firmware-eviction A.9). Within one cluster that is
a check's concern. What identifies nobody, such as a vendor's placeholder, is never shared.

`steward check` with several dumps asks for it; rules/fleet.yaml asks Prometheus the same of clusters that are watched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import msgspec

from .findings import Finding, Severity, Unknown, fingerprint
from .model.cluster import Cluster
from .model.firmware import group_id
from .model.identified import Identified
from .model.kinds import virtual_machine, virtual_machine_instance
from .model.source import Source, Undecodable, unseen

__all__ = ["ACROSS", "READS", "Across", "Shared", "duplicates", "unknowns"]

_SHOWN = 10  # VMs that a finding names
READS = (virtual_machine.KIND, virtual_machine_instance.KIND)


@dataclass(frozen=True)
class Shared:
    """One entry of the closed list of reasons, as a check has it; the first severity is the usual one."""

    severities: tuple[Severity, ...]
    meaning: str


@dataclass(frozen=True)
class Across:
    """What compares clusters: to users as good as a check, though no engine runs it."""

    id: str
    title: str
    reasons: Mapping[str, Shared]


ACROSS = Across(
    "across_clusters",
    "VMs of different clusters have different firmware UUIDs",
    {
        "DuplicateAcrossClusters": Shared(
            (Severity.WARNING, Severity.INFO),
            "A VM of another cluster has the same firmware UUID; a warning while it runs in two clusters.",
        )
    },
)


class _Holder(msgspec.Struct, frozen=True, gc=False):
    cluster: str
    vm: Identified

    @property
    def path(self) -> str:
        return f"{self.cluster}/{self.vm.ref.path}"


def duplicates(clusters: Mapping[str, Iterable[Identified]]) -> Iterator[tuple[str, Finding]]:
    """Findings, each with the name of its cluster, on VMs whose UUID is held in two clusters or more."""
    groups: dict[str, dict[str, list[_Holder]]] = {}
    for name, vms in clusters.items():
        for vm in vms:
            groups.setdefault(vm.uuid, {}).setdefault(name, []).append(_Holder(name, vm))
    for group in groups.values():
        if len(group) > 1:
            yield from _findings(group)


def _findings(group: dict[str, list[_Holder]]) -> Iterator[tuple[str, Finding]]:
    """On all that share a UUID, by their clusters. A template may have given it to thousands."""
    for held in group.values():
        held.sort(key=lambda holder: not holder.vm.running)
    everyone = [holder for held in group.values() for holder in held]
    running = sum(held[0].vm.running for held in group.values())
    severity = Severity.WARNING if running > 1 else Severity.INFO
    legacy = all(holder.vm.legacy for holder in everyone)
    both = f"legacy: {'both' if len(everyone) == 2 else 'all'} derive it from their name" if legacy else ""
    for holder in everyone:
        own = "legacy: it derives it from its name" if holder.vm.legacy else ""
        others = chain(*(held for name, held in group.items() if name != holder.cluster), group[holder.cluster])
        shown = list(islice((other for other in others if other is not holder), _SHOWN))
        yield holder.cluster, _finding(holder.vm, shown, len(everyone), severity, both or own)


def _finding(vm: Identified, shown: list[_Holder], holders: int, severity: Severity, hint: str) -> Finding:
    """`shown` are some of the others, those of other clusters and those that run first."""
    evidence: dict[str, Any] = {
        "uuid": vm.uuid,
        "running": vm.running,
        "others": [other.path for other in shown],
        "holders": holders,
    }
    if hint:
        evidence["hint"] = hint
    named = ", ".join(f"{other.path}{' (running)' if other.vm.running else ''}" for other in shown)
    more = f" and {holders - 1 - len(shown)} more" if holders - 1 > len(shown) else ""
    found = Finding(
        check=ACROSS.id,
        reason="DuplicateAcrossClusters",
        severity=severity,
        subject=vm.ref,
        message=f"its firmware UUID is also that of {named}{more}{f'; {hint}' if hint else ''}",
        evidence=evidence,
        group=group_id(vm.uuid),
    )
    return msgspec.structs.replace(found, fingerprint=fingerprint(ACROSS.id, found))


def unknowns(name: str, cluster: Cluster) -> Iterator[Unknown]:
    """Why not every VM of a cluster could be compared; `name` is the cluster's."""
    for kind in unseen(cluster, (kind.record for kind in READS)):
        source = cluster.get(Source, "", kind)
        yield Unknown(ACROSS.id, "", f"{kind}: {source.why if source else 'nobody looks for it'}", name)
    for undecodable in cluster.all(Undecodable):
        if undecodable.kind in [kind.name for kind in READS]:
            yield Unknown(
                ACROSS.id, undecodable.namespace, f"{undecodable.ref} could not be read: {undecodable.why}", name
            )
