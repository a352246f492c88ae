"""Why something becomes of a VM, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.evacuation import Stall, Stalled, failures
from ...model.eviction import Answer, Refusal, Verdict
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

__all__ = ["budgeted", "hindrance", "stalled", "turn", "unprotected"]

_HELD_UP = {
    "migrationRejectedByResourceQuota": "a quota leaves no room for a second pod",
    "migrationBlockedByBackup": "its backup runs",
    "migrationBlockedByUtilityVolumes": "it has utility volumes",
}


def hindrance(vmi: VirtualMachineInstance) -> str:
    """The reason and the message of its condition LiveMigratable."""
    said = ": ".join(each for each in (vmi.hindrance, vmi.hindered) if each)
    return f"it has to migrate and can't: {said or 'its condition LiveMigratable says no more'}"


def unprotected(vmi: VirtualMachineInstance, strategy: str) -> str:
    own = "" if vmi.strategy else ", KubeVirt's default"
    if strategy == "LiveMigrateIfPossible":
        return f"its strategy is {strategy}{own}, and it can't migrate: {vmi.hindrance or 'not evaluated yet'}"
    return f"its strategy is {strategy}{own}: an eviction ends the guest"


def budgeted(verdict: Verdict, pod: Pod) -> str:
    names = ", ".join(each.name for each in verdict.pdbs)
    if verdict.answer is Answer.PDBS:
        return f"PDBs {names} all select its pod: the API server answers with an error and a drain ends"
    (pdb,) = verdict.pdbs
    if verdict.refusal is Refusal.SYNC_FAILED:
        asked = f"maxUnavailable {pdb.max_unavailable}" if pdb.max_unavailable else f"{pdb.min_available}"
        return f"PDB {names} can never let it go: {asked} can't be computed for pods that nothing scales"
    if verdict.refusal is Refusal.BEHIND:
        return f"PDB {names} was changed, and its controller has not seen that yet"
    counts = f"it wants {pdb.desired} of {pdb.expected} ready, and {pdb.healthy} are"
    if verdict.refusal is Refusal.MIN_AVAILABLE_TOO_HIGH:
        return f"PDB {names} never lets it go: {counts}"
    return f"PDB {names} does not let it go now: {counts}{'' if pod.ready else '; this one is not ready itself'}"


def stalled(vmi: VirtualMachineInstance, held: Stalled) -> str:
    if held.stall is Stall.NAME_TOO_LONG:
        return f"its name has {len(vmi.name)} characters, and a migration takes 63 at most"
    if held.stall is Stall.STALE_REQUEST:
        return (
            f"it is marked to leave {vmi.evacuation} and is on {vmi.node}: every eviction is refused, nothing moves it"
        )
    if held.stall is Stall.TARGET_UNSCHEDULABLE and held.pod is not None:
        return f"the pod that it is to move into finds no node: {held.pod.unschedulable}"
    if held.stall is Stall.REJECTED and held.migration is not None:
        causes = " and ".join(_HELD_UP.get(each, each) for each in held.migration.rejections)
        return f"its migration {held.migration.name} waits: {causes}"
    if held.stall is Stall.FAILING:
        return f"its last {len(held.failed)} evacuations failed, the last one with: {_failure(vmi, held.failed)}"
    if held.stall is Stall.SEVERAL_PODS:
        return "it is to leave, and KubeVirt waits until it has just one pod"
    return "it is to leave, and there is no migration of it; normal for a few seconds"


def _failure(vmi: VirtualMachineInstance, failed: Sequence[VirtualMachineInstanceMigration]) -> str:
    own = vmi.migration.failure if vmi.migration is not None and vmi.migration.failed else ""
    return failed[0].failure or own or "no reason"


def turn(
    vmi: VirtualMachineInstance,
    moving: VirtualMachineInstanceMigration | None,
    migrations: Sequence[VirtualMachineInstanceMigration],
    *,
    tainted: bool,
) -> str:
    failed = failures(migrations, vmi.evacuation_since)
    once = f"; its last one failed: {_failure(vmi, failed)}" if failed else ""
    if moving is not None:
        return f"its migration waits for its turn{once}"
    if vmi.evacuation or tainted:
        return f"it is to leave, and waits for its turn{once}"
    return "it migrates when it is evicted"
