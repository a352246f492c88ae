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
from ...facts.naming import counted
from ...facts.record import Ref
from ...findings.advice import advised
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
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
_TEXTS = Texts("ipam_stack")
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
        yield _found("WebhookMissing", hook, (part.ref,), deployment=part.ref)
    if "ControllerMissing" in down and (nads := _persistent(view)):
        yield _found("ControllerMissing", hook, tuple(nads), nads=counted(len(nads), "NAD"))
    for each in hooks:
        if not each.trusted:
            yield _found("WebhookUntrusted", each.ref)


def _persistent(view: View) -> list[Ref]:
    return sorted(record.ref for record in view.sharing(PERSISTENT, view.partition))


def _found(reason: str, subject: Ref, related: tuple[Ref, ...] = (), **fields: object) -> Finding:
    message = _TEXTS.message(
        reason, controller=CLAIM_CONTROLLER, webhook=CLAIM_WEBHOOK, withheld=_withheld(reason), **fields
    )
    return Finding(reason=reason, severity=Severity.CRITICAL, subject=subject, message=message, related=related)


def _withheld(reason: str) -> str:
    """The reasons of which nothing is reported of VMs and IPAMClaims meanwhile."""
    return ", ".join(EXPLAINED.get(reason, ()))


def _not_ready(part: Deployment, reason: str) -> Finding:
    variant = "" if part.wanted else "scaled_down"
    found = Finding(
        reason=reason,
        severity=Severity.CRITICAL,
        subject=part.ref,
        message=_TEXTS.message(reason, variant, deployment=part.ref, wanted=part.wanted, withheld=_withheld(reason)),
        next=_TEXTS.next(reason, variant),
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
