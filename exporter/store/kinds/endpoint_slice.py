"""EndpointSlices of virt-api: whether KubeVirt's webhooks have an endpoint."""

from __future__ import annotations

from ...facts.record import Record, Wire, WireMeta, epoch, identity
from ..kind import ApiKind

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


def _reduce(wire: _EndpointSlice) -> EndpointSlice | None:
    if wire.metadata.labels is None or wire.metadata.labels.service != _SERVICE:
        return None
    endpoints = [each for each in wire.endpoints or () if each is not None and each.addresses]
    return EndpointSlice(
        *identity(wire.metadata),
        created=epoch(wire.metadata.creation_timestamp),
        endpoints=len(endpoints),
        ready=sum(map(_ready, endpoints)),
    )


KIND = ApiKind(
    EndpointSlice,
    group="discovery.k8s.io",
    plural="endpointslices",
    wire=_EndpointSlice,
    reduce=_reduce,
    selectors=(("labelSelector", f"kubernetes.io/service-name={_SERVICE}"),),
)
EndpointSlice.KIND = KIND
