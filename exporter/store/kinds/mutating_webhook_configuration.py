"""Mutating webhooks: the one that adds the IPAMClaim reference to launcher pods, and the network resources injector."""

from __future__ import annotations

from ...facts.record import Record, Wire, WireMeta, identity
from ..kind import ApiKind, Reach

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


def _reduce(wire: _Configuration) -> MutatingWebhookConfiguration | None:
    webhooks = [each for each in wire.webhooks or () if each is not None]
    found = next((each for each in webhooks if each.name == CLAIM_WEBHOOK), None)
    injects = any(_INJECTOR in f"{wire.metadata.name} {each.name}" for each in webhooks)
    if found is None and not injects:
        return None
    config = (found and found.client_config) or _ClientConfig()
    return MutatingWebhookConfiguration(
        *identity(wire.metadata), claims=found is not None, trusted=bool(config.ca_bundle), injects=injects
    )


KIND = ApiKind(
    MutatingWebhookConfiguration,
    Reach.CLUSTER,
    group="admissionregistration.k8s.io",
    plural="mutatingwebhookconfigurations",
    wire=_Configuration,
    reduce=_reduce,
    namespaced=False,
)
MutatingWebhookConfiguration.KIND = KIND
