"""The Event on an object that something was done to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.facts.record import Ref

from ..plan.plan import Plan, moment
from ..plan.requests import MANAGER

_LONGEST_NAME = 200  # of the object, in the Event's name; a name has 253 characters at most
_LONGEST_MESSAGE = 1024
_DONE, _UNDONE, _FAILED, _IN_USE = REASONS = ("Repaired", "RepairUndone", "RepairFailed", "ReleasedInUse")


def event(plan: Plan, attempt: str, outcome: str, at: float, api_version: str) -> tuple[str, Mapping[str, Any]]:
    """Its namespace, and the Event. Its name is that of the attempt: written twice, it is there once.

    `outcome` is done, failed, or in_use where something uses what was released.
    """
    # No names of others: whoever reads Events here need not know what finding and ledger say of other namespaces.
    said = f"{plan.remediation}: {_says(plan, attempt, outcome)} (attempt {attempt})"
    suffix = f"{attempt}{'.in-use' if outcome == 'in_use' else ''}"
    return event_on(plan.bound_to, api_version, suffix, _reason(plan, outcome), said, at, warns=outcome != "done")


def event_on(
    target: Ref, api_version: str, suffix: str, reason: str, message: str, at: float, *, warns: bool = False
) -> tuple[str, Mapping[str, Any]]:
    """Its namespace, and the Event on an object. `suffix` makes its name unique."""
    namespace = target.namespace or "default"
    return namespace, {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": f"{target.name[:_LONGEST_NAME].rstrip('.-')}.{suffix}"},
        "involvedObject": {
            "apiVersion": api_version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": target.uid,
        },
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "type": "Warning" if warns else "Normal",
        "firstTimestamp": moment(at),
        "lastTimestamp": moment(at),
        "count": 1,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
    }


def _reason(plan: Plan, outcome: str) -> str:
    if outcome == "done":
        return _UNDONE if plan.undoes or not plan.check else _DONE
    return _IN_USE if outcome == "in_use" else _FAILED


def _says(plan: Plan, attempt: str, outcome: str) -> str:
    if outcome == "in_use":
        who = f"who it is: steward reconcile ledger {attempt}"
        return f"something came to use what it released. Stop that, and start it again to get an address; {who}"
    return f"{plan.effect} {_because(plan)}"


def _because(plan: Plan) -> str:
    if plan.undoes:
        return f"Because: attempt {plan.undoes} is taken back"
    if not plan.check:  # no finding asks for it, but a person
        return f"Because: {plan.why.removesuffix('.')}"
    return f"Because: {plan.check} reports {plan.reason}"
