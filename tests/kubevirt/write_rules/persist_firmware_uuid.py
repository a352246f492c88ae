"""The UUID that is written is that of the guest, or the one that it would get."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.facts.firmware import legacy
from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import VMIS, VMS
from tests.manifests import Object

from ._objects import is_, uuid_of

__all__ = ["RULE"]


def _persisted(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    name, uid = write.key[3], (write.before or {})["metadata"]["uid"]
    written, vmi = uuid_of(write.after), history.at((*VMIS, *write.key[2:]), write.at)
    owned = vmi is not None and any(each["uid"] == uid for each in vmi["metadata"].get("ownerReferences") or ())
    if vmi is not None and owned and written.lower() != uuid_of(vmi).lower():
        yield f"writes UUID {written}, and the VMI runs with {uuid_of(vmi)}"
    states = history.states((*VMIS, *write.key[2:]))
    if vmi is None and written.lower() != legacy(name) and all(uuid_of(each.thing) != written for each in states):
        yield f"writes UUID {written}, which is neither of the name nor of a VMI"
    if vmi is not None and (meant := _edited(write, vmi, history)):
        yield f"takes back UUID {meant}, which somebody wrote while the VMI ran"


def _edited(write: Taken, vmi: Object, history: AuditHistory) -> str:
    """The UUID in the spec before the write, if a person wrote it after the VMI began; empty where none did."""
    found = uuid_of(write.before)
    if not found:
        return ""
    began = history.states((*VMIS, *write.key[2:]))
    since = next(each.since for each in began if is_(each, vmi["metadata"]["uid"]))
    states = history.states((*VMS, *write.key[2:]))
    for before, state in zip([None, *states], states, strict=False):
        old = uuid_of(before.thing) if before is not None else ""
        if since < state.since <= write.at and uuid_of(state.thing) == found != old and state.by == "admin":
            return found
    return ""


RULE = _persisted
