"""Deployments of the network stack: whether what creates and honours IPAMClaims runs."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from sys import intern

from ...facts.record import Record, Ref, Wire, WireCondition, WireMeta, epoch, identity
from ..kind import ApiKind, Reach

CLAIM_CONTROLLER = "ipam-extensions"
NETWORK_CONTROLLER = "OVN-Kubernetes"
_ROLES = {
    "kubevirt-ipam-controller-manager": CLAIM_CONTROLLER,
    "ovnkube-control-plane": NETWORK_CONTROLLER,
    "ovnkube-master": NETWORK_CONTROLLER,
}
# The namespaces that the projects' manifests and operators install them in.
_OWN_NAMESPACES = frozenset(
    (
        "ovn-kubernetes",
        "openshift-ovn-kubernetes",
        "kubevirt-ipam-controller-system",
        "cluster-network-addons",
        "kubevirt-hyperconverged",
        "openshift-cnv",
    )
)

_FLAG, _VARIABLE = "--enable-preconfigured-udn-addresses", "OVN_PRE_CONF_UDN_ADDR_ENABLE"


class _Variable(Wire, frozen=True, gc=False):
    name: str | None = None
    value: str | None = None


class _Container(Wire, frozen=True, gc=False):
    command: list[str | None] | None = None
    args: list[str | None] | None = None
    env: list[_Variable | None] | None = None


class _PodSpec(Wire, frozen=True, gc=False):
    containers: list[_Container | None] | None = None


class _Template(Wire, frozen=True, gc=False):
    spec: _PodSpec | None = None


class _Spec(Wire, frozen=True, gc=False):
    replicas: int | None = None
    template: _Template | None = None


class _Status(Wire, frozen=True, gc=False):
    ready_replicas: int | None = None
    conditions: list[WireCondition | None] | None = None


class _Deployment(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class Deployment(Record, frozen=True, gc=False):
    """A Deployment with a role in the network stack; others are not kept."""

    created: float | None
    role: str
    wanted: int
    ready: bool
    since: float | None  # of its condition Available
    preconfigured: bool | None  # whether OVN-Kubernetes honours addresses that VMs request; None where it can't be seen


def own_parts(parts: Iterable[Deployment]) -> list[Deployment]:
    """Those that are this cluster's stack, of each role all of one namespace.

    Anybody may call a Deployment of his own so, and a cluster that hosts others' control planes has one of each. Those
    in a namespace of the projects count, else those in the namespace that has had one for longest.
    """
    by_role: dict[str, list[Deployment]] = {}
    for part in parts:
        by_role.setdefault(part.role, []).append(part)
    return [part for same in by_role.values() for part in _at_home(same)]


def _at_home(same: list[Deployment]) -> list[Deployment]:
    if len(same) == 1:
        return same
    first = min(same, key=_precedence)
    return [part for part in same if part.namespace == first.namespace]


def _precedence(part: Deployment) -> tuple[bool, float, Ref]:
    return part.namespace not in _OWN_NAMESPACES, inf if part.created is None else part.created, part.ref


def _deployment(wire: _Deployment) -> Deployment | None:
    role = _ROLES.get(wire.metadata.name or "")
    if role is None:
        return None
    status, wanted = wire.status or _Status(), wire.spec.replicas if wire.spec else None
    available = next((each for each in status.conditions or () if each and each.type == "Available"), WireCondition())
    return Deployment(
        *identity(wire.metadata),
        created=epoch(wire.metadata.creation_timestamp),
        role=intern(role),
        wanted=1 if wanted is None else wanted,
        ready=bool(status.ready_replicas),
        since=epoch(available.last_transition_time),
        preconfigured=_preconfigured(wire.spec) if role == NETWORK_CONTROLLER else None,
    )


def _preconfigured(spec: _Spec | None) -> bool | None:
    """By an argument or variable. A script or a file may set it too, and what they come to is not known."""
    pod = spec.template.spec if spec and spec.template else None
    containers = [each for each in (pod.containers if pod else None) or () if each]
    texts = [text for each in containers for text in (*(each.command or ()), *(each.args or ())) if text]
    values = [each.value for container in containers for each in container.env or () if each and each.name == _VARIABLE]
    said = {text.strip().lower() for text in (text[len(_FLAG) + 1 :] or "true" for text in texts if _sets(text))}
    said |= {(value or "").strip().lower() for value in values}
    if not said.isdisjoint(("true", "t", "1")):
        return True
    hidden = any("--config-file" in text or "\n" in text or (_FLAG in text and not _sets(text)) for text in texts)
    return None if not containers or hidden or "" in said else False


def _sets(text: str) -> bool:
    return text == _FLAG or text.startswith(f"{_FLAG}=")


DEPLOYMENT = ApiKind(
    Deployment, Reach.CLUSTER, group="apps", plural="deployments", wire=_Deployment, reduce=_deployment
)
Deployment.KIND = DEPLOYMENT


# EndpointSlices of virt-api: whether KubeVirt's webhooks have an endpoint.

_SERVICE = "virt-api"


class _Labels(Wire, frozen=True, gc=False, rename={"service": "kubernetes.io/service-name"}):
    service: str | None = None


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None


class _Conditions(Wire, frozen=True, gc=False):
    ready: bool | None = None


class _Endpoint(Wire, frozen=True, gc=False):
    addresses: list[str | None] | None = None
    conditions: _Conditions | None = None


class _EndpointSlice(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    endpoints: list[_Endpoint | None] | None = None


class EndpointSlice(Record, frozen=True, gc=False):
    """One of a Service `virt-api`, in whatever namespace; others are not kept."""

    created: float | None
    endpoints: int
    ready: int


def _ready(endpoint: _Endpoint) -> bool:
    """What says nothing of being ready counts as ready, as the API has it."""
    return endpoint.conditions is None or endpoint.conditions.ready is not False


def _endpoint_slice(wire: _EndpointSlice) -> EndpointSlice | None:
    if wire.metadata.labels is None or wire.metadata.labels.service != _SERVICE:
        return None
    endpoints = [each for each in wire.endpoints or () if each is not None and each.addresses]
    return EndpointSlice(
        *identity(wire.metadata),
        created=epoch(wire.metadata.creation_timestamp),
        endpoints=len(endpoints),
        ready=sum(map(_ready, endpoints)),
    )


ENDPOINT_SLICE = ApiKind(
    EndpointSlice,
    group="discovery.k8s.io",
    plural="endpointslices",
    wire=_EndpointSlice,
    reduce=_endpoint_slice,
    selectors=(("labelSelector", f"kubernetes.io/service-name={_SERVICE}"),),
)
EndpointSlice.KIND = ENDPOINT_SLICE


# Mutating webhooks: the one that adds the IPAMClaim reference to launcher pods, and the network resources injector.

CLAIM_WEBHOOK = "ipam-claims.k8s.cni.cncf.io"


class _ClientConfig(Wire, frozen=True, gc=False):
    ca_bundle: str | None = None
    url: str | None = None


class _Webhook(Wire, frozen=True, gc=False):
    name: str | None = None
    client_config: _ClientConfig | None = None


class _Configuration(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    webhooks: list[_Webhook | None] | None = None


class MutatingWebhookConfiguration(Record, frozen=True, gc=False):
    """One that has the IPAMClaim webhook, or is of the network resources injector; others are not kept."""

    claims: bool  # whether it has the IPAMClaim webhook
    trusted: bool  # whether that has a CA bundle
    injects: bool  # whether it has pods request the resources of their NADs


# In every name that its project, the SR-IOV network operator and HCO give the object or its webhook.
_INJECTOR = "network-resources-injector"


def _webhooks(wire: _Configuration) -> MutatingWebhookConfiguration | None:
    webhooks = [each for each in wire.webhooks or () if each is not None]
    found = next((each for each in webhooks if each.name == CLAIM_WEBHOOK), None)
    injects = any(_INJECTOR in f"{wire.metadata.name} {each.name}" for each in webhooks)
    if found is None and not injects:
        return None
    config = (found and found.client_config) or _ClientConfig()
    return MutatingWebhookConfiguration(
        *identity(wire.metadata), claims=found is not None, trusted=bool(config.ca_bundle), injects=injects
    )


MUTATING_WEBHOOK = ApiKind(
    MutatingWebhookConfiguration,
    Reach.CLUSTER,
    group="admissionregistration.k8s.io",
    plural="mutatingwebhookconfigurations",
    wire=_Configuration,
    reduce=_webhooks,
    namespaced=False,
)
MutatingWebhookConfiguration.KIND = MUTATING_WEBHOOK
