"""Says who set the finalizer that still holds an IPAMClaim in deletion, and what removes it, once nobody uses that.

Nothing is written: no object of a cluster says which controller a finalizer is of. The field manager that set it is a
name that anybody may give, its Deployment may be scaled to zero for a moment, or run in another cluster, as with a
hosted control plane; and what the controller has left to do is never done once its finalizer is gone. So whether it is
gone for good is for a person to say. OVN-Kubernetes releases the addresses with the last finalizer, even those that a
pod has (go-controller/pkg/persistentips); so the change is proposed only while no VM, VMI, pod or other IPAMClaim can
use them, and KubeVirt's own finalizer is removed first.

Undo: none. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim

from ...guards import guard, refused
from ...managed_fields import writers
from ...plan import Patch, Plan, Proposal, Refused
from ...remediation import Remediation, Scene
from .._grounds import table, texts
from ._ipam_claims import in_use, migrating, named_live, restored, shared
from ._releasing import had_time


@guard({"kubevirt_let_go": "the IPAMClaim no longer has KubeVirt's own finalizer"})
def _held(_: Scene, claim: IPAMClaim) -> Refused | None:
    if FINALIZER in claim.finalizers:
        return Refused("kubevirt_let_go", f"{claim.ref} still has KubeVirt's finalizer, which is removed first")
    return None


_GUARDS = (_held, named_live, had_time, migrating, restored, in_use, shared)


@guard(*_GUARDS)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, claim = scene.of(ref), scene.named(IPAMClaim, ref.namespace, ref.name)
    if whole is None or claim is None:
        return Refused("same_object", f"{ref} does not exist")
    names, ips = ", ".join(claim.finalizers), ", ".join(claim.hosts) or "no address"
    return refused(_GUARDS, scene, claim) or REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=()),
        effect=f"Nothing is written. The owner of {names} must remove it or agree to its removal. With the last "
        f"finalizer, network {claim.network or '(none)'} releases {ips}.",
        proposal=Proposal(owner=_setter(whole), where=_where(names), patch=_patch(whole)),
    )


def _setter(whole: Mapping[str, Any]) -> str:
    names = dict.fromkeys(each.manager for each in writers(whole, "/metadata/finalizers"))
    return f"the client that writes as {' or '.join(names)}, by managedFields" if names else "the client that set it"


def _where(names: str) -> str:
    return (
        f"Let the controller of {names} finish. If it was permanently removed from the cluster and its administrators "
        "agree, remove the finalizer by a JSON patch."
    )


def _patch(whole: Mapping[str, Any]) -> str:
    """As a JSON patch, bound to the object as it was read; none where several controllers have to be asked."""
    meta = table(whole.get("metadata"))
    finalizers = texts(meta.get("finalizers"))
    if len(finalizers) != 1:
        return ""
    path = "/metadata/finalizers"
    ops = [
        {"op": "test", "path": "/metadata/uid", "value": meta.get("uid")},
        {"op": "test", "path": path, "value": finalizers},
        {"op": "remove", "path": path},
    ]
    return msgspec.json.format(msgspec.json.encode(ops), indent=2).decode()


REMEDIATION = Remediation(
    id="handle_foreign_finalizer",
    title="Name who has to release an IPAMClaim that another finalizer holds",
    plan=_plan,
    proposes_only=True,
)
