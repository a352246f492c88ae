"""The components behind persistent IPs: KubeVirt's IPAM controller, its webhook, OVN-Kubernetes' control plane.

While the IPAM controller is down no VM on any network starts (its webhook rejects every launcher pod), and VMs that are
deleted meanwhile leave stuck IPAMClaims behind. What such a failure explains of VMs and IPAMClaims is withheld while it
lasts, as the finding says, and is reported with its grace once the components run.

Where several namespaces have a component, that of its project's namespace counts, else the one that had it first:
anybody may call a Deployment so.

Not seen here: a component under another name than its project gives it; one that is ready and does nothing; whether a
component is missing where no Deployment of OVN-Kubernetes' control plane is seen either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from ...domain.acts import NOTHING_FORBIDDEN
from ...facts.record import Ref
from ...findings.advice import advised
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import PERSISTENT, STACK
from ...store.kinds.components import (
    CLAIM_CONTROLLER,
    CLAIM_WEBHOOK,
    NETWORK_CONTROLLER,
    Deployment,
    MutatingWebhookConfiguration,
    own_parts,
)
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ._explained import EXPLAINED, broken

_REASONS = reasons_of("ipam_stack")
_SCALED_DOWN = {
    "ControllerNotReady": "Find out who scaled the Deployment to 0 and why, then scale it up.",
    "ControlPlaneNotReady": "Find out who scaled the Deployment to 0 and why; make sure that "
    "VMIPAMClaimAddressInvalid, VMNetworkConfigConflict and VMNetworkMisconfigured do not fire before scaling it up.",
}
_SCALE = "kubectl scale deployments.apps -n NAMESPACE NAME --current-replicas=0 --replicas=2"


def find(view: View) -> Iterator[Finding]:
    parts = sorted(own_parts(view.all(Deployment)), key=lambda part: part.ref)
    hooks = [each for each in view.all(MutatingWebhookConfiguration) if each.claims]
    down = set(broken(parts, hooks))
    for role, reason in ((CLAIM_CONTROLLER, "ControllerNotReady"), (NETWORK_CONTROLLER, "ControlPlaneNotReady")):
        if reason in down:
            asked = role == CLAIM_CONTROLLER and bool(hooks)
            found = _not_ready(next(part for part in parts if part.role == role), reason)
            yield found if asked else msgspec.structs.replace(found, forbids=NOTHING_FORBIDDEN)
    hook = Ref("MutatingWebhookConfiguration", "", CLAIM_WEBHOOK)
    if "WebhookMissing" in down:
        part = next(part for part in parts if part.role == CLAIM_CONTROLLER)
        yield _found(
            "WebhookMissing", hook, f"{part.ref} exists, and no webhook {CLAIM_WEBHOOK} is registered", (part.ref,)
        )
    if "ControllerMissing" in down and (nads := _persistent(view)):
        what = f"{len(nads)} {'NADs allow' if len(nads) > 1 else 'NAD allows'} persistent IPs, and neither "
        what += f"{CLAIM_CONTROLLER} nor its webhook {CLAIM_WEBHOOK} is installed"
        yield _found("ControllerMissing", hook, what, tuple(nads))
    for each in hooks:
        if not each.trusted:
            what = f"Webhook {CLAIM_WEBHOOK} has no caBundle: the API server can't call it"
            yield _found("WebhookUntrusted", each.ref, what)


def _persistent(view: View) -> list[Ref]:
    return sorted(record.ref for record in view.sharing(PERSISTENT, view.partition))


def _found(reason: str, subject: Ref, what: str, related: tuple[Ref, ...] = ()) -> Finding:
    return Finding(
        reason=reason, severity=Severity.CRITICAL, subject=subject, message=what + _withheld(reason), related=related
    )


def _withheld(reason: str) -> str:
    reasons = EXPLAINED.get(reason, ())
    if not reasons:
        return ""
    return f"; until it works, what follows from it is not reported of VMs and IPAMClaims: {', '.join(reasons)}"


def _not_ready(part: Deployment, reason: str) -> Finding:
    found = Finding(
        reason=reason,
        severity=Severity.CRITICAL,
        subject=part.ref,
        message=f"{part.ref} of {part.role} has no ready replica "
        + (f"({part.wanted} wanted)" if part.wanted else "(scaled to 0)")
        + _withheld(reason),
        next="" if part.wanted else _SCALED_DOWN[reason],
        since=part.since,
        since_source=Since.CONDITION if part.since is not None else Since.FIRST_SEEN,
        evidence={"role": part.role, "wanted": part.wanted},
    )
    if part.wanted or part.role == NETWORK_CONTROLLER:  # what may make that one fail has to be ruled out first
        return found
    declared = _REASONS[reason]
    return advised(found, replace(declared, commands=(*declared.commands, _SCALE)))


CHECK = Check(
    id="ipam_stack",
    title="The components that create and honour IPAMClaims",
    reads=(Deployment.KIND, MutatingWebhookConfiguration.KIND, NetworkAttachmentDefinition.KIND),
    scope=Scope("the whole cluster", STACK, (PERSISTENT,), whole=True),
    cause=Cause.SUBJECT,
    reasons=_REASONS,
    find=find,
    requires=(IPAMClaim.KIND,),
)
