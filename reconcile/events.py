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


def event(plan: Plan, attempt: str, outcome: str, at: float, api_version: str) -> tuple[str, Mapping[str, Any]]:
    """Its namespace, and the Event. Its name is that of the attempt: written twice, it is there once."""
    target = plan.bound_to
    namespace = target.namespace or "default"
    done = outcome == "done"
    # The reason alone: whoever reads Events here need not know what the finding says of other namespaces.
    return namespace, {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": f"{target.name[:_LONGEST_NAME].rstrip('.-')}.{attempt}"},
        "involvedObject": {
            "apiVersion": api_version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": target.uid,
        },
        "reason": "RepairFailed" if not done else "RepairUndone" if plan.undoes else "Repaired",
        "message": f"{plan.remediation}: {plan.effect} {_because(plan)} (attempt {attempt})"[:_LONGEST_MESSAGE],
        "type": "Normal" if done else "Warning",
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
