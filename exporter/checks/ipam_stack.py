"""The components behind persistent IPs: KubeVirt's IPAM controller, its webhook, OVN-Kubernetes' control plane.

While the IPAM controller is down no VM on any network starts (its webhook rejects every launcher pod), and VMs that are
deleted meanwhile leave stuck IPAMClaims behind. Other checks leave out what is only a consequence of that.

Not seen here: a component under another name than its project gives it; one that is ready and does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..findings import Finding, Severity, Since
from ..model.kinds import deployment, ipam_claim, mutating_webhook_configuration
from ..model.kinds.deployment import CLAIM_CONTROLLER, NETWORK_CONTROLLER, Deployment
from ..model.kinds.mutating_webhook_configuration import CLAIM_WEBHOOK, MutatingWebhookConfiguration
from ..model.record import Ref
from .advice import advised
from .base import Check, Family, Reason, View
from .scopes import PER_CLUSTER

__all__ = ["CHECK"]

_FAMILY = Family(
    "kubevirt_ipam_stack_degraded",
    "A component that creates or honours IPAMClaims does not work.",
    ("namespace", "name", "severity", "reason"),
)


def _reason(meaning: str, next_step: str, commands: tuple[str, ...], alert: str) -> Reason:
    return Reason((Severity.CRITICAL,), meaning, _FAMILY, grace=300.0, next=next_step, commands=commands, alert=alert)


_DEPLOYMENT = (
    "kubectl get deployments.apps -n NAMESPACE NAME -o yaml",
    "kubectl get pods -n NAMESPACE -o wide",
    "kubectl get events -n NAMESPACE --sort-by=.lastTimestamp",
    "kubectl logs -n NAMESPACE deployments/NAME --all-containers --tail=100",
)
_WEBHOOK = (
    (
        "kubectl get mutatingwebhookconfigurations.admissionregistration.k8s.io -o custom-columns="
        "'CONFIGURATION:.metadata.name,WEBHOOKS:.webhooks[*].name,CA:.webhooks[*].clientConfig.caBundle' "
        "| grep -F -e ipam-claims.k8s.cni.cncf.io"
    ),
    (
        "kubectl get deployments.apps -A "
        "| grep -F -e kubevirt-ipam-controller -e cluster-network-addons-operator -e cert-manager"
    ),
)
_REASONS = {
    "ControllerNotReady": _reason(
        "KubeVirt's IPAM controller has no ready replica: no VM starts, and IPAMClaims of deleted VMs get stuck.",
        "Look at the events and logs of its pods: mostly the image, the webhook's certificate or RBAC.",
        _DEPLOYMENT,
        "KubeVirtIPAMControllerDown",
    ),
    "ControlPlaneNotReady": _reason(
        "OVN-Kubernetes' control plane has no ready replica: no address is allocated or released.",
        "Look at the last lines of its log for the network or IPAMClaim that it fails over, and repair that.",
        _DEPLOYMENT,
        "VMNetworkControlPlaneDown",
    ),
    "WebhookMissing": _reason(
        "The IPAM controller runs and its webhook is not registered: VMs start without referring to their IPAMClaims.",
        "Apply the manifests of the installed version again, or restart the operator that installed them.",
        _WEBHOOK,
        "KubeVirtIPAMWebhookBroken",
    ),
    "WebhookUntrusted": _reason(
        "The webhook has no CA bundle, so the API server can't call it: no launcher pod can be created.",
        "Check cert-manager or the operator that injects the CA bundle, and restart it.",
        _WEBHOOK,
        "KubeVirtIPAMWebhookBroken",
    ),
}
_SCALED_DOWN = {
    "ControllerNotReady": "Find out who scaled it to 0 and why, then scale it up.",
    "ControlPlaneNotReady": "Find out who scaled it to 0 and why; make sure that VMIPAMClaimIPOutsidePool, "
    "VMNetworkConfigConflict and VMNetworkMisconfigured do not fire before scaling it up.",
}
_SCALE = "kubectl scale deployments.apps -n NAMESPACE NAME --current-replicas=0 --replicas=2"


def find(view: View) -> Iterator[Finding]:
    parts = sorted(view.all(Deployment), key=lambda part: part.ref)
    for role, reason in ((CLAIM_CONTROLLER, "ControllerNotReady"), (NETWORK_CONTROLLER, "ControlPlaneNotReady")):
        found = [part for part in parts if part.role == role]
        if found and not any(part.ready for part in found):
            yield _not_ready(found[0], reason)
    hooks = view.all(MutatingWebhookConfiguration)
    controllers = [part for part in parts if part.role == CLAIM_CONTROLLER]
    if controllers and not hooks:
        yield Finding(
            reason="WebhookMissing",
            severity=Severity.CRITICAL,
            subject=Ref("MutatingWebhookConfiguration", "", CLAIM_WEBHOOK),
            message=f"{controllers[0].ref} exists, and no webhook {CLAIM_WEBHOOK} is registered",
            related=(controllers[0].ref,),
        )
    for hook in hooks:
        if not hook.trusted:
            yield Finding(
                reason="WebhookUntrusted",
                severity=Severity.CRITICAL,
                subject=hook.ref,
                message=f"webhook {CLAIM_WEBHOOK} has no caBundle: the API server can't call it",
            )


def _not_ready(part: Deployment, reason: str) -> Finding:
    found = Finding(
        reason=reason,
        severity=Severity.CRITICAL,
        subject=part.ref,
        message=f"{part.ref} of {part.role} has no ready replica "
        + (f"({part.wanted} wanted)" if part.wanted else "(scaled to 0)"),
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
    reads=(deployment.KIND, mutating_webhook_configuration.KIND),
    scope=PER_CLUSTER,
    reasons=_REASONS,
    find=find,
    about=(ipam_claim.KIND,),
)
