"""VMIs that the KubeVirt object leaves in launchers of an earlier release, or keeps from being evicted by its default.

After an upgrade KubeVirt labels VMIs whose launcher is of an earlier release (`kubevirt.io/outdatedLauncherImage`). It
replaces these launchers by what `workloadUpdateMethods` has, and without that a VMI keeps its own until it is migrated
or restarted. With LiveMigrate as the cluster's eviction strategy, evictions are refused for good of each VMI that can't
be live-migrated and has no strategy of its own, so that a drain of its node never ends.

Each is one finding, of the KubeVirt object, that counts the VMIs and names the first of them.

Not reported: while KubeVirt is upgraded; old launchers while an update migrates VMIs; a VMI whose last migration
failed, of which `migrations` says more. What a drain would come to for each VMI says its preview.

Not seen here: why virt-controller makes no migrations; whether an update waits for its `batchEvictionInterval`.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from ...facts.naming import NAMED, counted, named
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import LEFT, OUTDATED, UNMOVABLE
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

_INFO = Severity.INFO
_TEXTS = Texts("kubevirt_vmis")
_IF_POSSIBLE = (1, 0)  # the first release with the strategy LiveMigrateIfPossible


def find(view: View) -> Iterator[Finding | None]:
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    if kubevirt is None or kubevirt.upgrading or kubevirt.deleting is not None:
        return
    if view.partition == OUTDATED:
        yield from _outdated(view, kubevirt)
    elif view.partition == UNMOVABLE and kubevirt.strategy == "LiveMigrate":
        yield from _unmovable(view, kubevirt)


def _outdated(view: View, kubevirt: KubeVirt) -> Iterator[Finding | None]:
    vmis = view.members(LEFT, OUTDATED, VirtualMachineInstance)
    left = [each for each in vmis if each.deleting is None and not (each.migration and each.migration.failed)]
    if not left or next(iter(view.members(LEFT, OUTDATED, VirtualMachineInstanceMigration)), None) is not None:
        return
    yield None
    reason = "LaunchersNotUpdated" if kubevirt.updates else "LaunchersKept"
    message = _TEXTS.message(
        reason,
        version=kubevirt.version or "KubeVirt's",
        vmis=counted(len(left), "VMI"),
        names=_names(left),
        methods=" and ".join(kubevirt.updates),
    )
    evidence = {"updates": list(kubevirt.updates)} if kubevirt.updates else {}
    yield _finding(reason, kubevirt, message, left, **evidence)


def _unmovable(view: View, kubevirt: KubeVirt) -> Iterator[Finding | None]:
    vmis = view.members(LEFT, UNMOVABLE, VirtualMachineInstance)
    left = [each for each in vmis if each.deleting is None]
    yield None
    if left:
        what = _TEXTS.message("DefaultRefusesEvictions", vmis=counted(len(left), "VMI"), names=_names(left, why=True))
        possible = "LiveMigrateIfPossible" if kubevirt.release >= _IF_POSSIBLE else "None"
        yield _finding("DefaultRefusesEvictions", kubevirt, what, left, possible=possible)


def _names(vmis: list[VirtualMachineInstance], *, why: bool = False) -> str:
    first = nsmallest(NAMED, vmis, key=lambda each: each.ref)
    texts = [f"{each.ref.path} ({each.hindrance})" if why and each.hindrance else each.ref.path for each in first]
    return named(texts, len(vmis), NAMED)


def _finding(
    reason: str, kubevirt: KubeVirt, message: str, vmis: list[VirtualMachineInstance], **evidence: object
) -> Finding:
    return Finding(
        reason=reason,
        severity=_INFO,
        subject=kubevirt.ref,
        related=tuple(each.ref for each in nsmallest(NAMED, vmis, key=lambda each: each.ref)),
        message=message,
        evidence={"vmis": len(vmis), **evidence},
    )


CHECK = Check(
    id="kubevirt_vmis",
    title="VMIs that the KubeVirt object leaves in old launchers, or keeps from being evicted",
    reads=(KubeVirt.KIND, VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND),
    scope=Scope("VMIs that are left as they are", LEFT),
    cause=Cause.SUBJECT,
    reasons=reasons_of("kubevirt_vmis"),
    find=find,
    fields_read=(KubeVirt.KIND, VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND),
    requires=(KubeVirt.KIND, VirtualMachineInstance.KIND),
)
