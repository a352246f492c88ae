"""The Event on an object that something was done to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .moments import moment
from .plan import Plan
from .requests import MANAGER

__all__ = ["event"]

_LONGEST_NAME = 200  # of the object, in the Event's name; a name has 253 characters at most
_LONGEST_MESSAGE = 1024


_REASONS = {"done": "Repaired", "in_use": "ReleasedInUse"}


def event(
    plan: Plan, attempt: str, outcome: str, at: float, api_version: str, why: str = ""
) -> tuple[str, Mapping[str, Any]]:
    """Its namespace, and the Event. Its name is that of the attempt: written twice, it is there once.

    `outcome` is done, failed, or in_use where something uses what was released; `why` then says what.
    """
    target = plan.bound_to
    namespace = target.namespace or "default"
    name = f"{target.name[:_LONGEST_NAME].rstrip('.-')}.{attempt}{'.in-use' if outcome == 'in_use' else ''}"
    # The reason alone: whoever reads Events here need not know what the finding says of other namespaces.
    return namespace, {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": name},
        "involvedObject": {
            "apiVersion": api_version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": target.uid,
        },
        "reason": "RepairUndone" if outcome == "done" and plan.undoes else _REASONS.get(outcome, "RepairFailed"),
        "message": f"{plan.remediation}: {f'{why}.' if why else f'{plan.effect} {_because(plan)}'} (attempt {attempt})"[
            :_LONGEST_MESSAGE
        ],
        "type": "Normal" if outcome == "done" else "Warning",
        "firstTimestamp": moment(at),
        "lastTimestamp": moment(at),
        "count": 1,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
    }


def _because(plan: Plan) -> str:
    if plan.undoes:
        return f"Because: attempt {plan.undoes} is taken back"
    return f"Because: {plan.check} reports {plan.reason}"
