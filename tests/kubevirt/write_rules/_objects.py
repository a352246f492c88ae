"""What the rules of writes share: where objects are, and how they refer to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Place, State, Taken
from tests.kubevirt.power_rules import ENDED, READ, VMIS
from tests.manifests import Object

__all__ = [
    "CLAIMS",
    "FINALIZER",
    "REVISIONS",
    "VMIMS",
    "Rule",
    "firmware_of",
    "is_",
    "never",
    "refers",
    "runs",
    "uuid_of",
]

FINALIZER = "kubevirt.io/persistent-ipam"
CLAIMS: Place = ("k8s.cni.cncf.io", "ipamclaims")
VMIMS: Place = ("kubevirt.io", "virtualmachineinstancemigrations")
REVISIONS: Place = ("apps", "controllerrevisions")

Rule = Callable[[Taken, Plan, AuditHistory], Iterator[str]]


def is_(state: State, uid: str) -> bool:
    return state.thing is not None and state.thing["metadata"]["uid"] == uid


def firmware_of(thing: Object | None) -> Object:
    """Of a VM or a VMI."""
    spec = (thing or {}).get("spec") or {}
    own = spec.get("template", {}).get("spec", spec)
    return (own.get("domain") or {}).get("firmware") or {}


def uuid_of(thing: Object | None) -> str:
    return str(firmware_of(thing).get("uuid") or "")


def runs(write: Taken, history: AuditHistory) -> bool:
    """Whether the VM that is written had a VMI that has not ended, when it was read for the last time."""
    vmi = history.at((*VMIS, *write.key[2:]), write.at - READ)
    return vmi is not None and vmi.get("status", {}).get("phase") not in (*ENDED, None)


def refers(vm: Object, revision: str) -> bool:
    spec, status = vm.get("spec") or {}, vm.get("status") or {}
    for role in ("instancetype", "preference"):
        kept = (status.get(f"{role}Ref") or {}).get("controllerRevisionRef") or {}
        if revision in ((spec.get(role) or {}).get("revisionName"), kept.get("name")):
            return True
    return False


def never(what: str) -> Rule:
    def rule(_: Taken, __: Plan, ___: AuditHistory) -> Iterator[str]:
        yield what

    return rule
