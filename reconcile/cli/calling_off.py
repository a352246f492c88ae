"""The evacuations of one node: whom it asks to leave, and whether it is closed, read afresh each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from exporter.domain.drains.eviction import cordoned, drain_taints
from exporter.findings.finding import Finding, Severity, fingerprint
from exporter.kube.errors import AbsentError
from exporter.store.decode import ObjectDecoder
from exporter.store.kind import ApiKind
from exporter.store.kinds import kube_virt, node, node_maintenance, virtual_machine_instance
from exporter.store.record import Ref

from ..confirm.confirm import Confirmed, Hint
from ..confirm.reading import Reads, document
from ..observe.source import Found
from ..plan.plan import Call, Refused
from ..plan.remediations.drains.cancel_stale_evacuation import REMEDIATION
from .session import Session

_CHECK, _REASONS = next(iter(REMEDIATION.answers.items()))


async def asked_to_leave(reads: Reads, name: str) -> list[Ref]:
    """The VMIs whose evacuation request names a node, wherever they are, in order. Raises KubeError."""
    kind = virtual_machine_instance.KIND
    objects = map(document, await reads.listed(kind, await reads.served(kind), None))
    return sorted(_ref(each) for each in objects if _table(each, "status").get("evacuationNodeName") == name)


def _table(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = whole.get(name)
    return found if isinstance(found, Mapping) else {}


def _ref(whole: Mapping[str, Any]) -> Ref:
    meta = _table(whole, "metadata")
    return Ref("VirtualMachineInstance", *(str(meta.get(each) or "") for each in ("namespace", "name", "uid")))


async def closed(reads: Reads, name: str) -> str:
    """Why a drain of a node may wait for its VMIs to leave, one clause; empty where nothing says so. Raises KubeError,
    ValueError where it does not exist.
    """
    raw = await reads.get(node.KIND, await reads.served(node.KIND), "", name)
    if raw is None:
        raise ValueError(f"node {name} does not exist, and KubeVirt looks it up: a request for it can't be cancelled")
    found = _record(node.KIND, raw)
    if cordoned(found):
        return f"node {name} is cordoned"
    kubevirts = await _all(reads, kube_virt.KIND)
    if taints := [taint for each in (*kubevirts, None) for taint in drain_taints(found, each)]:
        return f"node {name} has taint {taints[0]}"
    maintained = [each for each in await _all(reads, node_maintenance.KIND) if each.node == name]
    standing = sorted(each.name for each in maintained if each.deleting is None)
    return f"NodeMaintenance {standing[0]} is for node {name}" if standing else ""


async def _all(reads: Reads, kind: ApiKind[Any]) -> list[Any]:
    try:
        version = await reads.served(kind)
    except AbsentError:
        return []
    return [_record(kind, raw) for raw in await reads.listed(kind, version, None)]


def _record(kind: ApiKind[Any], raw: bytes | msgspec.Raw) -> Any:
    """Raises ValueError for an object that can't be decoded: nobody knows what it says."""
    seen = ObjectDecoder(kind).object(raw)
    if seen.why:
        raise ValueError(f"{kind.name} {seen.name} can't be decoded: {seen.why}")
    return seen.record


async def planned(at: Session, name: str, vmi: Ref) -> tuple[Found, Confirmed | Refused]:
    """The plan that cancels the request of a VMI for a node, by whichever of its reasons the check reports; else why
    there is none.
    """
    refused: list[tuple[Found, Refused]] = []
    for reason in _REASONS:
        finding = Finding(reason=reason, severity=Severity.WARNING, subject=vmi, message="")
        found = Found(Hint(_CHECK, reason, vmi, fingerprint(_CHECK, finding)), finding.severity.value, "", vm=vmi.name)
        made = await at.planned(found, REMEDIATION)
        step = made.plan.step if isinstance(made, Confirmed) else None
        if isinstance(made, Refused):
            refused.append((found, made))
        elif isinstance(step, Call) and step.body.get("evacuationNodeName") == name:
            return found, made
        else:
            refused.append((found, Refused("finding_holds", f"{vmi} is asked to leave another node by now")))
    return min(refused, key=lambda each: each[1].precondition == "finding_holds")  # which says least
