"""The parts that make and honour IPAMClaims: the controller, its webhook, the network's control plane.

While the controller is away no VM on any network starts (its webhook refuses every launcher pod), and VMs
that are deleted meanwhile leave stuck claims behind. Other checks leave out what is only a consequence of that.

Not seen here: a part that runs under another name than its project gives it; one that is ready and does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity, Since
from ..model.kinds import deployment, ipam_claim, mutating_webhook_configuration
from ..model.kinds.deployment import CLAIM_CONTROLLER, NETWORK_CONTROLLER, Deployment
from ..model.kinds.mutating_webhook_configuration import CLAIM_WEBHOOK, MutatingWebhookConfiguration
from ..model.record import Ref
from .base import Check, Family, Reason, View
from .scopes import PER_CLUSTER

__all__ = ["CHECK"]

_FAMILY = Family(
    "kubevirt_ipam_stack_degraded",
    "A part that makes or honours IPAMClaims does not work.",
    ("namespace", "name", "severity", "reason"),
)
_REASONS = {
    "ControllerNotReady": Reason(
        (Severity.CRITICAL,),
        "The controller of IPAMClaims has no ready replica: no VM starts, and claims of deleted ones get stuck.",
        _FAMILY,
        "C-23",
        300.0,
    ),
    "ControlPlaneNotReady": Reason(
        (Severity.CRITICAL,),
        "OVN-Kubernetes' control plane has no ready replica: no address is given out or taken back.",
        _FAMILY,
        "C-23",
        300.0,
    ),
    "WebhookMissing": Reason(
        (Severity.CRITICAL,),
        "The controller runs and its webhook is not registered: VMs start without referring to their claims.",
        _FAMILY,
        "C-23",
        300.0,
    ),
    "WebhookUntrusted": Reason(
        (Severity.CRITICAL,),
        "The webhook has no CA bundle, so the API server can't call it: no launcher pod can be made.",
        _FAMILY,
        "C-23",
        300.0,
    ),
}


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
            message=f"{controllers[0].ref} is there, and no webhook {CLAIM_WEBHOOK} is registered",
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
    wanted = f"{part.wanted} wanted" if part.wanted else "scaled to 0"
    return Finding(
        reason=reason,
        severity=Severity.CRITICAL,
        subject=part.ref,
        message=f"{part.ref} of {part.role} has no ready replica ({wanted})",
        since=part.since,
        since_source=Since.CONDITION if part.since is not None else Since.FIRST_SEEN,
        evidence={"role": part.role, "wanted": part.wanted},
    )


CHECK = Check(
    id="ipam_stack",
    title="The parts that make and honour IPAMClaims",
    reads=(deployment.KIND, mutating_webhook_configuration.KIND),
    scope=PER_CLUSTER,
    reasons=_REASONS,
    find=find,
    about=(ipam_claim.KIND,),
)
