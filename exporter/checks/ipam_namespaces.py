"""NADs of networks that OVN-Kubernetes or KubeVirt's ipam-extensions can't do with, by the namespace they harm.

The API takes any text as the configuration of a NetworkAttachmentDefinition. Two programs read it later and each in its
own way, so it may work for the one and fail for the other. ipam-extensions looks through all NADs of a namespace
when a launcher pod is made: one that it can't read stops every VM there.

Not seen here: whether OVN-Kubernetes' flag for persistent addresses is on, except where a UserDefinedNetwork fails for
it; subnets and ranges that are no CIDRs; types of settings that OVN-Kubernetes alone reads, such as `mtu`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity, Since
from ..model.kinds import cluster_user_defined_network, ipam_claim, network_attachment_definition, user_defined_network
from ..model.kinds.cluster_user_defined_network import ClusterUserDefinedNetwork
from ..model.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..model.kinds.user_defined_network import UserDefinedNetwork
from .base import Check, Family, Reason, View
from .scopes import PER_NAMESPACE

__all__ = ["CHECK"]

_MISCONFIGURED = Family(
    "kubevirt_network_misconfigured",
    "A NAD of a network is set up in a way that does not work.",
    ("namespace", "name", "network", "severity", "reason"),
)


def _reason(severity: Severity, meaning: str, code: str = "C-19") -> Reason:
    return Reason((severity,), meaning, _MISCONFIGURED, code)


_REASONS = {
    "BadJson": _reason(
        Severity.CRITICAL,
        "The configuration can't be read: no launcher pod can be made in its namespace.",
    ),
    "SubnetsNotString": _reason(
        Severity.CRITICAL,
        "`subnets` is no text, so ipam-extensions can't read it: no launcher pod can be made in its namespace.",
    ),
    "MultiplePrimary": _reason(
        Severity.CRITICAL,
        "The namespace has more than one primary network: OVN-Kubernetes refuses the second.",
    ),
    "PersistentWithoutSubnets": _reason(
        Severity.CRITICAL,
        "A layer-2 network shall keep addresses and has no subnets: it does not come up.",
    ),
    "PersistentLocalnetWithoutSubnets": _reason(
        Severity.WARNING,
        "A localnet network shall keep addresses and has no subnets: claims are made and never filled.",
    ),
    "PersistentLayer3": _reason(
        Severity.CRITICAL,
        "A layer-3 network can't keep addresses: OVN-Kubernetes refuses the NAD.",
    ),
    "NameMismatch": _reason(
        Severity.CRITICAL,
        "`netAttachDefName` is not the NAD's own namespace and name: OVN-Kubernetes refuses it.",
    ),
    "Conflist": _reason(
        Severity.WARNING,
        "A list of plugins has `allowPersistentIPs` in one of the two places where it is looked for.",
    ),
    "NotOvn": _reason(
        Severity.WARNING,
        "`allowPersistentIPs` is set for a plugin that knows nothing of it: claims are made and never filled.",
    ),
    "FlagOff": _reason(
        Severity.CRITICAL,
        "A network shall keep addresses, and OVN-Kubernetes runs without --enable-persistent-ips.",
    ),
    "OverlappingExcludes": _reason(
        Severity.CRITICAL,
        "Excluded, reserved or infrastructure ranges overlap: the network does not come up.",
    ),
    "ExcludeOutsideSubnets": _reason(
        Severity.CRITICAL,
        "An excluded range lies outside the subnets: OVN-Kubernetes refuses the NAD.",
    ),
    "ExcludesGateway": _reason(
        Severity.CRITICAL,
        "An excluded range covers the gateway or the management address that a primary network takes for itself.",
    ),
    "NetworkNotCreated": _reason(
        Severity.WARNING, "OVN-Kubernetes could not bring a user-defined network about.", "B.2"
    ),
}

_WHAT = {
    "BadJson": "its spec.config can't be read: KubeVirt can make no launcher pod in namespace {namespace}",
    "SubnetsNotString": "subnets in its spec.config is no text: KubeVirt can make no launcher pod in "
    "namespace {namespace}",
    "PersistentWithoutSubnets": "network {network} shall keep addresses and has no subnets: it does not come up",
    "PersistentLocalnetWithoutSubnets": "network {network} shall keep addresses and has no subnets: "
    "its claims stay empty",
    "PersistentLayer3": "network {network} is of layer 3, which can't keep addresses: OVN-Kubernetes refuses it",
    "NameMismatch": "netAttachDefName in its spec.config is not {namespace}/{name}: OVN-Kubernetes refuses it",
    "Conflist": "allowPersistentIPs is needed both at the top of its spec.config and in the first of its plugins",
    "NotOvn": "allowPersistentIPs is set, and its type is not ovn-k8s-cni-overlay: its claims stay empty",
    "OverlappingExcludes": "excluded, reserved or infrastructure ranges of network {network} overlap: "
    "it does not come up",
    "ExcludeOutsideSubnets": "an excluded range of network {network} lies outside its subnets: "
    "OVN-Kubernetes refuses it",
    "ExcludesGateway": "an excluded range of network {network} covers its gateway or management address: "
    "it does not come up",
}


def find(view: View) -> Iterator[Finding]:
    nads = view.all(NetworkAttachmentDefinition)
    for nad in nads:
        for problem in nad.problems:
            yield _finding(nad, problem, _WHAT[problem])
    yield from _primaries(nads)
    yield from (_failed(each) for each in view.all(UserDefinedNetwork) if each.failed)
    yield from (_failed(each) for each in view.all(ClusterUserDefinedNetwork) if each.failed)


def _finding(nad: NetworkAttachmentDefinition, reason: str, what: str) -> Finding:
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=nad.ref,
        network=nad.network,
        message=what.format(namespace=nad.namespace, name=nad.name, network=nad.network or "without a name"),
        evidence={"madeBy": nad.made_by} if nad.made_by else {},
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
            message=f"namespace {each.namespace} has a primary network already, by {ordered[0].ref}",
        )


def _failed(defined: UserDefinedNetwork | ClusterUserDefinedNetwork) -> Finding:
    """The network's own condition tells, and why."""
    reason = "FlagOff" if defined.flag_off else "NetworkNotCreated"
    why = f"{defined.reason}: {defined.message}" if defined.message else defined.reason
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=defined.ref,
        network=defined.network,
        message=f"its condition {defined.failed} is False: {why}",
        since=defined.since,
        since_source=Since.CONDITION if defined.since is not None else Since.FIRST_SEEN,
        evidence={"condition": defined.failed, "conditionReason": defined.reason},
    )


CHECK = Check(
    id="ipam_namespaces",
    title="NADs of networks that can't work",
    reads=(network_attachment_definition.KIND, user_defined_network.KIND, cluster_user_defined_network.KIND),
    scope=PER_NAMESPACE,
    reasons=_REASONS,
    find=find,
    about=(ipam_claim.KIND, network_attachment_definition.KIND),
)
