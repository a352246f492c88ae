"""Without the annotation nobody sees on the VMI which node it was paused on."""

from __future__ import annotations

from exporter.store.kinds import namespace, virtual_machine_instance

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import ending
from ..undo import Given, Taken, Undo

__all__ = ["UNDO"]


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    if refused := ending(scene, ref, scene.of(ref) or {}):
        return refused
    return Given(effect=f"The annotation is gone. Nothing else of {ref} changes.")


UNDO = Undo(
    id="annotate_paused_vmi",
    reads=(virtual_machine_instance.KIND, namespace.KIND),
    weigh=_weigh,
    preconditions={
        "not_being_deleted": "the VMI is not being deleted",
        "namespace_active": "its namespace is not being deleted",
    },
)
