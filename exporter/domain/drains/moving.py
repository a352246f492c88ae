"""What is the matter with the migrations of one VMI, whoever wants it to move, and whether two of its pods run.

What a VMI that has to leave its node waits for is said of its departure; here are all others: migrations by hand, by an
update of KubeVirt, of volumes or of what was plugged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...facts.times import Since, Time
from ...store.indexes.drains import PART
from ...store.indexes.networks import vm_key
from ...store.kinds.node import Node
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from .departure.context import Departure, DrainContext, NodeContext
from .departure.hanging import hanging
from .departure.migrations import FAILING, failing, held, in_turn, overdue
from .departure.vmi import VMIContext

_WAITS = ("", "Pending")


def moving(drain: DrainContext, vmi: VirtualMachineInstance) -> VMIContext:
    """One VMI with its own pods and migrations, without the others of its node."""
    parts = list(drain.view.sharing(PART, vm_key(vmi.namespace, vmi.name)))
    return VMIContext(
        NodeContext(
            drain,
            vmi.node,
            node=drain.view.named(Node, "", vmi.node),
            vmis=[vmi],
            pods=[each for each in parts if isinstance(each, Pod)],
            migrations=[each for each in parts if isinstance(each, VirtualMachineInstanceMigration)],
        ),
        vmi,
    )


def troubles(own: VMIContext) -> Iterator[Departure]:
    """What keeps it from moving, the most specific reason only, and that its last migrations failed."""
    failed = own.failures
    if len(failed) >= FAILING:
        yield replace(failing(own, failed), since=_first(failed))
    if own.open is None:
        return
    made = hanging(own) or held(own, own.open)
    # KubeVirt waits before it tries again what it has made itself, which MigrationFailing says better.
    backs_off = bool(own.open.made_for and failed)
    if made is None and own.open.phase in _WAITS and own.target is None and not backs_off:
        made = overdue(in_turn(own, running=True))
    if made is not None:
        yield made


def _first(failed: list[VirtualMachineInstanceMigration]) -> Time:
    """When the first of them in a row ended."""
    oldest = failed[-1]
    if oldest.phase_since is not None:
        return oldest.phase_since, Since.PHASE
    return oldest.created, Since.CREATION


def doubled(own: VMIContext) -> tuple[list[Pod], Time]:
    """The launcher pods in which the guest may run beside the one that it is in, and since when that is no hand-over
    any more. None while a migration of it is under way, which has two pods by itself; one that waits is not.

    A source pod ends within seconds after the migration. A target pod that was never used ends after five minutes,
    when virt-launcher gives up waiting for its guest (kubevirt/kubevirt#5482).
    """
    last, pod = own.vmi.migration, own.pod
    if pod is None or _under_way(own) or last is None or last.ended is None or own.vmi.migrating:
        return [], (None, Since.FIRST_SEEN)
    running = (each for each in own.besides if each.phase == "Running" and each.deleting is None)
    left = [each for each in running if not each.guest_ended]
    youngest = max((each.created or 0.0 for each in (*left, pod)), default=0.0)
    return left, (max(last.ended, youngest), Since.PHASE)


def _under_way(own: VMIContext) -> bool:
    """Whether a migration has made its target pod, or may have by now: KubeVirt makes none while two pods run, so the
    next one waits for the very pod that is left.
    """
    return own.open is not None and (own.open.phase not in _WAITS or own.target is not None)
