"""How a departure is made: what all of them carry of their VMI."""

from __future__ import annotations

from datetime import UTC, datetime

from ....store.text.naming import NAMED, sentence, subject_first
from ....store.text.since import Time
from .remedies import NOTHING, REMEDIES
from .shape import Departure, DrainState
from .vmi import VMIContext

_SHARED = {"NotMigratableAfterRequest": "NotMigratable"}  # reasons with the remedy of another one


def of(
    own: VMIContext,
    state: DrainState,
    reason: str,
    why: str,
    case: str = "",
    *,
    since: Time | None = None,
    due: bool | None = None,
    to: str = "",
    values: dict[str, str] | None = None,
    **evidence: object,
) -> Departure:
    """`why` is a clause about the VMI, and made a sentence. `case` picks one of the remedies of a reason."""
    vmi, node = own.vmi, own.node
    shared = _SHARED.get(reason, reason)
    remedy = REMEDIES.get(f"{shared}/{case}") or REMEDIES.get(shared, NOTHING)
    named = {"NAMESPACE": vmi.namespace, "NAME": vmi.name, "VMNAME": vmi.name, "UID": vmi.uid, "NODE": node.name}
    return Departure(
        vmi,
        state,
        reason,
        sentence(subject_first("VirtualMachineInstance", why)),
        remedy,
        values=named | {"EVACUATIONNODENAME": vmi.evacuation} | (values or {}),
        since=own.since if since is None else since,
        evidence=_facts(own) | evidence,
        due=bool(vmi.evacuation) or node.draining if due is None else due,
        strategy=own.strategy,
        to=to,
        vmi=vmi,
        pod=own.pod,
    )


def _facts(own: VMIContext) -> dict[str, object]:
    vmi, kubevirt = own.vmi, own.node.drain.kubevirt
    default = "kubevirt" if kubevirt is not None and kubevirt.strategy else "builtin"
    requested, source = own.since if vmi.evacuation else (None, None)
    return {
        "strategy": own.strategy,
        "strategySource": "vmi" if vmi.strategy else default,
        "evacuationNodeName": vmi.evacuation,
        "requestedSince": text(requested),
        "requestedSinceSource": source.value if source is not None and requested is not None else "",
        "drain": list(own.node.signals[:NAMED]),
        "hotplugPods": own.plugged(),
    }


def text(moment: float | None) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment is not None else ""
