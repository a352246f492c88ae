"""What the containers of a pod that a VMI is to come to say of how far it is."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...record import Wire, WireTime, epoch
from ...text.nesting import decoded

# KubeVirt waits until these run, since they may get ready later, and until any other is ready (IsPodReady in
# pkg/controller of kubevirt/kubevirt).
_RUN = ("compute", "istio-proxy")
_LONGEST = 63  # characters of a container's name
_MESSAGE = 256
_GUEST = "compute"


class _Running(Wire, frozen=True, gc=False):
    started_at: WireTime = None


class _Waiting(Wire, frozen=True, gc=False):
    reason: str | None = None
    message: str | None = None


class _State(Wire, frozen=True, gc=False):
    running: _Running | None = None
    waiting: _Waiting | None = None
    terminated: object = None


class _Status(Wire, frozen=True, gc=False):
    name: str | None = None
    ready: bool | None = None
    state: _State | None = None


class Containers(NamedTuple):
    """`started` is when the last of those that run did, `lagging` the first one that KubeVirt waits for: empty for
    none, None where that is not said. `waiting` are name, reason and message of the first one that waits to start;
    empty for none.
    """

    started: float | None = None
    lagging: str | None = None
    waiting: tuple[str, ...] = ()


UNSAID = Containers()
_STATUSES = msgspec.json.Decoder(list[_Status | None] | None)


def containers_of(statuses: msgspec.Raw, initial: msgspec.Raw) -> Containers:
    """Of status.containerStatuses and initContainerStatuses as they are written. What is of another shape says
    nothing.
    """
    try:
        found = _read(statuses)
        running = [each.state.running for each in found if each.state and each.state.running]
        started = max(filter(None, (epoch(each.started_at) for each in running)), default=None)
        waiting = next(filter(None, map(_waits, (*_read(initial), *found))), ())
    except (msgspec.DecodeError, ValueError):
        return UNSAID
    lagging = next((each for each in map(_lags, found) if each), "") if found else None
    return Containers(started, lagging, waiting)


def guest_ended(statuses: msgspec.Raw) -> bool:
    """Whether the container of the guest has ended, while others of its pod may still run."""
    written = bytes(statuses)
    if b'"terminated"' not in written:
        return False
    try:
        return any(each.name == _GUEST and each.state and each.state.terminated is not None for each in _read(statuses))
    except (msgspec.DecodeError, ValueError):
        return False


def _read(statuses: msgspec.Raw) -> list[_Status]:
    return [each for each in decoded(_STATUSES, bytes(statuses) or b"null") or () if each]


def _waits(status: _Status) -> tuple[str, ...]:
    waiting = status.state.waiting if status.state else None
    if waiting is None:
        return ()
    return (status.name or "")[:_LONGEST], waiting.reason or "", (waiting.message or "")[:_MESSAGE]


def _lags(status: _Status) -> str:
    """Its name, where KubeVirt waits for it."""
    fine = status.state and status.state.running if status.name in _RUN else status.ready
    return "" if fine else (status.name or "")[:_LONGEST] or "without a name"
