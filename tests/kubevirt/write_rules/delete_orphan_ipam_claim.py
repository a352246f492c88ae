"""An IPAMClaim is deleted only while nobody is there who could use it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import ENDED, PODS, READ, VMIS, VMS
from tests.manifests import Object

from ._objects import FINALIZER

__all__ = ["RULE"]

NETWORKS = "k8s.v1.cni.cncf.io/networks"


def _orphan_claim(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    claim = write.before or {}
    if FINALIZER not in (claim["metadata"].get("finalizers") or ()):
        yield "deletes an IPAMClaim without KubeVirt's finalizer"
    names, namespace = _names(claim), write.key[2]
    for place in (VMS, VMIS):
        for each in history.there(place, namespace, write.at, for_seconds=READ):
            if each["metadata"]["name"] in names:
                yield f"deletes an IPAMClaim of {place[1]} {each['metadata']['name']}, which is there"
    for pod in history.there(PODS, namespace, write.at, for_seconds=READ):
        if pod.get("status", {}).get("phase") in ENDED:
            continue
        notes = pod["metadata"].get("annotations") or {}
        refers = claim["metadata"]["name"] in _referred(notes.get(NETWORKS, ""))
        if refers or (pod["metadata"].get("labels") or {}).get("vm.kubevirt.io/name") in names:
            yield f"deletes an IPAMClaim that pod {pod['metadata']['name']} uses"


def _names(claim: Object) -> set[str]:
    meta = claim["metadata"]
    owners = {each["name"] for each in meta.get("ownerReferences") or () if each["kind"].startswith("VirtualMachine")}
    label = (meta.get("labels") or {}).get("kubevirt.io/vm")
    return owners | ({label} if label else set())


def _referred(text: str) -> list[str]:
    try:
        found = json.loads(text) if text.startswith("[") else []
    except ValueError:
        return []
    return [str(each.get("ipam-claim-reference")) for each in found if isinstance(each, dict)]


RULE = _orphan_claim
