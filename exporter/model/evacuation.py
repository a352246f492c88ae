"""How far the move of a VMI off its node is, and what holds it up (firmware-eviction B.4, B.5, B.9).

For VMIs that KubeVirt would migrate: what an eviction is answered with says `eviction.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .kinds.pod import Pod, Role
from .kinds.virtual_machine_instance import VirtualMachineInstance
from .kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

__all__ = ["FAILING", "Stall", "Stalled", "failures", "stalled", "underway"]

FAILING = 2  # evacuations in a row that failed: one alone is tried again and says little
_LONGEST_NAME = 63  # the migration webhook puts the name into a label


class Stall(StrEnum):
    NAME_TOO_LONG = "NameTooLong"  # it can never be migrated
    STALE_REQUEST = "StaleEvacuationRequest"  # it is marked for another node than its own: nobody acts on that
    TARGET_UNSCHEDULABLE = "TargetUnschedulable"  # the pod that it is to move into finds no node
    REJECTED = "MigrationPending"  # its migration waits for something else than its turn
    FAILING = "MigrationFailing"
    SEVERAL_PODS = "SeveralPods"  # KubeVirt waits until there is one pod of it
    NOT_STARTED = "NotStarted"  # it is marked, and nobody made a migration


@dataclass(frozen=True)
class Stalled:
    """`migration` and `pod` are those that tell; `failed` are the failed evacuations in a row, the newest first."""

    stall: Stall
    migration: VirtualMachineInstanceMigration | None = None
    pod: Pod | None = None
    failed: tuple[VirtualMachineInstanceMigration, ...] = ()


def underway(migrations: Iterable[VirtualMachineInstanceMigration]) -> VirtualMachineInstanceMigration | None:
    """The newest that has not finished, of those of one VMI."""
    return max((each for each in migrations if not each.finished), key=_age, default=None)


def failures(
    migrations: Iterable[VirtualMachineInstanceMigration], requested: float | None
) -> tuple[VirtualMachineInstanceMigration, ...]:
    """The evacuations that failed since the last success, and since it was marked, the newest first (C-58)."""
    found = []
    for each in sorted((each for each in migrations if each.finished), key=_age, reverse=True):
        if each.phase != "Failed" or (requested is not None and (each.created or 0.0) < requested):
            break
        if each.evacuates:
            found.append(each)
    return tuple(found)


def stalled(
    vmi: VirtualMachineInstance,
    migrations: Sequence[VirtualMachineInstanceMigration],
    pods: Sequence[Pod],
    *,
    tainted: bool,
) -> Stalled | None:
    """What keeps a VMI that would migrate; None where nothing does. The others are its own, wherever they are.

    `tainted` says that its node has KubeVirt's own drain taint, by which all of its VMIs are moved, marked or not.
    """
    moving = underway(migrations)
    if len(vmi.name) > _LONGEST_NAME:
        return Stalled(Stall.NAME_TOO_LONG)
    if moving is not None:
        return _held_up(vmi, moving, migrations, pods)
    if vmi.migrating:
        return None
    if vmi.evacuation not in ("", vmi.node) and not tainted:
        return Stalled(Stall.STALE_REQUEST)
    return _idle(vmi, migrations, pods) if vmi.evacuation or tainted else None


def _held_up(
    vmi: VirtualMachineInstance,
    moving: VirtualMachineInstanceMigration,
    migrations: Sequence[VirtualMachineInstanceMigration],
    pods: Sequence[Pod],
) -> Stalled | None:
    target = next((pod for pod in pods if pod.migration == moving.uid and pod.unschedulable), None)
    failed = failures(migrations, vmi.evacuation_since)
    if len(failed) >= FAILING and (target is not None or not moving.running):
        return Stalled(Stall.FAILING, failed[0], failed=failed)
    if target is not None:
        return Stalled(Stall.TARGET_UNSCHEDULABLE, moving, target)
    return Stalled(Stall.REJECTED, moving) if moving.rejections else None


def _idle(
    vmi: VirtualMachineInstance, migrations: Sequence[VirtualMachineInstanceMigration], pods: Sequence[Pod]
) -> Stalled | None:
    failed = failures(migrations, vmi.evacuation_since)
    if len(failed) >= FAILING:
        return Stalled(Stall.FAILING, failed[0], failed=failed)
    if failed:
        return None  # it is tried again after a back-off
    own = [pod for pod in pods if pod.role is Role.LAUNCHER and pod.vmi_uid == vmi.uid]
    return Stalled(Stall.SEVERAL_PODS if len(own) > 1 else Stall.NOT_STARTED)


def _age(migration: VirtualMachineInstanceMigration) -> tuple[float, str]:
    return migration.created or 0.0, migration.name
