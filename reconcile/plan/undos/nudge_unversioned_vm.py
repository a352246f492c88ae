"""The annotation means nothing to anybody; what KubeVirt made because of it stays."""

from __future__ import annotations

from exporter.store.kinds.virtual_machine import VirtualMachine

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Taken, Undo


def _weigh(taken: Taken, _: Scene) -> Given | Refused:
    return Given(effect=f"The annotation of {taken.plan.target} goes. A copy that KubeVirt made meanwhile stays.")


UNDO = Undo(id="nudge_unversioned_vm", reads=(VirtualMachine.KIND,), weigh=_weigh)
