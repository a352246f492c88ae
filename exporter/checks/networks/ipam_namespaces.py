"""NADs and user-defined networks that OVN-Kubernetes or KubeVirt's ipam-extensions cannot use, by namespace.

The API accepts any text as the configuration of a NAD. OVN-Kubernetes and ipam-extensions parse it later, each in its
own way, so it may work for the one and fail for the other. ipam-extensions reads all NADs of a namespace when a
launcher pod is created: one that it cannot decode blocks every VM there.

Not seen here: whether OVN-Kubernetes' flag for persistent IPs is on, except where a user-defined network fails for it;
subnets and ranges that are not CIDRs; types of settings that OVN-Kubernetes alone reads, such as `mtu`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.naming import filled
from ...findings.check import PER_NAMESPACE, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork

_REASONS = reasons_of("ipam_namespaces")

_TEXTS = Texts("ipam_namespaces")


def find(view: View) -> Iterator[Finding | None]:
    yield from view.apart(_nads(view))
    yield from view.apart(_networks(view, UserDefinedNetwork))
    yield from view.apart(_networks(view, ClusterUserDefinedNetwork))


def _nads(view: View) -> Iterator[Finding]:
    nads = view.all(NetworkAttachmentDefinition)
    for nad in nads:
        for problem in nad.problems:
            yield _finding(nad, problem)
    yield from _primaries(nads)


def _networks(view: View, kind: type[UserDefinedNetwork] | type[ClusterUserDefinedNetwork]) -> Iterator[Finding]:
    """What fails of a deletion is a finding of its own (network_deletions)."""
    for each in view.all(kind):
        if each.failed and each.deleting is None and each.reason != _NAD_DELETED:
            yield _failed(each)


_NAD_DELETED = "NetworkAttachmentDefinitionDeleted"  # OVN-Kubernetes' reason where its NAD is being deleted
_UNLABELLED = "invalid primary network state for namespace"  # its own words


def _finding(nad: NetworkAttachmentDefinition, reason: str) -> Finding:
    made_by = nad.made_by
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=nad.ref,
        network=nad.network,
        message=_TEXTS.message(reason, namespace=nad.namespace, name=nad.name, network=nad.network or "without a name"),
        next=_TEXTS.next(reason, "rendered", made_by=made_by) if made_by else "",
        commands=_without_edit(nad, reason) if made_by else (),
        evidence={"madeBy": made_by} if made_by else {},
    )


def _without_edit(nad: NetworkAttachmentDefinition, reason: str) -> tuple[str, ...]:
    """OVN-Kubernetes overwrites an edit of what it renders."""
    values = {"NAMESPACE": nad.namespace, "NAME": nad.name}
    return tuple(filled(each, values) for each in _REASONS[reason].commands if each != command("edit_nad"))


def _primaries(nads: list[NetworkAttachmentDefinition]) -> Iterator[Finding]:
    """All but the one that OVN-Kubernetes accepted, or else the first by name."""
    primaries = [each for each in nads if each.ovn and each.role == "primary"]
    ordered = sorted(primaries, key=lambda each: (not each.accepted, each.name))
    for each in ordered[1:]:
        yield Finding(
            reason="MultiplePrimary",
            severity=Severity.CRITICAL,
            subject=each.ref,
            related=(ordered[0].ref,),
            network=each.network,
            message=_TEXTS.message("MultiplePrimary", namespace=each.namespace, other=ordered[0].name),
        )


def _failed(defined: UserDefinedNetwork | ClusterUserDefinedNetwork) -> Finding:
    """As the network's own condition says."""
    reason = "FlagOff" if defined.flag_off else "NetworkNotCreated"
    variant = "left" if defined.holders else "unlabelled" if _UNLABELLED in defined.message else ""
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=defined.ref,
        network=defined.network,
        message=_TEXTS.message(
            reason,
            "" if defined.message else "short" if defined.reason else "bare",
            condition=defined.failed,
            reason=defined.reason,
            said=defined.message,
        ),
        next=_TEXTS.next("NetworkNotCreated", variant) if variant else "",
        since=defined.since,
        since_source=Since.CONDITION if defined.since is not None else Since.FIRST_SEEN,
        evidence={"condition": defined.failed, "conditionReason": defined.reason}
        | ({"podsByCondition": list(defined.holders)} if defined.holders else {}),
    )


CHECK = Check(
    id="ipam_namespaces",
    title="NADs and user-defined networks that are misconfigured",
    reads=(NetworkAttachmentDefinition.KIND, UserDefinedNetwork.KIND, ClusterUserDefinedNetwork.KIND),
    scope=PER_NAMESPACE,
    reasons=_REASONS,
    find=find,
    requires=(IPAMClaim.KIND, NetworkAttachmentDefinition.KIND),
)
