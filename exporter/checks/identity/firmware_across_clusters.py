"""VMs of different clusters that share a firmware UUID.

KubeVirt derived UUIDs from VMs' names, which clusters share; exports, backups and manifests carry a UUID along.
Licences, inventories and cloud-init then take two VMs for one. UUIDs that identify nobody, such as a vendor's
placeholder, are not compared. VMs of one cluster that share a UUID are findings of firmware_duplicates.

`steward check` with several dumps evaluates it; rules/fleet.yaml asks Prometheus the same of clusters that are watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import msgspec

from ...domain.acts import Act
from ...domain.identity.firmware import group_id
from ...domain.identity.identified import Identified, vms
from ...findings.causes import Cause
from ...findings.check import PER_FLEET, Check, Family, Reason, View
from ...findings.finding import Finding, Severity
from ...store.kinds import virtual_machine, virtual_machine_instance
from ...store.text.naming import NAMED, named
from .firmware_duplicates.reasons import of_vmi

__all__ = ["CHECK"]


_REASONS = {
    "DuplicateAcrossClusters": Reason(
        (Severity.WARNING, Severity.INFO),
        "A VM of another cluster has the same firmware UUID; a warning while it runs in two clusters.",
        Family(  # a state: Prometheus counts the clusters itself
            "kubevirt_vm_firmware_uuid_info",
            "A VM's firmware UUID.",
            aged=False,
        ),
        next="Stop the VM that should not run beside its original, or give one of them another firmware UUID.",
        commands=("kubectl get virtualmachines.kubevirt.io -n NAMESPACE NAME -o yaml",),
        alert="VMFirmwareUUIDDuplicateAcrossClusters",
        does=(Act.STOP,),
    )
}


class _Holder(msgspec.Struct, frozen=True, gc=False):
    cluster: str
    vm: Identified

    @property
    def path(self) -> str:
        return f"{self.cluster}/{self.vm.ref.path}"


def find(view: View) -> Iterator[Finding]:
    groups: dict[str, dict[str, list[_Holder]]] = {}
    for cluster, held in view.clusters.items():
        for vm in held:
            groups.setdefault(vm.uuid, {}).setdefault(cluster, []).append(_Holder(cluster, vm))
    for group in groups.values():
        if len(group) > 1:
            yield from _findings(group)


def _findings(group: dict[str, list[_Holder]]) -> Iterator[Finding]:
    """On all that share a UUID, by their clusters. A template may have given it to thousands."""
    for held in group.values():
        held.sort(key=lambda holder: not holder.vm.running)
    everyone = [holder for held in group.values() for holder in held]
    running = sum(held[0].vm.running for held in group.values())
    severity = Severity.WARNING if running > 1 else Severity.INFO
    legacy = all(holder.vm.legacy for holder in everyone)
    common = f"legacy: {'both' if len(everyone) == 2 else 'all'} derive it from their name" if legacy else ""
    for holder in everyone:
        own = "legacy: derived from the VM's name" if holder.vm.legacy else ""
        others = chain(*(held for name, held in group.items() if name != holder.cluster), group[holder.cluster])
        shown = list(islice((other for other in others if other is not holder), NAMED))
        yield _finding(holder, shown, len(everyone), severity, common or own)


def _finding(holder: _Holder, shown: list[_Holder], holders: int, severity: Severity, hint: str) -> Finding:
    """`shown` are some of the others: those of other clusters and those that run come first."""
    vm = holder.vm
    who = named([f"{other.path}{' (running)' if other.vm.running else ''}" for other in shown], holders - 1, NAMED)
    facts = {"uuid": vm.uuid, "running": vm.running, "others": [other.path for other in shown], "holders": holders}
    return Finding(
        reason="DuplicateAcrossClusters",
        severity=severity,
        subject=vm.ref,
        commands=of_vmi(vm.ref),
        cluster=holder.cluster,
        message=f"The VM's firmware UUID is also that of {who}{f'; {hint}' if hint else ''}",
        evidence=facts | ({"hint": hint} if hint else {}),
        group=group_id(vm.uuid),
    )


CHECK = Check(
    id="firmware_across_clusters",
    title="VMs of different clusters that share a firmware UUID",
    reads=(virtual_machine.KIND, virtual_machine_instance.KIND),
    scope=PER_FLEET,
    facts=vms,
    cause=Cause.GROUP,
    reasons=_REASONS,
    find=find,
)
