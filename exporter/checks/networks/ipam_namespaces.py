"""NADs and user-defined networks that OVN-Kubernetes or KubeVirt's ipam-extensions cannot use, by namespace.

The API accepts any text as the configuration of a NAD. OVN-Kubernetes and ipam-extensions parse it later, each in its
own way, so it may work for the one and fail for the other. ipam-extensions reads all NADs of a namespace when a
launcher pod is created: one that it cannot decode blocks every VM there.

Not seen here: whether OVN-Kubernetes' flag for persistent IPs is on, except where a user-defined network fails for it;
subnets and ranges that are not CIDRs; types of settings that OVN-Kubernetes alone reads, such as `mtu`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings.check import PER_NAMESPACE, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import reasons_of
from ...findings.severity import Severity
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.namespace import PRIMARY
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork

_REASONS = reasons_of("ipam_namespaces")

# Such a network is tried again and again while the control plane runs; while it starts each failure ends it.
_FAILS = "ovnkube-control-plane fails at its next start"
_NEVER_CREATED = f"the network is not created, and {_FAILS}"
_MESSAGES = {
    "BadJson": "The NAD's spec.config can't be decoded: no launcher pod can be created in namespace {namespace}",
    "SubnetsNotString": "Field subnets in the NAD's spec.config is not a string: no launcher pod can be created in "
    "namespace {namespace}",
    "PersistentWithoutSubnets": "Network {network} allows persistent IPs and has no subnets: " + _NEVER_CREATED,
    "PersistentLocalnetWithoutSubnets": "Network {network} allows persistent IPs and has no subnets: "
    "its IPAMClaims stay empty",
    "PersistentLayer3": "Network {network} is layer 3 and can't have persistent IPs: OVN-Kubernetes rejects it",
    "NameMismatch": "Field netAttachDefName in the NAD's spec.config is not {namespace}/{name}: OVN-Kubernetes "
    "rejects it",
    "Conflist": "Field allowPersistentIPs is required both at the top of the NAD's spec.config and in the first plugin",
    "NotOvn": "Field allowPersistentIPs is set, and the NAD's type is not ovn-k8s-cni-overlay: its IPAMClaims "
    "stay empty",
    "OverlappingExcludes": "Excluded, reserved or infrastructure ranges of network {network} overlap: "
    + _NEVER_CREATED,
    "ExcludeOutsideSubnets": "An excluded range of network {network} is outside its subnets: OVN-Kubernetes rejects it",
    "ExcludesGateway": "An excluded range of network {network} covers its gateway or management address: "
    + _NEVER_CREATED,
}


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
_ANEW = (
    f"Create the namespace that the message names again with the label {PRIMARY}, which can't be added later, or let "
    "the network not select it."
)
_LEFT = "End the pods that the message names: they are in namespaces that the network no longer selects."


def _finding(nad: NetworkAttachmentDefinition, reason: str) -> Finding:
    message = _MESSAGES[reason]
    made_by = nad.made_by
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=nad.ref,
        network=nad.network,
        message=message.format(namespace=nad.namespace, name=nad.name, network=nad.network or "without a name"),
        next=f"Delete and create again the {made_by} that this NAD is rendered from, with correct settings."
        if made_by
        else "",
        evidence={"madeBy": made_by} if made_by else {},
    )


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
            message=f"Namespace {each.namespace} already has a primary network, NAD {ordered[0].name}; {_FAILS}",
        )


def _failed(defined: UserDefinedNetwork | ClusterUserDefinedNetwork) -> Finding:
    """As the network's own condition says."""
    reason = "FlagOff" if defined.flag_off else "NetworkNotCreated"
    why = f"{defined.reason}: {defined.message}" if defined.message else defined.reason
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=defined.ref,
        network=defined.network,
        message=f"The network's condition {defined.failed} is False: {why}",
        next=_LEFT if defined.holders else _ANEW if _UNLABELLED in defined.message else "",
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
