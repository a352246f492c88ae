"""An annotation that says nothing but which IPAMClaims it was written for: what matters is the event of the object.

KubeVirt's ipam-extensions acts on events of VMs, VMIs and pods alone, and not on those of IPAMClaims (pkg/
vmnetworkscontroller, pkg/vminetworkscontroller, and the webhook of pkg/ipamclaimswebhook).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.facts.record import Ref
from exporter.store.kind import ApiKind

from ...annotations import PREFIX
from ...guards import guard
from ...patterns import PRESENT
from ...plan import Add, Op, Patch, Refused, Replace, Test, escaped
from ...remediation import Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field
from .._grounds import table

NUDGED = f"{PREFIX}nudged"
"""Of a VM, VMI or pod: the IPAMClaims for which it was written, by UID, or by name where there is none, with spaces
between.
"""
_PATH = f"/metadata/annotations/{escaped(NUDGED)}"
NUDGED_FIELD = Field(_PATH, to=PRESENT)


def nudged(meta: Mapping[str, Any], what: str) -> bool:
    """Whether it was written for this IPAMClaim already."""
    note = table(meta.get("annotations")).get(NUDGED)
    return isinstance(note, str) and what in note.split()


@guard({"not_tried": f"the object has no annotation {NUDGED} for this IPAMClaim yet"})
def tried(ref: Ref, whole: Mapping[str, Any], what: str) -> Refused | None:
    if not nudged(table(whole.get("metadata")), what):
        return None
    return Refused("not_tried", f"{ref} was annotated before without effect. Check the controllers' logs")


def nudge(target: Ref, meta: Mapping[str, Any], what: str) -> Patch:
    """The time of the write is the API server's, in managedFields: a time in the value would make it another plan at
    each look.
    """
    notes = table(meta.get("annotations"))
    ops: tuple[Op, ...]
    if not notes:
        ops = (Add("/metadata/annotations", {NUDGED: what}),)
    elif NUDGED not in notes:
        ops = (Add(_PATH, what),)
    else:
        ops = (Test(_PATH, notes[NUDGED]), Replace(_PATH, f"{notes[NUDGED]} {what}".strip()))
    return Patch(target=target, ops=ops)


# How an annotation is taken back that was written for its event alone.


def annotation_only(remediation: str, kind: ApiKind[Any], then: str) -> Undo:
    """The undo of a remediation that annotates objects of this kind; `then` are sentences about what follows."""

    @guard(reads=(kind,))
    def weigh(taken: UndoRequest, _: Scene) -> UndoEffect:
        return UndoEffect(effect=f"{taken.plan.target} no longer has the annotation. {then}")

    return Undo(id=remediation, weigh=weigh)
