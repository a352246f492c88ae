"""Mutating webhooks: the one that adds the IPAMClaim reference to launcher pods."""

from __future__ import annotations

from ..kind import ApiKind, Reach
from ..record import Record, Wire, WireMeta, identity

__all__ = ["CLAIM_WEBHOOK", "KIND", "MutatingWebhookConfiguration"]

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
    """The configuration that has the IPAMClaim webhook; others are not kept."""

    trusted: bool  # whether it has a CA bundle


def _reduce(wire: _Configuration) -> MutatingWebhookConfiguration | None:
    found = next((each for each in wire.webhooks or () if each and each.name == CLAIM_WEBHOOK), None)
    if found is None:
        return None
    config = found.client_config or _ClientConfig()
    return MutatingWebhookConfiguration(*identity(wire.metadata), trusted=bool(config.ca_bundle))


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
