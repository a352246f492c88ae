"""What the containers of a pod that a VMI is to come to say of how far it is."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...record import Wire, WireTime, epoch
from ...text.nesting import decoded

__all__ = ["UNSAID", "Containers", "containers_of"]

# KubeVirt waits until these run, since they may get ready later, and until any other is ready (IsPodReady in
# pkg/controller of kubevirt/kubevirt).
_RUN = ("compute", "istio-proxy")
_LONGEST = 63  # characters of a container's name


class _Running(Wire, frozen=True, gc=False):
    started_at: WireTime = None


class _State(Wire, frozen=True, gc=False):
    running: _Running | None = None


class _Status(Wire, frozen=True, gc=False):
    name: str | None = None
    ready: bool | None = None
    state: _State | None = None


class Containers(NamedTuple):
    """`started` is when the last of those that run did, `lagging` the first one that KubeVirt waits for: empty for
    none, None where that is not said.
    """

    started: float | None = None
    lagging: str | None = None


UNSAID = Containers()
_STATUSES = msgspec.json.Decoder(list[_Status | None] | None)


def containers_of(statuses: msgspec.Raw) -> Containers:
    """Of status.containerStatuses as it is written. What is of another shape says nothing."""
    try:
        found = [each for each in decoded(_STATUSES, bytes(statuses) or b"null") or () if each]
        running = [each.state.running for each in found if each.state and each.state.running]
        started = max(filter(None, (epoch(each.started_at) for each in running)), default=None)
    except (msgspec.DecodeError, ValueError):
        return UNSAID
    return Containers(started, next((each for each in map(_lags, found) if each), "")) if found else UNSAID


def _lags(status: _Status) -> str:
    """Its name, where KubeVirt waits for it."""
    fine = status.state and status.state.running if status.name in _RUN else status.ready
    return "" if fine else (status.name or "")[:_LONGEST] or "without a name"
