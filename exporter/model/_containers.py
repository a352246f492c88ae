"""What the containers of a launcher pod say of how far it is."""

from __future__ import annotations

from collections.abc import Sequence

from .record import Wire, WireTime, epoch

__all__ = ["WireContainerStatus", "lagging", "started"]

# KubeVirt waits until these run, since they may get ready later, and until any other is ready (IsPodReady in
# pkg/controller of kubevirt/kubevirt).
_RUN = ("compute", "istio-proxy")
_LONGEST = 63  # characters of a container's name


class _Running(Wire, frozen=True, gc=False):
    started_at: WireTime = None


class _State(Wire, frozen=True, gc=False):
    running: _Running | None = None


class WireContainerStatus(Wire, frozen=True, gc=False):
    name: str | None = None
    ready: bool | None = None
    state: _State | None = None


def started(statuses: Sequence[WireContainerStatus | None] | None) -> float | None:
    """When the last of those that run did."""
    running = (each.state.running for each in statuses or () if each and each.state)
    return max(filter(None, (epoch(each.started_at) for each in running if each)), default=None)


def lagging(statuses: Sequence[WireContainerStatus | None] | None) -> str | None:
    """The first one that KubeVirt waits for; empty for none, None where there is no status of any."""
    for each in statuses or ():
        if each and not (each.state and each.state.running if each.name in _RUN else each.ready):
            return (each.name or "")[:_LONGEST] or "without a name"
    return "" if statuses else None
