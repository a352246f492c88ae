"""VMs of different clusters that share a firmware UUID.

KubeVirt derived UUIDs from VMs' names, which clusters share; exports, backups and manifests carry a UUID along.
Licences, inventories and cloud-init then take two VMs for one. UUIDs that identify nobody, such as a vendor's
placeholder, are not compared. VMs of one cluster that share a UUID are findings of firmware_duplicates; two dumps are
of one cluster where the UID of kube-system or of a VM is the same. Both ends of a migration between clusters have the
UUID while it goes on, and are no duplicates of each other.

`steward check` with several dumps evaluates it; rules/fleet.yaml asks Prometheus the same of clusters that are watched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice

import msgspec

from ...domain.identity import InCluster, MigrationEnd, in_cluster
from ...facts.firmware import group_id
from ...facts.naming import NAMED, kind_word, named
from ...findings.causes import Cause
from ...findings.check import PER_FLEET, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds import virtual_machine, virtual_machine_instance, virtual_machine_instance_migration
from .firmware_duplicates.members import of_vmi

_TEXTS = Texts("firmware_across_clusters")
_REASON = "DuplicateAcrossClusters"
_HINTS = {"derived": "legacy: derived from the VM's name", "all_derived": "legacy: derived from the name of each VM"}


class _Holder(msgspec.Struct, frozen=True, gc=False):
    cluster: str
    vm: InCluster

    @property
    def path(self) -> str:
        return f"{self.cluster}/{self.vm.ref.path}"


def find(view: View) -> Iterator[Finding]:
    one = _one_cluster(view.clusters)
    groups: dict[str, dict[str, list[_Holder]]] = {}
    for cluster, held in view.clusters.items():
        for vm in held:
            if not vm.awaits:
                groups.setdefault(vm.uuid, {}).setdefault(one[cluster], []).append(_Holder(cluster, vm))
    for group in groups.values():
        if len(group) > 1:
            yield from _findings(group)


def _one_cluster(clusters: Mapping[str, Sequence[InCluster]]) -> dict[str, str]:
    """By the name of each dump that of the first one of the same cluster: a UID is of one object alone."""
    first: dict[str, str] = {}
    one: dict[str, str] = {}
    for name, held in clusters.items():
        uids = {vm.ref.uid for vm in held} | {vm.cluster for vm in held}
        known = next((first[uid] for uid in uids if uid in first), name)
        first |= dict.fromkeys(uids - {""} - first.keys(), known)
        one[name] = known
    return one


def _findings(group: dict[str, list[_Holder]]) -> Iterator[Finding]:
    """On all that share a UUID, by their clusters. A template may have given it to thousands."""
    for held in group.values():
        held.sort(key=lambda holder: not holder.vm.running)
    everyone = [holder for held in group.values() for holder in held]
    legacy = all(holder.vm.legacy for holder in everyone)
    moving, sources = _migrations(everyone)
    heads = (held[0] for held in group.values())
    running = (head.path for head in heads if head.vm.running and sources.get(head.path) != head.path)
    collide = any(one not in moving.get(other, ()) for one, other in combinations(running, 2))
    severity = Severity.WARNING if collide else Severity.INFO
    for name, held in group.items():
        for holder in held:
            apart = moving.get(holder.path, frozenset())
            if all(other.path in apart for key, there in group.items() if key != name for other in there):
                continue  # with the other end of its own migration alone
            origin = "all_derived" if legacy else "derived" if holder.vm.legacy else ""
            others = chain(*(there for key, there in group.items() if key != name), held)
            shown = [*islice((other for other in others if other is not holder and other.path not in apart), NAMED)]
            made = _finding(holder, shown, len(everyone) - len(apart), severity, origin)
            yield made if severity is Severity.WARNING else _informing(made, sources.get(holder.path, ""))


def _migrations(everyone: Iterable[_Holder]) -> tuple[dict[str, frozenset[str]], dict[str, str]]:
    """By the path of each end of a migration that goes on those of its other ends, and of each end of one that has
    succeeded that of the VM that is left behind.
    """
    ends = [(holder.path, end) for holder in everyone for end in holder.vm.ends]
    targets: dict[str, list[tuple[str, MigrationEnd]]] = {}
    for path, end in ends:
        if not end.sends:
            targets.setdefault(end.pairing, []).append((path, end))
    moving: dict[str, set[str]] = {}
    sources: dict[str, str] = {}
    for path, out in ends:
        for target, into in targets.get(out.pairing, ()) if out.sends else ():
            if not (out.finished and into.finished):
                moving.setdefault(path, set()).add(target)
                moving.setdefault(target, set()).add(path)
            elif out.left:
                sources |= {path: path, target: path}
    return {path: frozenset(others - {path}) for path, others in moving.items()}, sources


def _informing(found: Finding, source: str) -> Finding:
    """Where at most one runs: there is nothing to stop. `source` is a VM that was migrated away."""
    step = _TEXTS.next(_REASON, "left" if source else "before", vm=source)
    return msgspec.structs.replace(found, next=step, does=())


def _finding(holder: _Holder, shown: list[_Holder], holders: int, severity: Severity, origin: str) -> Finding:
    """`shown` are some of the others: those of other clusters and those that run come first."""
    vm = holder.vm
    who = named([f"{other.path}{' (running)' if other.vm.running else ''}" for other in shown], holders - 1, NAMED)
    facts = {"uuid": vm.uuid, "running": vm.running, "others": [other.path for other in shown], "holders": holders}
    return Finding(
        reason=_REASON,
        severity=severity,
        subject=vm.ref,
        commands=of_vmi(vm.ref),
        cluster=holder.cluster,
        message=_TEXTS.message(_REASON, origin, kind=kind_word(vm.ref.kind), others=who),
        evidence=facts | ({"hint": _HINTS[origin]} if origin else {}),
        group=group_id(vm.uuid),
    )


CHECK = Check(
    id="firmware_across_clusters",
    title="VMs of different clusters that share a firmware UUID",
    reads=(virtual_machine.KIND, virtual_machine_instance.KIND, virtual_machine_instance_migration.KIND),
    scope=PER_FLEET,
    facts=in_cluster,
    cause=Cause.GROUP,
    reasons=reasons_of("firmware_across_clusters"),
    find=find,
)
